"""Counts of words that occur near each other, and batches of these counts."""

import math
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_seqzoo.data.batching.length_buckets import without_autotuning

PART_WORDS = 2**19  # words of the text whose pairs are in memory
EXACT = 2**53  # integers up to here are exact in float64


class Cooccurrences(NamedTuple):
    """The pairs of words that occur near each other, each pair in both orders.

    Attributes:
        rows: int32 `(P,)`, the first words.
        columns: int32 `(P,)`, the second words.
        counts: float64 `(P,)`, their counts, greater than 0.
    """

    rows: np.ndarray
    columns: np.ndarray
    counts: np.ndarray


def count_cooccurrences(blocks, vocabulary_size, window, part_words=PART_WORDS):
    """Count how often words occur near each other.

    A pair of positions in one sentence, d ≤ window apart, counts 1 / d (Pennington et al., 2014,
    section 4.2), in both orders: X_ij = X_ji. The distinct pairs are in memory, with about 45
    bytes for each entry of the result.

    Args:
        blocks: iterable of pairs of int32 arrays: words of the text, and the sentence number of
            each word. Pairs of words may cross two blocks.
        vocabulary_size: int, V.
        window: int.
        part_words: int, words of the text whose pairs are sorted at a time.

    Returns:
        `Cooccurrences`, the same for all `part_words`.

    Example:
    >>> from keras_seqzoo.models.word_vectors.cooccurrences import count_cooccurrences
    >>> found = count_cooccurrences([([0, 1, 2], [0, 0, 0])], vocabulary_size=3, window=2)
    >>> [(int(i), int(j), float(count)) for i, j, count in zip(*found) if i < j]
    [(0, 1, 1.0), (0, 2, 0.5), (1, 2, 1.0)]
    """
    # Sums of whole multiples of 1 / unit are exact, in whatever order they are added.
    unit = math.lcm(*range(1, window + 1))
    unit = unit if unit < EXACT else 1
    units, bits = unit / np.arange(1, window + 1), (window - 1).bit_length()
    runs = []
    for ids, sentences, fresh in _overlapping_parts(blocks, window, part_words):
        keys = _near_pairs(ids, sentences, fresh, vocabulary_size, window)
        keys.sort()
        runs.append(_sum_runs(keys >> bits, units[keys & ((1 << bits) - 1)]))
        # Runs of decreasing size: each pair is merged a logarithmic number of times.
        while len(runs) > 1 and len(runs[-2][0]) <= 2 * len(runs[-1][0]):
            runs.append(_merge(runs.pop(), runs.pop()))
    while len(runs) > 1:
        runs.append(_merge(runs.pop(), runs.pop()))
    pairs, sums = runs[0] if runs else (np.zeros(0, np.int64), np.zeros(0))
    first, second = (part.astype(np.int32) for part in np.divmod(pairs, vocabulary_size))
    counts = sums / unit
    counts[first == second] *= 2  # both orders of such positions are in one cell
    differ = first != second
    return Cooccurrences(
        np.concatenate([first, second[differ]]),
        np.concatenate([second, first[differ]]),
        np.concatenate([counts, counts[differ]]),
    )


def pair_batches(found, pairs, seed):
    """Create a dataset of pairs of words in random order, a new one in each pass.

    Args:
        found: `Cooccurrences`.
        pairs: int, the number of pairs in a batch.
        seed: int. The same seed gives the same passes.

    Returns:
        A `tf.data.Dataset` of dicts of `rows` and `columns` int32 `(pairs,)` and `counts` float32
        `(pairs,)`.
    """
    rows, columns = tf.constant(found.rows), tf.constant(found.columns)
    counts = tf.constant(found.counts, tf.float32)
    number = len(found.rows)
    batches, last = -(-number // pairs), tf.constant(number - 1, tf.int64)

    def make_batch(order_seed, batch):
        places = tf.range(batch * pairs, tf.minimum((batch + 1) * pairs, number))
        key = tf.stack([order_seed, 0])
        places = tf.random.experimental.index_shuffle(places, key, last)
        return {
            "rows": tf.gather(rows, places),
            "columns": tf.gather(columns, places),
            "counts": tf.gather(counts, places),
        }

    seeds = tf.data.Dataset.random(seed, rerandomize_each_iteration=True).take(1)
    dataset = seeds.flat_map(
        lambda order_seed: tf.data.Dataset.range(batches).map(lambda batch: (order_seed, batch))
    )
    dataset = dataset.apply(tf.data.experimental.assert_cardinality(batches))
    return without_autotuning(dataset.map(make_batch, num_parallel_calls=2).prefetch(4))


def _overlapping_parts(blocks, window, part_words):
    """Yield parts of a text, each after the last words before it, and where the part begins."""
    before = np.zeros((2, 0), np.int32)
    for block in blocks:
        block = np.stack(block)
        for start in range(0, block.shape[1], part_words):
            part = np.concatenate([before, block[:, start : start + part_words]], axis=1)
            yield *part, before.shape[1]
            before = part[:, -window:]


def _near_pairs(ids, sentences, fresh, vocabulary_size, window):
    """Return an int64 number for each pair of near words whose second word is new.

    Its lowest bits are the distance - 1, the others are the smaller id · V + the larger id.
    """
    bits = (window - 1).bit_length()
    keys = [np.zeros(0, np.int64)]
    for distance in range(1, min(window, len(ids) - 1) + 1):
        start = max(fresh, distance)
        first, second = slice(start - distance, len(ids) - distance), slice(start, None)
        same = sentences[first] == sentences[second]
        one, other = ids[first][same], ids[second][same]
        pair = np.minimum(one, other).astype(np.int64) * vocabulary_size + np.maximum(one, other)
        keys.append(pair << bits | (distance - 1))
    return np.concatenate(keys)


def _sum_runs(keys, values):
    """Return the distinct keys of sorted keys, and the sums of their values."""
    begins = np.flatnonzero(np.diff(keys, prepend=-1))
    if not len(begins):
        return keys, values
    return keys[begins], np.add.reduceat(values, begins)


def _merge(one, other):
    keys, values = (np.concatenate(parts) for parts in zip(one, other, strict=True))
    order = np.argsort(keys, kind="stable")  # a stable sort merges sorted runs
    return _sum_runs(keys[order], values[order])
