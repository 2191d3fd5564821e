"""Tokenizers from counts are those from the text, whatever the order of the counts."""

import collections

import pytest

from keras_seqzoo.tokenizers import (
    BytePairTokenizer,
    CharacterTokenizer,
    WordPieceTokenizer,
    WordTokenizer,
    training_texts,
)
from keras_seqzoo.tokenizers.training_texts import list_batches, mapped_texts
from tests.counting.texts import Stream

LINES = ["the cat sat on the mat", "the dog sat on the log", "", "été  – ñandú"] * 2
CUTS = {
    WordTokenizer: str.split,
    CharacterTokenizer: list,
    WordPieceTokenizer: str.split,
    BytePairTokenizer: lambda line: line.split(" ") if line else [],
}


@pytest.mark.parametrize("kind", CUTS)
def test_counts_are_all_that_training_needs(kind, monkeypatch):
    options = {"vocabulary_size": 283 if kind is BytePairTokenizer else 40}
    if kind in (WordTokenizer, CharacterTokenizer):
        options = {"vocabulary_size": 12, "minimum_count": 2}
    expected = kind.train(LINES, **options)
    counts = collections.Counter(piece for line in LINES for piece in CUTS[kind](line))
    for pieces in (sorted(counts), sorted(counts, reverse=True)):
        found = kind.from_counts({piece: counts[piece] for piece in pieces}, **options)
        assert found.get_vocabulary() == expected.get_vocabulary()
    monkeypatch.setattr(training_texts, "BATCH_CHARACTERS", 30)
    assert kind.train(Stream(LINES), **options).get_vocabulary() == expected.get_vocabulary()
    assert kind.train(iter(LINES[::-1]), **options).get_vocabulary() == expected.get_vocabulary()


@pytest.mark.parametrize("kind", CUTS)
def test_no_counts(kind):
    with pytest.raises(ValueError, match="`texts` must have a"):
        kind.from_counts({}, vocabulary_size=300)


def test_batches_are_limited(monkeypatch):
    monkeypatch.setattr(training_texts, "BATCH_CHARACTERS", 5)
    monkeypatch.setattr(training_texts, "BATCH_SIZE", 3)
    texts = ["ab", "cdefghi", "j", "", "k", "l"]
    assert list(list_batches(texts)) == [["ab", "cdefghi"], ["j", "", "k"], ["l"]]
    mapped = mapped_texts(lambda batch: [text.upper() for text in batch], iter(texts))
    assert list(mapped) == list(mapped) == ["AB", "CDEFGHI", "J", "", "K", "L"]
