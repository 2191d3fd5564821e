import collections
from fractions import Fraction

import numpy as np
import pytest

from keras_seqzoo.models.word_vectors.cooccurrences import (
    Cooccurrences,
    count_cooccurrences,
    pair_batches,
)

WORDS, LINES = 7, 30


def text():
    """Words and their sentence numbers; some sentences are empty or have one word."""
    generator = np.random.default_rng(0)
    lengths = generator.integers(0, 14, LINES)
    sentences = np.repeat(np.arange(LINES), lengths).astype(np.int32)
    return generator.integers(0, WORDS, len(sentences)).astype(np.int32), sentences


def count_in_plain_python(ids, sentences, window):
    counts = collections.Counter()
    for i, word in enumerate(ids):
        for j, other in enumerate(ids):
            if i != j and abs(i - j) <= window and sentences[i] == sentences[j]:
                counts[int(word), int(other)] += Fraction(1, abs(i - j))
    return counts


@pytest.mark.parametrize("window", [1, 3, 10, 45])
@pytest.mark.parametrize("part_words", [1, 7, 1000])
def test_equals_plain_python(window, part_words):
    ids, sentences = text()
    expected = count_in_plain_python(ids, sentences, window)
    middle = len(ids) // 2
    blocks = [(ids[:middle], sentences[:middle]), (ids[middle:], sentences[middle:])]
    rows, columns, counts = count_cooccurrences(blocks, WORDS, window, part_words)
    assert len(rows) == len(expected)
    found = dict(zip(zip(rows.tolist(), columns.tolist(), strict=True), counts, strict=True))
    if window == 45:  # 1 / 45 and the others have no common unit that floats hold
        assert found == pytest.approx({pair: float(count) for pair, count in expected.items()})
    else:
        assert found == {pair: float(count) for pair, count in expected.items()}


def test_texts_without_pairs():
    for blocks in ([], [(np.zeros(1, np.int32), np.zeros(1, np.int32))]):
        assert [len(part) for part in count_cooccurrences(blocks, 2, 5)] == [0, 0, 0]


def test_batches_have_every_pair_once_in_another_order_each_time():
    found = Cooccurrences(np.arange(10), np.arange(10) + 1, np.arange(10) + 0.5)

    def passes(seed, number=2):
        dataset = pair_batches(found, 4, seed)
        assert dataset.cardinality() == 3
        names = Cooccurrences._fields
        return [
            np.concatenate([[batch[name] for name in names] for batch in dataset], axis=1)
            for _ in range(number)
        ]

    first, second = passes(1)
    for got in (first, second):
        np.testing.assert_array_equal(got[:, np.argsort(got[0])], found)
    assert (first != second).any() and (first != passes(2, 1)[0]).any()
    np.testing.assert_array_equal(passes(1), [first, second])
