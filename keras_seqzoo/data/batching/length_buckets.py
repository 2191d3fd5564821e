"""Batches of sequences of similar length, from buckets or sorted by length."""

import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_integer


def without_autotuning(dataset):
    """Turn off the autotuning of `tf.data` for a pipeline with nothing to tune.

    Otherwise the end of each iteration waits for the tuner's thread: for seconds after the first
    epoch, and up to a minute after long epochs.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)


def bucket_order(buckets, batch_size, shuffle, seed, drop_remainder=False):
    """Return the batches of an epoch over buckets, in order.

    Args:
        buckets: list of integer arrays, the rows of each bucket.
        batch_size: int.
        shuffle: bool, whether to shuffle the rows within buckets, and then the batches.
        seed: int, sequence of ints or NumPy generator.
        drop_remainder: bool, whether to leave out batches that are not full.

    Returns:
        A list of pairs: the rows of a batch and the index of its bucket.
    """
    generator = np.random.default_rng(seed)
    buckets = [generator.permutation(rows) for rows in buckets] if shuffle else buckets
    batches = [
        (rows[start : start + batch_size], bucket)
        for bucket, rows in enumerate(buckets)
        for start in range(0, len(rows), batch_size)
        if not drop_remainder or start + batch_size <= len(rows)
    ]
    order = generator.permutation(len(batches)) if shuffle else range(len(batches))
    return [batches[index] for index in order]


def count_batches(counts, batch_size, drop_remainder=False):
    """Return the number of batches of `bucket_order` for buckets of `counts` rows."""
    extra = 0 if drop_remainder else batch_size - 1
    return int(((np.asarray(counts) + extra) // batch_size).sum())


def length_buckets(lengths, boundaries):
    """Return the bucket of each row, ints `(rows,)`.

    A row belongs to the first boundary that its length does not exceed, or to the last.
    """
    return np.searchsorted(boundaries, np.minimum(lengths, boundaries[-1]))


def full_batch(ids, rows, width, batch_size, value):
    """Pad rows of `RaggedIds` to a width with a value, and fill the batch with padding rows.

    Returns:
        A tuple of int32 ids `(batch_size, width)` and a bool mask of the same shape.
    """
    padded, valid = ids.padded(rows, width, value)
    fill = ((0, batch_size - len(rows)), (0, 0))
    return np.pad(padded, fill, constant_values=value), np.pad(valid, fill)


def make_dataset(generate, signature, steps):
    """Create a dataset from a generator function that yields `steps` batches."""
    dataset = tf.data.Dataset.from_generator(generate, output_signature=signature)
    dataset = dataset.apply(tf.data.experimental.assert_cardinality(max(0, steps))).prefetch(4)
    return without_autotuning(dataset)


def length_sorted_batches(texts, batch_size):
    """Group texts of similar length for inference, so that there is little padding.

    Args:
        texts: list of strings or of sequences of ids.
        batch_size: int, the largest number of texts in a batch.

    Yields:
        Integer arrays `(batch,)` of indices of `texts`, each index once. The longest texts come
        first, so that batches that do not fit in memory fail at once.

    Raises:
        ValueError: if `batch_size` is not positive.

    Example:
        >>> [batch.tolist() for batch in length_sorted_batches(["a", "ccc", "bb"], 2)]
        [[1, 2], [0]]
    """
    return _sort_by_length([len(text) for text in texts], batch_size)


def run_by_length(function, lengths, batch_size, on_batch=None):
    """Run a function on batches of items of similar length.

    Args:
        function: takes an integer array `(batch,)` of indices of items, and returns a result for
            each of them.
        lengths: integers `(items,)`.
        batch_size: int, the largest number of items in a batch.
        on_batch: function called with the number of items after each batch, or `None`.

    Returns:
        A list of the results, in the order of the items.

    Raises:
        ValueError: if `batch_size` is not positive.

    Example:
        >>> words = ["a", "ccc", "bb"]
        >>> run_by_length(lambda rows: [words[row].upper() for row in rows], [1, 3, 2], 2)
        ['A', 'CCC', 'BB']
    """
    results = [None] * len(lengths)
    for rows in _sort_by_length(lengths, batch_size):
        for row, result in zip(rows, function(rows), strict=True):
            results[row] = result
        if on_batch is not None:
            on_batch(len(rows))
    return results


def _sort_by_length(lengths, batch_size):
    check_integer("batch_size", batch_size, minimum=1)
    order = np.argsort(-np.asarray(lengths, np.int64), kind="stable")
    return (order[start : start + batch_size] for start in range(0, len(order), batch_size))


def check_boundaries(boundaries):
    """Return increasing lengths as a tuple, or raise `ValueError`."""
    lengths = np.asarray(boundaries)
    integers = lengths.dtype.kind in "iu" and lengths.ndim == 1 and lengths.size > 0
    if not integers or lengths[0] < 1 or np.any(np.diff(lengths) <= 0):
        raise ValueError(f"`boundaries` must be increasing positive ints, got {boundaries!r}.")
    return tuple(lengths.tolist())
