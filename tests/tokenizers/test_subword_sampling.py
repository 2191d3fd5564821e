"""Segmentations that are drawn by a seed."""

import collections
import math

import numpy as np
import pytest

from keras_seqzoo.data import RaggedIds
from keras_seqzoo.tokenizers import BytePairTokenizer, UnigramTokenizer

LINES = ["the cat sat on the mat", "the dog sat on the log", "été – ñandú"] * 2
TEXTS = ["the cat sat", "  a  dog\u2581\x10 日本 ", "", "[BOS]"]
TOKENIZERS = {
    "bpe": lambda: BytePairTokenizer.train(LINES, 300),
    "suffix": lambda: BytePairTokenizer.train(LINES, 300, end_of_word=True),
    "bytes": lambda: BytePairTokenizer.train(LINES, 300, byte_level=True),
    "merges": lambda: BytePairTokenizer.from_merges([("a", "t"), ("t", " ".replace(" ", "▁"))]),
    "unigram": lambda: UnigramTokenizer.train(LINES, 283),
}


def shares(tokenizer, text, rate, count=4000):
    """How often each segmentation of a word is drawn."""
    ids = RaggedIds.from_ragged(tokenizer([text] * count))
    drawn = tokenizer.redraw(ids, 7, rate)
    found = [
        " ".join(map(tokenizer.id_to_token, drawn.sequence(row).tolist())) for row in range(count)
    ]
    return {name: number / count for name, number in collections.Counter(found).items()}


def test_bpe_dropout_is_that_of_the_paper():
    # Merges of "dabab" in order: ab (either of two places), then d+ab; each step drops each
    # possible merge with probability p, and ends if all are dropped.
    merges = {("a", "b"): 0, ("d", "ab"): 1}
    tokenizer = BytePairTokenizer.from_merges(list(merges))
    expected = collections.Counter()

    def walk(symbols, share, p):
        pairs = list(zip(symbols, symbols[1:], strict=False))
        places = sorted(
            (place for place, pair in enumerate(pairs) if pair in merges),
            key=lambda place: (merges[pairs[place]], place),
        )
        for number, place in enumerate(places):  # those before it are dropped
            joined = [*symbols[:place], "".join(pairs[place]), *symbols[place + 2 :]]
            walk(joined, share * p**number * (1 - p), p)
        expected[" ".join(symbols)] += share * p ** len(places)

    walk(list("dabab"), 1.0, 0.3)
    assert sum(expected.values()) == pytest.approx(1)
    assert shares(tokenizer, "dabab", 0.3) == pytest.approx(dict(expected), abs=0.02)


@pytest.mark.parametrize("alpha", [0.2, 1.0])
def test_unigram_segmentations_are_drawn_by_their_probability(alpha):
    counts = {"a": 19, "b": 16, "d": 5, "ab": 12, "da": 5}
    scores = {piece: math.log(count / 72) for piece, count in counts.items()}
    weights = {
        words: math.exp(alpha * sum(scores[piece] for piece in words.split()))
        for words in ("d a b", "d ab", "da b")
    }
    expected = {words: weight / sum(weights.values()) for words, weight in weights.items()}
    tokenizer = UnigramTokenizer.from_pieces(scores)
    assert shares(tokenizer, "dab", alpha) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("name", TOKENIZERS)
def test_the_text_stays_and_without_chance_the_segmentation(name):
    tokenizer = TOKENIZERS[name]()
    ids = RaggedIds.from_ragged(tokenizer(TEXTS))
    ends = np.stack([np.full(len(TEXTS), 2), np.full(len(TEXTS), 3)], axis=1)
    lists = [[a, *ids.sequence(row), b] for row, (a, b) in enumerate(ends)]
    ids = RaggedIds.from_lengths(np.concatenate(lists), [*map(len, lists)])
    same = tokenizer.redraw(ids, 1, 1e6 if name == "unigram" else 0.0)
    np.testing.assert_array_equal(same.values, ids.values)
    drawn = tokenizer.redraw(ids, 1, 0.1 if name == "unigram" else 0.5)
    rows = [drawn.sequence(row).tolist() for row in range(len(TEXTS))]
    assert all((row[0], row[-1]) == (2, 3) for row in rows)
    assert tokenizer.detokenize(rows) == TEXTS
    assert drawn.lengths.sum() != ids.lengths.sum()


def test_a_seed_draws_the_same_in_every_process():
    tokenizer = BytePairTokenizer.from_merges([("a", "b"), ("d", "ab"), ("dab", "ab")])
    ids = RaggedIds.from_ragged(tokenizer(["dabab"] * 6))
    drawn = tokenizer.redraw(ids, (3, 1), 0.3)
    assert ids.lengths.tolist() == [1] * 6
    assert drawn.lengths.tolist() == [5, 5, 1, 4, 3, 4]
    assert tokenizer.redraw(ids, (3, 2), 0.3).lengths.tolist() == [1, 1, 1, 1, 2, 3]
