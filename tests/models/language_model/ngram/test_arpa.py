import gzip
import math

import numpy as np
import pytest

from keras_seqzoo.models.language_model.ngram import (
    MaximumLikelihood,
    NGramLanguageModel,
    WittenBell,
)
from keras_seqzoo.models.language_model.ngram.arpa import read_arpa
from keras_seqzoo.models.language_model.ngram.backoff import build_tables, log_probability

TEXT = ["the cat sat", "the dog sat on the cat", "a dog", "", "the cat"]
FILE = """\
made by hand, as some programs begin

\\data\\
ngram 1=5
ngram 2=3
ngram 3=1

\\1-grams:
-1.0\t<unk>
-99\t<s>\t-0.5
-0.7\t</s>
-0.5\ta\t-0.25
-0.4\tb\t-0.125

\\2-grams:
-0.1\t<s> a\t-0.2
-0.3 a b -0.4
-0.6\tb </s>

\\3-grams:
-0.05\t<s> a b

\\end\\
"""


def write(folder, text, name="model.arpa"):
    path = folder / name
    opener = gzip.open if name.endswith(".gz") else open
    with opener(path, "wt", encoding="utf-8") as file:
        file.write(text)
    return path


@pytest.mark.parametrize("name", ["model.arpa", "model.arpa.gz"])
def test_scores_of_a_file(tmp_path, name):
    model = NGramLanguageModel.from_arpa(write(tmp_path, FILE, name))
    # a after <s>, b after <s> a, </s> after (a) b.
    known = -0.1 - 0.05 - 0.4 - 0.6
    # b after <s> by backing off, b after (<s>) b, <unk> after b, </s> after all.
    unknown = (-0.5 - 0.4) + (-0.125 - 0.4) + (-0.125 - 1.0) - 0.7
    (first, tokens), (second, _) = model.score(["a b", "b b c"])
    assert tokens == 3
    assert first == pytest.approx(known * math.log(10), rel=1e-5)
    assert second == pytest.approx(unknown * math.log(10), rel=1e-5)


def test_a_pruned_file_scores_by_backing_off(tmp_path):
    # "a b" is not there, though "<s> a b" and "a b </s>" are.
    text = FILE.replace("ngram 2=3", "ngram 2=2").replace("-0.3 a b -0.4\n", "")
    text = text.replace("ngram 3=1", "ngram 3=2").replace("<s> a b\n", "<s> a b\n-0.01\ta b </s>\n")
    model = NGramLanguageModel.from_arpa(write(tmp_path, text))
    [(score, _), (other, _)] = model.score(["a b", "b a b"])
    assert score == pytest.approx((-0.1 - 0.05 - 0.01) * math.log(10), rel=1e-5)
    expected = (-0.5 - 0.4) + (-0.125 - 0.5) + (-0.25 - 0.4) - 0.01
    assert other == pytest.approx(expected * math.log(10), rel=1e-5)


@pytest.mark.parametrize("order", [1, 2, 4])
@pytest.mark.parametrize("name", ["model.arpa", "model.arpa.gz"])
def test_round_trip(tmp_path, order, name):
    model = NGramLanguageModel.train(TEXT, order=order, estimator=WittenBell())
    model.save_arpa(tmp_path / name)
    other = NGramLanguageModel.from_arpa(tmp_path / name)
    assert other.lookup.sizes == model.lookup.sizes
    sentences = [*TEXT, "a cat on the dog", "the unknown words sat"]
    np.testing.assert_allclose(model.score(sentences), other.score(sentences), rtol=1e-5)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_what_has_no_probability_keeps_none(tmp_path):
    model = NGramLanguageModel.train(TEXT, 2, MaximumLikelihood())
    model.save_arpa(tmp_path / "model.arpa")
    other = NGramLanguageModel.from_arpa(tmp_path / "model.arpa")
    np.testing.assert_allclose(model.score(TEXT), other.score(TEXT), rtol=1e-5)
    [(score, _)], [(own, _)] = other.score(["a cat"]), model.score(["a cat"])
    assert score == own == -math.inf


def test_orders_that_pruning_left_empty(tmp_path):
    text = FILE.replace("ngram 3=1", "ngram 3=0").replace("-0.05\t<s> a b\n", "")
    model = NGramLanguageModel.from_arpa(write(tmp_path, text))
    assert model.lookup.sizes == [7, 3]
    [(score, _)] = model.score(["a b"])
    assert score == pytest.approx((-0.1 - 0.3 - 0.6) * math.log(10), rel=1e-5)


def test_the_text_of_a_file(tmp_path):
    NGramLanguageModel.train(["a b"], order=2, estimator=WittenBell()).save_arpa(tmp_path / "m")
    text = (tmp_path / "m").read_text()
    assert text.startswith("\\data\\\nngram 1=5\nngram 2=3\n\n\\1-grams:\n")
    assert text.endswith("\n\n\\end\\\n") and "\n-99\t<s>\t-0.30103\n" in text
    # P(b | a) = (1 + P(b)) / 2, P(b) = (1 + 3 / 4) / 6
    assert f"\n{math.log10((1 + 1.75 / 6) / 2):.7g}\ta b\n" in text


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("\\data\\", "data", r"line \d+: must be.*data.*got 'the end'"),
        ("ngram 2=3", "ngram 3=3", "line 5: must be ngram 2=... in an ARPA file, got 'ngram 3=3'"),
        ("ngram 2=3", "ngram 2=4", r"line 19.*a number, 2 words.*got ''"),
        ("ngram 2=3", "ngram 2=2", r"line 18.*3-grams.*got '-0.6"),
        ("-0.6\tb </s>", "low\tb </s>", "line 18.*a number, 2 words.*low"),
        ("-0.6\tb </s>", "-0.6\tb </s> c", "line 18.*a number, 2 words.*c"),
        ("-0.6\tb </s>", "-0.6\tb c", "must have words that are 1-grams, got 'c'"),
        ("-0.6\tb </s>", "-0.6\ta b", "must have different 2-grams, got one twice"),
        ("-0.4\tb\t", "-0.4\ta\t", "must have different 1-grams, got one twice"),
        ("\\end\\", "", "line.*end.*got 'the end'"),
        ("</s>", "<e>", "must have '<s>' and '</s>', got no '</s>'"),
    ],
)
def test_files_that_are_none(tmp_path, old, new, match):
    with pytest.raises(ValueError, match=match):
        NGramLanguageModel.from_arpa(write(tmp_path, FILE.replace(old, new)))


def test_a_word_that_stands_for_something_else(tmp_path):
    model = NGramLanguageModel.train(["a <unk> b"], order=2)
    with pytest.raises(ValueError, match="special word of ARPA files, got '<unk>'"):
        model.save_arpa(tmp_path / "model.arpa")
    assert not list(tmp_path.iterdir())


def test_tables_of_a_file(tmp_path):
    words, *ngrams = read_arpa(write(tmp_path, FILE))
    tables = build_tables(*ngrams)
    assert words == ["<unk>", "<s>", "</s>", "a", "b"]
    found = log_probability(tables, np.array([[1, 3, 4], [2, 3, 4], [3, 4, 2]]), len(words))
    np.testing.assert_allclose(found / math.log(10), [-0.05, -0.3, -0.4 - 0.6], rtol=1e-5)
