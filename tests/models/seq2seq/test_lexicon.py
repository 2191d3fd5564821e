import gzip
import math

import numpy as np
import pytest

from keras_seqzoo.data import load_multi30k
from keras_seqzoo.models import Lexicon, RecurrentSeq2SeqLM, WordAlignment, word_alignment


def alignment(source, target, links):
    """A `WordAlignment` in which each target word attends to the given source word."""
    source, target = source.split(" "), target.split(" ")
    return WordAlignment(source, target, np.eye(len(source), dtype="float32")[links])


ALIGNMENTS = [
    alignment("a dog", "un chien", [0, 1]),
    alignment("the big dog", "le gros chien", [0, 1, 2]),
    alignment("a dog sleeps", "une chienne dort", [0, 1, 2]),
    alignment("not", "ne pas", [0, 0]),
]


def test_counts():
    lexicon = Lexicon.from_alignments(iter(ALIGNMENTS))
    assert lexicon.probabilities["dog"] == {"chien": 2 / 3, "chienne": 1 / 3}
    assert lexicon.probabilities["not"] == {"ne": 0.5, "pas": 0.5}
    assert lexicon.best("dog") == "chien" and lexicon.best("a") == "un"
    assert lexicon.probability("dog", "chienne") == 1 / 3
    assert lexicon.probability("dog", "un") == lexicon.probability("cat", "chat") == 0.0
    assert lexicon.best("cat") is None and len(lexicon) == 9
    for entries in lexicon.probabilities.values():
        assert math.isclose(sum(entries.values()), 1.0)


def test_minimum_count():
    lexicon = Lexicon.from_alignments(ALIGNMENTS, minimum_count=2)
    assert lexicon.probabilities == {"dog": {"chien": 2 / 3}}
    assert len(Lexicon.from_alignments(ALIGNMENTS, minimum_count=3)) == 0
    for wrong in (0, 1.5, True):
        with pytest.raises(ValueError, match="`minimum_count` must be an int of at least 1"):
            Lexicon.from_alignments(ALIGNMENTS, wrong)


def test_words_that_teach_nothing():
    odd = alignment("a (⁇) b\tc d\ne", "un x (⁇) y z", [0, 1, 0, 2, 3])
    assert Lexicon.from_alignments([odd]).probabilities == {"a": {"un": 1.0}}


def test_as_written_before_lower_case():
    lexicon = Lexicon({"polish": {"polir": 1.0}, "Polish": {"polonais": 1.0}, "éclair": {"e": 0.5}})
    assert lexicon.best("polish") == "polir" and lexicon.best("Polish") == "polonais"
    assert lexicon.best("POLISH") == "polir" and lexicon.probability("ÉCLAIR", "e") == 0.5


@pytest.mark.parametrize("name", ["words.tsv", "words.tsv.gz"])
def test_save_and_load(tmp_path, name):
    lexicon = Lexicon.from_alignments(ALIGNMENTS)
    lexicon.save(tmp_path / name)
    loaded = Lexicon.load(tmp_path / name)
    assert loaded.probabilities == lexicon.probabilities
    assert list(loaded.probabilities) == sorted(loaded.probabilities)
    lexicon.save(tmp_path / name)  # in the place of the old one
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_the_file(tmp_path):
    path = tmp_path / "words.tsv"
    table = {"b": {"y": 0.25, "z": 0.5, "x": 0.25}, "à": {"ß\r": np.float32(0.5)}, "none": {}}
    Lexicon(table).save(str(path))
    assert path.read_bytes().decode() == "b\tz\t0.5\nb\tx\t0.25\nb\ty\t0.25\nà\tß\r\t0.5\n"
    path.write_bytes(b"dog\tHund\t1e-3\r\n")  # from another program
    assert Lexicon.load(path).probabilities == {"dog": {"Hund": 0.001}}
    path.write_bytes(b"")
    assert len(Lexicon.load(path)) == 0


@pytest.mark.parametrize(
    "line, message",
    [
        ("dog\tchien", "tabs between, got 2 columns"),
        ("dog chien 1.0", "tabs between, got 1 column$"),
        ("", "tabs between, got 1 column$"),
        ("dog\tchien\t0.5\t7", "got 4 columns"),
        ("dog\tchien\thalf", "the probability must be a number, got 'half'"),
        ("dog\tchien\t0", "of 'dog' 'chien' must be a number above 0 and at most 1, got 0.0"),
        ("dog\tchien\t1.01", "at most 1, got 1.01"),
        ("dog\tchien\tnan", "at most 1, got nan"),
        ("\tchien\t0.5", "a word must not be empty"),
        ("dog\t\t0.5", "a word must not be empty"),
        ("a\tun\t0.5", "a pair must occur once, got 'a' 'un' again"),
    ],
)
def test_malformed_lines_are_named(tmp_path, line, message):
    path = tmp_path / "words.tsv"
    path.write_text(f"a\tun\t0.5\n{line}\nc\td\t1\n", encoding="utf-8")
    with pytest.raises(ValueError, match=f"words.tsv, line 2: .*{message}"):
        Lexicon.load(path)


def test_other_bad_files(tmp_path):
    path = tmp_path / "words.tsv"
    with pytest.raises(OSError, match="no such file"):
        Lexicon.load(path)
    path.write_bytes(b"a\tb\t1\n\xff\tb\t1\n")
    with pytest.raises(ValueError, match="words.tsv, line 2 must be UTF-8"):
        Lexicon.load(path)
    with gzip.open(tmp_path / "some.gz", "wb") as file:
        file.write(b"a\tb\n")
    with pytest.raises(ValueError, match="some.gz, line 1: "):
        Lexicon.load(tmp_path / "some.gz")


@pytest.mark.parametrize(
    "table", [{"a\tb": {"c": 0.5}}, {"a": {"": 0.5}}, {"a": {"b": 2}}, {"a": {"b": "1"}}]
)
def test_bad_tables(table):
    with pytest.raises(ValueError, match="must (not be empty|be a number)"):
        Lexicon(table)


@pytest.mark.slow
def test_of_real_sentences(data_directory):
    model = RecurrentSeq2SeqLM.from_preset("gru_attention_multi30k_en_fr")
    pairs = [side[:300] for side in load_multi30k("train", directory=data_directory)]
    lexicon = Lexicon.from_alignments(map(word_alignment, model.align(*pairs)))
    common = {"dog": "chien", "man": "homme", "woman": "femme", "boy": "garçon", "girl": "fille"}
    common |= {"two": "deux", "street": "rue", "white": "blanc", "blue": "bleu", "shirt": "chemise"}
    assert {word: lexicon.best(word) for word in common} == common
    assert min(lexicon.probability(*pair) for pair in common.items()) > 0.4
