"""Batches of an epoch with rows of similar length, from one window of rows at a time."""

import numpy as np

from keras_seqzoo.data.batching.id_cache import as_windows, concatenate
from keras_seqzoo.data.batching.length_buckets import bucket_order


def bucket_counts(rows, buckets, find_buckets):
    """Count the rows of each bucket.

    Args:
        rows: rows in memory or an `IdCache`.
        buckets: int, the number of buckets.
        find_buckets: function from rows to ints `(rows,)`: the bucket of each row, or `buckets` for
            rows that are left out. It may use only the lengths of the rows.

    Returns:
        Ints `(buckets + 1,)`; the last is the number of rows that are left out.
    """
    counts = np.zeros(buckets + 1, np.int64)
    for part in as_windows(rows).shapes():
        counts += np.bincount(find_buckets(part), minlength=buckets + 1)
    return counts


def window_batches(
    rows, buckets, find_buckets, batch_size, shuffle, seed, drop_remainder=False, start=0
):
    """Yield the batches of an epoch over windows of rows.

    In each window, the rows are shuffled within each bucket, and then the batches. Rows that do not
    fill a batch wait for the next window, so an epoch has as many batches as with a single window.

    Args:
        rows: rows in memory or an `IdCache`.
        buckets: int, see `bucket_counts`.
        find_buckets: function, see `bucket_counts`.
        batch_size: int.
        shuffle: bool, whether to shuffle; otherwise each window keeps the order of the data within
            a bucket, and the first bucket comes first.
        seed: int or sequence of ints.
        drop_remainder: bool, whether to leave out batches that are not full.
        start: int, the number of batches to leave out at the beginning.

    Yields:
        Tuples: the rows of a window, the indices of the rows of a batch, and the bucket.
    """
    generator = np.random.default_rng(seed)
    waiting = None
    for window, is_last in as_windows(rows).windows(seed if shuffle else None):
        if waiting is not None:
            window = concatenate([waiting, window])
        bucket = find_buckets(window)
        members = [np.flatnonzero(bucket == number) for number in range(buckets)]
        only_full = drop_remainder or not is_last
        order = bucket_order(members, batch_size, shuffle, generator, only_full)
        for indices, number in order[start:]:
            yield window, indices, number
        start = max(0, start - len(order))
        if not is_last:
            left = bucket < buckets
            for indices, _ in order:
                left[indices] = False
            waiting = window.take(left)
