"""`seqzoo train ngram`, and `score` and `generate` with what it makes."""

import gzip
import io
import math

import pytest
import tensorflow as tf

from keras_seqzoo.models import NGramLanguageModel
from keras_seqzoo.tokenizers import WordTokenizer

TEXT = "the cat sat\nthe dog sat on the cat\na dog\n\n"


@pytest.fixture
def arpa(tmp_path):
    path = tmp_path / "model.arpa"
    NGramLanguageModel.train(TEXT.splitlines(), order=3).save_arpa(path)
    return path


def test_input_to_output(seqzoo, arpa):
    result = seqzoo("train", "ngram", "--order", 3, stdin=TEXT.encode())
    assert result.status == 0
    assert result.output == arpa.read_text()
    assert result.errors == "4 lines: 6 words, 13 2-grams, 11 3-grams\n"


def test_learned_weights(seqzoo, tmp_path):
    text = tmp_path / "other"
    text.write_text("the cat sat\na cat\n")
    options = ("train", "ngram", "--order", 2, "--estimator")
    deleted = seqzoo(*options, "deleted-interpolation", stdin=TEXT.encode())
    held_out = seqzoo(*options, "interpolation", "--held-out", text, stdin=TEXT.encode())
    fixed = seqzoo(*options, "interpolation", stdin=TEXT.encode())
    assert deleted.status == held_out.status == fixed.status == 0
    for result, other in ((deleted, None), (held_out, ["the cat sat", "a cat"])):
        with io.StringIO() as file:
            expected = NGramLanguageModel.train_interpolated(TEXT.splitlines(), other, 2)
            expected.write_arpa(file)
            assert result.output == file.getvalue() != fixed.output


def test_file_to_file(seqzoo, tmp_path):
    text, out = tmp_path / "text.gz", tmp_path / "model.arpa.gz"
    with gzip.open(text, "wt") as file:
        file.write(TEXT)
    options = ("--train", text, "--out", out, "--estimator", "witten-bell", "--order", 2)
    assert seqzoo("train", "ngram", *options, "--minimum-count", 2).status == 0
    words = NGramLanguageModel.from_arpa(out).tokenizer.words
    assert sorted(words) == ["cat", "dog", "sat", "the"]
    old = out.read_bytes()
    refused = seqzoo("train", "ngram", *options, "--vocabulary-size", 2)
    assert refused.status == 2 and f"got the existing file {out}" in refused.errors
    assert out.read_bytes() == old
    out.unlink()
    assert seqzoo("train", "ngram", *options, "--vocabulary-size", 2).status == 0
    assert sorted(NGramLanguageModel.from_arpa(out).tokenizer.words) == ["cat", "the"]


def test_score(seqzoo, arpa):
    model, lines = NGramLanguageModel.from_arpa(arpa), ["the cat", "", "a bird"]
    text = "".join(f"{line}\n" for line in lines)
    result = seqzoo("score", "--preset", arpa, stdin=text.encode())
    scores = model.score(lines)
    assert result.status == 0
    assert result.output == "".join(f"{score:.4f}\t{tokens}\n" for score, tokens in scores)
    perplexity = math.exp(-sum(score for score, _ in scores) / 7)
    assert result.errors == (
        f"perplexity {perplexity:.6g} of 7 tokens, counting the ends of lines; "
        "1 of them are unknown words, each with the probability of [UNK]; "
        f"{model.perplexity(lines).bits_per_character:.4g} bits per character\n"
    )


@pytest.mark.slow
def test_generate(seqzoo, arpa):
    result = seqzoo("generate", "--preset", arpa, "--samples", 3, "--seed", 1, "the", "a dog")
    lines = result.output.splitlines()
    assert result.status == 0 and len(lines) == 6
    assert all(line.startswith("the") for line in lines[:3])
    assert all(line.startswith("a dog") for line in lines[3:])
    again = seqzoo("generate", "--preset", arpa, "--samples", 3, "--seed", 1, "the", "a dog")
    assert again.output == result.output
    result = seqzoo("generate", "--preset", arpa, "--beam", 4, stdin=b"the\n\n")
    assert result.status == 0 and len(result.output.splitlines()) == 2


@pytest.mark.slow
def test_no_unknown_words_are_written(seqzoo, tmp_path):
    path = tmp_path / "model.arpa"
    rare = WordTokenizer.train(["a a b b"] + [f"new{number} x" for number in range(30)], 4 + 3)
    text = ["a", "b"] + [f"new{number}" for number in range(30)]
    NGramLanguageModel.train(text, order=2, tokenizer=rare).save_arpa(path)
    result = seqzoo("generate", "--preset", path, "--samples", 50, "--seed", 1, "")
    assert result.status == 0 and "UNK" not in result.output
    result = seqzoo("generate", "--preset", path, "--beam", 3, "")
    assert result.status == 0 and "UNK" not in result.output
    result = seqzoo("export", "--preset", path, "--out", tmp_path / "served", "--samples", 50)
    served = tf.saved_model.load(result.output.strip()).signatures["serving_default"]
    assert not any(b"UNK" in text for text in served(tf.constant([""]))["generated"][0].numpy())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "ngram"), "standard input must have a word"),
        (("train", "ngram", "--train", "none"), "--train none: no such file"),
        (("train", "ngram", "--out", "none/model.arpa"), "no such folder: none"),
        (("train", "ngram", "--order", 0), "--order must be "),
        (("train", "ngram", "--held-out", "x"), "--held-out can only be used with --estimator i"),
        (
            ("train", "ngram", "--estimator", "deleted-interpolation", "--memory", 9),
            "--memory cannot be used with learned weights",
        ),
        (("score", "--preset", "model.arpa"), "standard input must have at least one line"),
        (
            ("score", "--preset", "model.arpa", "--source", "x"),
            "--source cannot be used with a language model",
        ),
        (
            ("score", "--preset", "model.arpa", "--preset", "x"),
            "--preset can only be given several times for",
        ),
        (("score", "--preset", "none.arpa"), "--preset none.arpa: no such file"),
        (("generate", "--preset", "model", "a"), "got 'model'"),
        (
            ("generate", "--preset", "model.arpa", "--beam", 2, "--samples", 3, "a"),
            "--samples must be at most --beam (2), got 3.",
        ),
        (
            ("generate", "--preset", "model.arpa", "--beam", 2, "--top-k", 3, "a"),
            "--top-k cannot be used with --beam",
        ),
        (("generate", "--preset", "model.arpa", "--max-length", 1, "a dog"), "got 2 in 'a dog'"),
        (("generate", "--preset", "model.arpa", "--temperature", 0, "a"), "temperature"),
    ],
)
def test_bad_input(seqzoo, arpa, monkeypatch, arguments, message):
    monkeypatch.chdir(arpa.parent)
    result = seqzoo(*arguments)
    assert (result.status, result.output) == (2, "")
    [line] = result.errors.splitlines()
    assert message in line


def test_a_word_of_arpa_files(seqzoo, tmp_path):
    result = seqzoo("train", "ngram", "--out", tmp_path / "model.arpa", stdin=b"a <unk>\n")
    assert result.status == 2 and "'<unk>'" in result.errors
    assert list(tmp_path.iterdir()) == []
