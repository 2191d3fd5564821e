"""Buckets of sequences of similar length, and batches of them."""

import numpy as np
import tensorflow as tf


def without_autotuning(dataset):
    """Turns the tuner of `tf.data` off for a pipeline that has nothing to tune.

    The tuner's thread lets the end of each iteration wait for its next turn: seconds after the
    first epoch, up to a minute after long ones.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)


def bucket_order(buckets, batch_size, shuffle, seed, drop_remainder=False):
    """Orders the batches of an epoch over buckets.

    Args:
        buckets: list of integer arrays, the rows of each bucket.
        batch_size: int.
        shuffle: bool, whether rows within buckets, and then batches, come in random order.
        seed: integer or sequence of them.
        drop_remainder: bool, whether to leave out what is no full batch.

    Returns:
        A list of pairs of the rows of a batch and the number of its bucket.
    """
    generator = np.random.default_rng(seed)
    buckets = [generator.permutation(rows) for rows in buckets] if shuffle else buckets
    batches = [
        (rows[begin : begin + batch_size], bucket)
        for bucket, rows in enumerate(buckets)
        for begin in range(0, len(rows), batch_size)
        if not drop_remainder or begin + batch_size <= len(rows)
    ]
    order = generator.permutation(len(batches)) if shuffle else range(len(batches))
    return [batches[index] for index in order]


def count_batches(buckets, batch_size, drop_remainder=False):
    """Counts the batches that `bucket_order` gives."""
    more = 0 if drop_remainder else batch_size - 1
    return sum((len(rows) + more) // batch_size for rows in buckets)


def bucket_rows(lengths, boundaries):
    """Gives the rows of each boundary: those that it is the first not to be exceeded by.

    Args:
        lengths: integers `(rows,)`. What is longer than the last boundary counts as that long.
        boundaries: list of increasing ints.

    Returns:
        A list of integer arrays.
    """
    bucket = np.searchsorted(boundaries, np.minimum(lengths, boundaries[-1]))
    return [np.flatnonzero(bucket == number) for number in range(len(boundaries))]


def full_batch(ids, rows, width, batch_size, value):
    """Pads rows of ids, and fills the batch up with rows of padding.

    Args:
        ids: `RaggedIds`.
        rows: integers, the rows to take, at most `batch_size`.
        width: int, what rows are padded or cut to.
        batch_size: int.
        value: int, the id at padding.

    Returns:
        A tuple of int32 ids `(batch_size, width)` and a bool mask of that shape.
    """
    found, valid = ids.padded(rows, width, value)
    more = ((0, batch_size - len(rows)), (0, 0))
    return np.pad(found, more, constant_values=value), np.pad(valid, more)


def generated(generate, signature, steps):
    """Makes a dataset of what a generator function gives in so many steps."""
    dataset = tf.data.Dataset.from_generator(generate, output_signature=signature)
    dataset = dataset.apply(tf.data.experimental.assert_cardinality(steps)).prefetch(4)
    return without_autotuning(dataset)


def length_sorted_batches(texts, batch_size):
    """Group texts of similar length for inference, so that little padding is computed.

    Args:
        texts: a list of anything with a length: strings or sequences of ids.
        batch_size: int, the largest number of texts in a batch.

    Yields:
        Integer arrays `(batch,)` of indices into `texts`, the longest texts first, so that what
        does not fit in memory fails at once. Each index comes once: `results[index] = ...` puts
        the outputs back in the order of the inputs.

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
    check_batch_size(batch_size)
    order = np.argsort(-np.asarray(lengths, np.int64), kind="stable")
    return (order[begin : begin + batch_size] for begin in range(0, len(order), batch_size))


def check_boundaries(boundaries):
    """Return increasing lengths as a tuple, or raise `ValueError`."""
    lengths = np.asarray(boundaries)
    integers = lengths.dtype.kind in "iu" and lengths.ndim == 1 and lengths.size > 0
    if not integers or lengths[0] < 1 or np.any(np.diff(lengths) <= 0):
        raise ValueError(f"`boundaries` must be increasing positive ints, got {boundaries!r}.")
    return tuple(lengths.tolist())


def check_batch_size(batch_size):
    """Raise `ValueError` if a batch size is not a positive integer."""
    if not isinstance(batch_size, (int, np.integer)) or batch_size < 1:
        raise ValueError(f"`batch_size` must be a positive integer, got {batch_size!r}.")
