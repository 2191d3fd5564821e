import collections

import numpy as np
import pytest

from keras_seqzoo.data import TokenPairs, tokenize_pairs
from keras_seqzoo.data.batching.ragged_ids import RaggedIds
from keras_seqzoo.models import train_ibm_model
from keras_seqzoo.tokenizers import WordTokenizer

RANDOM = np.random.default_rng(0)
LENGTHS = [(3, 2), (1, 4), (4, 3), (2, 2), (5, 1)]
PAIRS = [
    (RANDOM.integers(1, 6, m).tolist(), [0, *RANDOM.integers(1, 7, n).tolist()]) for m, n in LENGTHS
]


def ragged(rows):
    return RaggedIds.from_lengths(np.concatenate(rows), [len(row) for row in rows])


def make_pairs(pairs):
    source, target = zip(*pairs, strict=True)
    return TokenPairs(ragged(source), ragged(target))


def expectation_maximization(pairs, iterations):
    probability = collections.defaultdict(lambda: 1.0)
    for _ in range(iterations):
        counts, totals = collections.Counter(), collections.Counter()
        for source, (_, *target) in pairs:
            for f in target:
                total = sum(probability[e, f] for e in source)
                for e in source:
                    counts[e, f] += probability[e, f] / total
                    totals[e] += probability[e, f] / total
        probability = {(e, f): count / totals[e] for (e, f), count in counts.items()}
    return probability


@pytest.mark.parametrize("iterations", [1, 4])
def test_equals_the_definition(iterations):
    found = train_ibm_model(make_pairs(PAIRS), 6, 7, iterations, entries=7)
    expected = expectation_maximization(PAIRS, iterations)
    table = np.zeros((6, 7))
    for e, (targets, values) in enumerate(zip(*found, strict=True)):
        assert (np.diff(values) <= 0).all()
        np.add.at(table[e], targets, values)
    for e in range(6):
        for f in range(7):
            assert table[e, f] == pytest.approx(expected.get((e, f), 0.0), abs=1e-6)
    assert not table[0].any()  # no source token


def test_the_best_entries_are_kept():
    every, few = (train_ibm_model(make_pairs(PAIRS), 6, 7, entries=n) for n in (7, 2))
    np.testing.assert_array_equal(few.target_ids, every.target_ids[:, :2])
    best = every.probabilities[1:, :2]
    np.testing.assert_allclose(
        few.probabilities[1:], best / best.sum(axis=1, keepdims=True), rtol=1e-5
    )


def test_a_textbook_example():
    # Koehn 2010, Statistical machine translation, figure 4.4.
    source, target = ["das Haus", "das Buch", "ein Buch"], ["the house", "the book", "a book"]
    tokenizers = [WordTokenizer.train(side) for side in (source, target)]
    pairs = tokenize_pairs(
        source,
        target,
        lambda texts: tokenizers[0](texts),
        lambda texts: [[2, *ids, 3] for ids in tokenizers[1](texts).to_list()],
    )
    without_end = pairs._replace(
        target=RaggedIds.from_lengths(
            pairs.target.values[pairs.target.values != 3], pairs.target.lengths - 1
        )
    )
    sizes = [tokenizer.vocabulary_size() for tokenizer in tokenizers]

    def probability(found, german, english):
        e, f = tokenizers[0].token_to_id(german), tokenizers[1].token_to_id(english)
        return found.probabilities[e][found.target_ids[e] == f].sum()

    once = train_ibm_model(without_end, *sizes, iterations=1)
    assert probability(once, "das", "the") == pytest.approx(0.5)
    third = train_ibm_model(without_end, *sizes, iterations=3)
    assert probability(third, "das", "the") == pytest.approx(0.7479, abs=1e-4)
    assert probability(third, "Haus", "house") == pytest.approx(0.6534, abs=1e-4)
    late = train_ibm_model(without_end, *sizes, iterations=100)
    assert probability(late, "ein", "a") > 0.98


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"iterations": 0}, "`iterations` must be"),
        ({"entries": 0}, "`entries` must be"),
        ({"source_vocabulary_size": 0}, "`source_vocabulary_size` must be"),
    ],
)
def test_bad_arguments(change, message):
    given = {"pairs": make_pairs(PAIRS), "source_vocabulary_size": 6, "target_vocabulary_size": 7}
    with pytest.raises(ValueError, match=message):
        train_ibm_model(**given | change)


def test_without_pairs():
    none = RaggedIds.from_lengths(np.zeros(0), [])
    with pytest.raises(ValueError, match="`pairs` must have at least one pair, got none"):
        train_ibm_model(TokenPairs(none, none), 6, 7)
