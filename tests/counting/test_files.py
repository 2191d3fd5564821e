import gzip

import pytest

from keras_seqzoo.counting import read_counts, write_counts
from keras_seqzoo.counting.files import escape_word, ngram_word_counts, unescape
from tests.counting.texts import LINES, write_ngrams


@pytest.mark.parametrize("name", ["counts.tsv", "counts.tsv.gz"])
def test_there_and_back(name, tmp_path):
    counts = {
        "\ufeffx": 2,
        "the": 3,
        "a\tb": 1,
        "\\t": 2,
        "\n": 5,
        "": 4,
        " ": 1,
        "<s>": 1,
        "é\u2028": 7,
    }
    path = tmp_path / name
    write_counts(path, counts)
    assert read_counts(path) == counts
    content = gzip.decompress(path.read_bytes()) if name.endswith("gz") else path.read_bytes()
    assert content.splitlines()[:4] == [b"\\bx\t2", b"the\t3", b"a\\tb\t1", b"\\\\t\t2"]


def test_items_of_several_lines_are_summed(tmp_path):
    path = tmp_path / "counts.tsv"
    path.write_text("a\t1\nb\t2\na\t3\n")
    assert read_counts(path) == {"a": 4, "b": 2}


@pytest.mark.parametrize("word", ["<s>", "</s>", "\\<s>", "a\\tb", "<s", "the"])
def test_a_word_of_an_ngram_is_not_an_end_of_a_line(word):
    assert escape_word(word) not in ("<s>", "</s>")
    assert unescape(escape_word(word)) == word


def test_words_of_ngrams(tmp_path):
    counts, longest = ngram_word_counts(write_ngrams(tmp_path / "ngrams.tsv", LINES, 3))
    assert longest == 3
    assert counts == {
        "the": 6,
        "cat": 8,
        "sat": 2,
        "<s>": 2,
        "</s>": 2,
        "dog": 4,
        "\\sat": 2,
        "a": 2,
    }


@pytest.mark.parametrize("line", ["the", "the\t", "the\t0", "the\t-1", "the\tx", "the 3", "a\t²"])
def test_lines_that_are_no_counts(line, tmp_path):
    path = tmp_path / "counts.tsv"
    path.write_text(f"a\t1\n{line}\n", encoding="utf-8")
    with pytest.raises(ValueError, match="line 2: must be an item, a tab and a count, got '"):
        read_counts(path)


def test_counts_of_words_are_none_of_ngrams(tmp_path):
    path = tmp_path / "counts.tsv"
    path.write_text("the\t3\n")
    with pytest.raises(ValueError, match="must be the counts of n-grams of a text.*got 0 and 0"):
        ngram_word_counts(path)
