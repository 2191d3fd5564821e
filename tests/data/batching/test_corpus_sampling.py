"""Corpora of different sizes are read as often as the temperature says."""

import collections

import numpy as np
import pytest

from keras_seqzoo.data import IdCache, RaggedIds, TokenPairs, bucketed_batches, count_buckets
from keras_seqzoo.data.batching.corpus_sampling import sampled_sizes
from keras_seqzoo.data.batching.id_cache import as_windows

SIZES = (90, 8, 30)
BOUNDARIES = (3, 5)
FIRST = 10  # ids that are no special tokens; each pair has its own


def make_pairs(sizes=SIZES):
    """Pairs whose second id is their number, from FIRST on, of 2 to 5 ids."""
    generator = np.random.default_rng(0)
    count = sum(sizes)
    lengths = generator.integers(2, 6, count)
    values = np.concatenate(
        [[FIRST + row] * length for row, length in enumerate(lengths)], dtype=np.int32
    )
    source = RaggedIds.from_lengths(values, lengths)
    target = RaggedIds.from_lengths(np.tile([2, 7, 3], count), [3] * count)
    corpus = np.repeat(np.arange(len(sizes)), sizes).astype(np.int32)
    return TokenPairs(source, target, corpus)


def batches(pairs, temperature, seed=(1, 0), **options):
    return list(
        bucketed_batches(
            pairs, 4, BOUNDARIES, seed=seed, temperature=temperature, **options
        ).as_numpy_iterator()
    )


def reads(batches):
    """How often each pair is read."""
    first = np.concatenate([inputs["encoder_token_ids"][:, 0] for inputs, *_ in batches])
    return collections.Counter((first[first >= FIRST] - FIRST).tolist())


def corpus_reads(counts, pairs):
    return np.bincount(pairs.corpus[list(counts)], list(counts.values()), len(SIZES))


@pytest.mark.parametrize("temperature", [1, 1.5, 5, 1000])
def test_the_sizes_are_those_of_the_equation(temperature):
    powers = [size ** (1 / temperature) for size in SIZES]
    expected = [sum(SIZES) * power / sum(powers) for power in powers]
    np.testing.assert_allclose(sampled_sizes(SIZES, temperature), expected)
    pairs = make_pairs()
    counts = reads(batches(pairs, temperature))
    np.testing.assert_allclose(corpus_reads(counts, pairs), expected, atol=0.51)
    # No pair of a corpus is read twice as long as another of its length is not read.
    bucket = np.searchsorted(BOUNDARIES, pairs.source.lengths)
    for corpus in range(len(SIZES)):
        for number in range(len(BOUNDARIES)):
            rows = np.flatnonzero((pairs.corpus == corpus) & (bucket == number))
            own = [counts[row] for row in rows]
            assert max(own) - min(own) <= 1


def test_a_temperature_of_one_changes_nothing():
    pairs = make_pairs()
    for one, other in zip(batches(pairs, 1), batches(pairs, None), strict=True):
        np.testing.assert_array_equal(one[1], other[1])
        np.testing.assert_array_equal(one[0]["encoder_token_ids"], other[0]["encoder_token_ids"])


def test_epochs_differ_but_not_in_their_shapes():
    pairs = make_pairs()
    epochs = [batches(pairs, 3, seed=(1, epoch)) for epoch in range(4)]
    shapes = [sorted(labels.shape for _, labels, _ in epoch) for epoch in epochs]
    assert shapes == shapes[:1] * 4
    drawn = [reads(epoch) for epoch in epochs]
    assert drawn[0] != drawn[1]
    # What a large corpus leaves out differs, so that all of it is read in the end.
    read = set().union(*drawn)
    assert all(len(one) < len(read) for one in drawn)
    assert reads(batches(pairs, 3, seed=(1, 0))) == drawn[0]
    assert count_buckets(pairs, BOUNDARIES, 3) == 2


def test_an_epoch_goes_on_from_any_step(tmp_path):
    pairs = make_pairs()
    parts = [pairs.gather(np.arange(start, start + 16)) for start in range(0, 128, 16)]
    cache = IdCache.write(tmp_path / "cache", parts, window=150)
    assert sum(1 for _ in as_windows(cache).windows()) > 2
    whole = batches(cache, 4)
    for start in (1, 9, len(whole) - 1):
        rest = batches(cache, 4, start=start)
        assert len(rest) == len(whole) - start
        for one, other in zip(rest, whole[start:], strict=True):
            np.testing.assert_array_equal(
                one[0]["encoder_token_ids"], other[0]["encoder_token_ids"]
            )
    expected = sampled_sizes(SIZES, 4)
    np.testing.assert_allclose(corpus_reads(reads(whole), pairs), expected, atol=0.51)
    in_memory = batches(pairs, 4)
    assert len(in_memory) == len(whole)


def test_the_order_of_the_files():
    pairs = make_pairs()
    first = batches(pairs, 4, shuffle=False)
    for one, other in zip(first, batches(pairs, 4, shuffle=False, seed=9), strict=True):
        np.testing.assert_array_equal(one[0]["encoder_token_ids"], other[0]["encoder_token_ids"])


def test_bad_arguments():
    pairs = make_pairs()
    for temperature in (0.5, "5", float("nan")):
        with pytest.raises(ValueError, match="`temperature` must be a number of at least 1"):
            bucketed_batches(pairs, 4, BOUNDARIES, temperature=temperature)
    with pytest.raises(ValueError, match="`pairs` must have `corpus` with `temperature`"):
        bucketed_batches(pairs._replace(corpus=None), 4, BOUNDARIES, temperature=2)
