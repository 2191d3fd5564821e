import collections

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_seqzoo.models.word_vectors import Collocations
from keras_seqzoo.tokenizers import training_texts
from tests.counting.texts import Stream
from tests.properties import examples

TEXT = ["the new york times", "in new york", "new york times", "times are new", ""] * 4


def plain_pairs(texts, minimum_count, threshold):
    """The definition, word by word."""
    counts, pairs = collections.Counter(), collections.Counter()
    for text in texts:
        words = text.split()
        counts.update(words)
        pairs.update(zip(words, words[1:], strict=False))
    total = counts.total()
    return {
        (a, b)
        for (a, b), n in pairs.items()
        if n >= minimum_count and (n - minimum_count) * total / counts[a] / counts[b] > threshold
    }


def plain_join(text, pairs):
    words, joined = text.split(), []
    while words:
        if tuple(words[:2]) in pairs:
            joined.append("_".join(words[:2]))
            del words[:2]
        else:
            joined.append(words.pop(0))
    return " ".join(joined)


texts = st.lists(st.text("abc \t", max_size=20), max_size=8)


@examples(300)
@given(texts, st.integers(1, 3), st.floats(0, 3))
def test_equals_the_definition(texts, minimum_count, threshold):
    collocations = Collocations.learn(texts, minimum_count, threshold)
    [pairs] = collocations.passes
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == plain_pairs(texts, minimum_count, threshold)
    assert collocations(texts) == [plain_join(text, set(pairs)) for text in texts]


def test_longer_collocations_by_a_second_pass():
    once = Collocations.learn(TEXT, minimum_count=5, threshold=1.5)
    assert once.passes == [[("new", "york")]]
    twice = Collocations.learn(TEXT, minimum_count=5, threshold=0.8, passes=2)
    assert ("new_york", "times") in twice.passes[1]
    assert twice(["a new york times  yorker", ""]) == ["a new_york_times yorker", ""]
    assert Collocations(twice.passes, "+")(["new york"]) == ["new+york"]


def test_new_words_stay_as_they_are():
    collocations = Collocations.learn(TEXT, minimum_count=5, threshold=1.5)
    assert collocations(["york new york", "never seen", " "]) == ["york new_york", "never seen", ""]
    assert collocations([]) == []


def test_a_text_of_any_length(monkeypatch):
    expected = Collocations.learn(TEXT, minimum_count=5, threshold=0.8, passes=2)
    monkeypatch.setattr(training_texts, "BATCH_SIZE", 3)
    for texts in (Stream(TEXT), iter(TEXT)):
        found = Collocations.learn(texts, minimum_count=5, threshold=0.8, passes=2)
        assert found.passes == expected.passes
    mapped = found.mapped(Stream(TEXT))
    assert list(mapped) == list(mapped) == expected(TEXT)


def test_bad_arguments():
    for arguments in ({"minimum_count": 0}, {"passes": 0}, {"threshold": -1}):
        with pytest.raises(ValueError, match=f"`{next(iter(arguments))}`"):
            Collocations.learn(TEXT, **arguments)
