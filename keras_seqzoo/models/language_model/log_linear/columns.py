"""Sparse columns of weights, one for each feature, and the sum of some of them."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

CHUNK = 65536  # contexts whose keys exist at a time


class Columns(NamedTuple):
    """Which features there are, and which tokens have a weight in the column of each.

    Attributes:
        keys: int64 `(columns,)`, increasing.
        offsets: int32 `(columns + 1,)`: column i has the entries from `offsets[i]` to below
            `offsets[i + 1]`.
        tokens: int32 `(entries,)`, the token of each entry.
    """

    keys: np.ndarray
    offsets: np.ndarray
    tokens: np.ndarray


def collect_columns(keys_of, contexts, labels, vocabulary_size, minimum_count=1):
    """Finds the features of contexts, and the tokens that follow each.

    Args:
        keys_of: function from contexts to int64 keys `(rows, k)`, -1 for none.
        contexts: int32 array `(events, n - 1)`.
        labels: int32 array `(events,)`, the token after each.
        vocabulary_size: int.
        minimum_count: int, how often a token must follow a feature; with 0 each token is in each
            column.

    Returns:
        `Columns`.
    """
    parts = []
    for begin in range(0, len(labels), CHUNK):
        found = keys_of(tf.constant(contexts[begin : begin + CHUNK])).numpy()
        followers = np.repeat(labels[begin : begin + CHUNK], found.shape[1])
        valid = found.ravel() >= 0
        ones = np.ones(np.count_nonzero(valid), np.int64)
        parts.append(_joined(found.ravel()[valid], followers[valid], ones))
    keys, tokens, counts = _joined(*map(np.concatenate, zip(*parts, strict=True)))
    kept = counts >= minimum_count
    known, sizes = np.unique(keys[kept], return_counts=True)
    if minimum_count == 0:
        sizes = np.full(len(known), vocabulary_size)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    if offsets[-1] > np.iinfo(np.int32).max:
        raise ValueError(
            f"`features` must have fewer than 2³¹ weights together, got {offsets[-1]}. Take fewer, "
            "or a higher `minimum_count`."
        )
    if minimum_count == 0:
        tokens = np.tile(np.arange(vocabulary_size, dtype=np.int32), len(known))
    else:
        tokens = tokens[kept]
    return Columns(known, offsets.astype(np.int32), tokens)


def _joined(keys, tokens, counts):
    """Sorts pairs by key and token and adds up those that are equal."""
    order = np.lexsort((tokens, keys))
    keys, tokens = keys[order], tokens[order]
    first = np.ones(len(keys), bool)
    first[1:] = (keys[1:] != keys[:-1]) | (tokens[1:] != tokens[:-1])
    places = np.flatnonzero(first)
    sums = np.add.reduceat(counts[order], places) if len(places) else counts
    return keys[places], tokens[places], sums


def add_columns(columns, keys, weight, vocabulary_size):
    """Adds up the columns of features.

    Args:
        columns: `Columns` of tensors.
        keys: int64 tensor `(rows, k)`, the features of each row, -1 for none.
        weight: float32 tensor `(entries,)`.
        vocabulary_size: int.

    Returns:
        float32 tensor `(rows, vocabulary_size)`. Its gradient by `weight` is dense: nearly every
        batch has features with a good part of all entries.
    """
    rows = tf.shape(keys)[0]
    if not columns.tokens.shape[0]:
        return tf.zeros([rows, vocabulary_size])
    places = tf.searchsorted(columns.keys, tf.reshape(keys, [-1]))
    places = tf.minimum(places, tf.size(columns.keys) - 1)
    known = tf.gather(columns.keys, places) == tf.reshape(keys, [-1])
    begins = tf.gather(columns.offsets, places)
    ends = tf.where(known, tf.gather(columns.offsets, places + 1), begins)
    ranges = tf.ragged.range(begins, ends)
    entries = ranges.flat_values  # (E,)
    # The place of an entry in the sums of all rows, one row after the other.
    owners = tf.cast(ranges.value_rowids(), tf.int32) // tf.shape(keys)[1]
    cells = owners * vocabulary_size + tf.gather(columns.tokens, entries)

    @tf.custom_gradient
    def add(weight):
        sums = tf.math.unsorted_segment_sum(
            tf.gather(weight, entries), cells, rows * vocabulary_size
        )

        def gradient(upstream):
            own = tf.gather(tf.reshape(upstream, [-1]), cells)
            return tf.math.unsorted_segment_sum(own, entries, tf.size(weight))

        return tf.reshape(sums, [rows, vocabulary_size]), gradient

    return add(weight)
