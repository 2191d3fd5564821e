"""`seqzoo count`, and trainings from what it counts."""

import collections

import pytest

from keras_seqzoo.counting import write_counts
from keras_seqzoo.models import NGramLanguageModel
from keras_seqzoo.tokenizers import TextTokenizer
from tests.counting.texts import LINES, write_ngrams

TEXT = "".join(f"{line}\n" for line in LINES)


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text(TEXT)
    write_ngrams(tmp_path / "ngrams.tsv", [line.replace("<", "") for line in LINES], 3)
    write_counts(tmp_path / "words.tsv", collections.Counter(["the", "cat", "sat"]))
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "counted", "options"),
    [
        ("word", "words", ("--minimum-count", 2)),
        ("character", "characters", ()),
        ("wordpiece", "words", ("--vocabulary-size", 40)),
        ("bpe", "spaced-words", ("--vocabulary-size", 280)),
    ],
)
def test_tokenizers(seqzoo, kind, counted, options):
    splits = ("--split-punctuation",) if kind == "wordpiece" else ()
    given = ("--normalization", "lowercase", *splits)
    result = seqzoo("count", counted, "--train", "te*", "--out", "counts.tsv.gz", *given)
    assert (result.status, result.output) == (0, ""), result.errors
    assert result.errors == "counts.tsv.gz has the counts\n"
    given = ("train", "tokenizer", "--kind", kind, *options, *given)
    assert seqzoo(*given, "--counts", "counts.tsv.gz", "--out", "a").status == 0
    assert seqzoo(*given, "--train", "text", "--out", "b").status == 0
    found, expected = (TextTokenizer.from_preset(name) for name in ("./a", "./b"))
    assert found.get_vocabulary() == expected.get_vocabulary()


@pytest.mark.slow
def test_ngrams(seqzoo, files):
    (files / "text").write_text(TEXT.replace("<", ""))
    options = ("--train", "text", "--out", "counts.tsv", "--order", 3)
    options = (*options, "--runner-option", "direct_num_workers=2")
    assert seqzoo("count", "ngrams", *options).status == 0
    lines = (files / "counts.tsv").read_text().splitlines()
    assert sorted(lines) == sorted((files / "ngrams.tsv").read_text().splitlines())


def test_a_model_from_counts(seqzoo, files):
    text = TEXT.replace("<", "").encode()
    options = ("--order", 2, "--vocabulary-size", 4)
    expected = seqzoo("train", "ngram", *options, stdin=text)
    found = seqzoo("train", "ngram", *options, "--counts", "ngrams.tsv", "--memory", 1)
    assert found.output == expected.output
    assert found.errors == expected.errors.replace("12 lines", "ngrams.tsv")
    longest = seqzoo("train", "ngram", "--counts", "ngrams.tsv", "--out", "model.arpa")
    assert longest.status == 0 and NGramLanguageModel.from_arpa("model.arpa").lookup.order == 3
    in_runs = seqzoo("train", "ngram", *options, "--train", "text", "--memory", 1)
    assert in_runs.status == 2 and "must have no special word" in in_runs.errors
    (files / "text").write_bytes(text)
    in_runs = seqzoo("train", "ngram", *options, "--train", "text", "--memory", 1)
    assert in_runs.output == expected.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("count", "sentences", "--train", "text", "--out", "new"), "KIND must be one of words, "),
        (("count", "words", "--train", "none", "--out", "new"), "none: no such file"),
        (("count", "words", "--train", "text", "--out", "words.tsv"), "existing file words.tsv"),
        (
            ("count", "pairs", "--train", "text", "--out", "new", "--order", 2),
            "--order can only be used with ngrams, got pairs.",
        ),
        (
            ("count", "words", "--train", "text", "--out", "new", "--runner", "Abacus"),
            "--runner must be a runner of Beam, got 'Abacus'",
        ),
        (
            (
                *("count", "words", "--train", "text", "--out", "new"),
                *("--runner-option", "direct_num_workers=x"),
            ),
            "--runner-option must be options of DirectRunner, got ['direct_num_workers=x']",
        ),
        (
            ("train", "tokenizer", "--kind", "unigram", "--counts", "words.tsv", "--out", "new"),
            "--counts cannot be used with --kind unigram",
        ),
        (
            ("train", "tokenizer", "--kind", "word", "--counts", "text", "--out", "new"),
            "text, line 1: must be an item, a tab and a count, got 'the cat sat'",
        ),
        (
            (
                *("train", "tokenizer", "--kind", "word", "--out", "new"),
                *("--train", "text", "--counts", "words.tsv"),
            ),
            "--train cannot be used with --counts",
        ),
        (
            ("train", "ngram", "--train", "text", "--counts", "ngrams.tsv"),
            "--train cannot be used with --counts",
        ),
        (
            ("train", "ngram", "--counts", "words.tsv"),
            "words.tsv must be the counts of n-grams of a text",
        ),
        (
            ("train", "ngram", "--counts", "ngrams.tsv", "--order", 4),
            "--order must be at most 3, the length of the n-grams in ngrams.tsv, got 4.",
        ),
        (("train", "ngram", "--train", "text", "--memory", 0), "--memory must be at least 1"),
    ],
)
def test_bad_input(seqzoo, files, arguments, message):
    before = {path: path.read_bytes() for path in files.iterdir()}
    result = seqzoo(*arguments)
    assert (result.status, result.output) == (2, "")
    [line] = result.errors.splitlines()
    assert message in line
    assert {path: path.read_bytes() for path in files.iterdir()} == before
