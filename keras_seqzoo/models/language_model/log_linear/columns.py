"""Sparse columns of weights, one for each feature, and their sums."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

CHUNK = 65536  # contexts processed at a time


class Columns(NamedTuple):
    """The sparsity pattern of the columns, in compressed form.

    Attributes:
        keys: int64 `(columns,)`, the sorted keys of the features.
        offsets: int32 `(columns + 1,)`; column i has the entries `offsets[i]` to
            `offsets[i + 1] - 1`.
        tokens: int32 `(entries,)`, the token of each entry.
    """

    keys: np.ndarray
    offsets: np.ndarray
    tokens: np.ndarray


def collect_columns(feature_keys, contexts, labels, vocabulary_size, minimum_count=1):
    """Collect the features of contexts, and the tokens that follow each feature.

    Args:
        feature_keys: function that maps contexts to int64 keys `(rows, k)`, -1 for none.
        contexts: int32 array `(events, n - 1)`.
        labels: int32 array `(events,)`, the token after each context.
        vocabulary_size: int.
        minimum_count: int, the minimum count of a token after a feature. With 0, each column has
            all tokens.

    Returns:
        `Columns`.

    Raises:
        ValueError: if there are more entries than int32 can index.
    """
    parts = []
    for start in range(0, len(labels), CHUNK):
        keys = feature_keys(tf.constant(contexts[start : start + CHUNK])).numpy()
        tokens = np.repeat(labels[start : start + CHUNK], keys.shape[1])
        valid = keys.ravel() >= 0
        ones = np.ones(np.count_nonzero(valid), np.int64)
        parts.append(_sum_counts(keys.ravel()[valid], tokens[valid], ones))
    keys, tokens, counts = _sum_counts(*map(np.concatenate, zip(*parts, strict=True)))
    kept = counts >= minimum_count
    keys, sizes = np.unique(keys[kept], return_counts=True)
    if minimum_count == 0:
        sizes = np.full(len(keys), vocabulary_size)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    if offsets[-1] > np.iinfo(np.int32).max:
        raise ValueError(
            f"`features` must have fewer than 2³¹ weights, got {offsets[-1]}. Use fewer features "
            "or a higher `minimum_count`."
        )
    if minimum_count == 0:
        tokens = np.tile(np.arange(vocabulary_size, dtype=np.int32), len(keys))
    else:
        tokens = tokens[kept]
    return Columns(keys, offsets.astype(np.int32), tokens)


def _sum_counts(keys, tokens, counts):
    """Sort pairs of keys and tokens, and sum the counts of equal pairs."""
    order = np.lexsort((tokens, keys))
    keys, tokens = keys[order], tokens[order]
    first = np.ones(len(keys), bool)
    first[1:] = (keys[1:] != keys[:-1]) | (tokens[1:] != tokens[:-1])
    starts = np.flatnonzero(first)
    sums = np.add.reduceat(counts[order], starts) if len(starts) else counts
    return keys[starts], tokens[starts], sums


def add_columns(columns, keys, weight, vocabulary_size):
    """Sum the columns of the features of each row.

    Args:
        columns: `Columns` of tensors.
        keys: int64 tensor `(rows, k)`, the features of each row, -1 for none.
        weight: float32 tensor `(entries,)`.
        vocabulary_size: int.

    Returns:
        float32 tensor `(rows, vocabulary_size)`. The gradient with respect to `weight` is dense,
        because most batches use a large part of all entries.
    """
    rows = tf.shape(keys)[0]
    if not columns.tokens.shape[0]:
        return tf.zeros([rows, vocabulary_size])
    flat_keys = tf.reshape(keys, [-1])
    found = tf.minimum(tf.searchsorted(columns.keys, flat_keys), tf.size(columns.keys) - 1)
    known = tf.gather(columns.keys, found) == flat_keys
    starts = tf.gather(columns.offsets, found)
    ends = tf.where(known, tf.gather(columns.offsets, found + 1), starts)
    ranges = tf.ragged.range(starts, ends)
    entries = ranges.flat_values  # (E,)
    # (E,): the index of each entry in the flat sums of all rows
    entry_rows = tf.cast(ranges.value_rowids(), tf.int32) // tf.shape(keys)[1]
    cells = entry_rows * vocabulary_size + tf.gather(columns.tokens, entries)

    @tf.custom_gradient
    def add(weight):
        sums = tf.math.unsorted_segment_sum(
            tf.gather(weight, entries), cells, rows * vocabulary_size
        )

        def gradient(upstream):
            values = tf.gather(tf.reshape(upstream, [-1]), cells)
            return tf.math.unsorted_segment_sum(values, entries, tf.size(weight))

        return tf.reshape(sums, [rows, vocabulary_size]), gradient

    return add(weight)
