"""The batches of an epoch, of rows of similar length, a window of rows at a time."""

import numpy as np

from keras_seqzoo.data.batching.id_cache import as_windows, concatenate
from keras_seqzoo.data.batching.length_buckets import bucket_order


def bucket_counts(rows, buckets, find_buckets):
    """Count the rows of each bucket.

    Args:
        rows: rows in memory or an `IdCache`.
        buckets: int, the number of buckets.
        find_buckets: function from rows, of which it may use the lengths alone, to ints `(rows,)`:
            the bucket of each, or `buckets` for those that are left out.

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

    The rows of a window are shuffled within each bucket, and then its batches. Rows that do not
    fill a batch wait for the next window, so that an epoch has as many batches as of one window.

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
