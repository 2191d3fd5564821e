"""Rows of ids of given lengths: truncation and padding at either end."""

import tensorflow as tf

SIDES = ("right", "left")


def refuse_packing(name, tokenizer, reason):
    """Raises `ValueError` where a tokenizer adds tokens or has a length of its own."""
    if tokenizer.add_bos or tokenizer.add_eos or tokenizer.sequence_length is not None:
        raise ValueError(
            f"`{name}` must have no `add_bos`, `add_eos` and `sequence_length`: {reason}."
        )


def keep(ids, lengths, side):
    """Keeps so many ids of each row.

    Args:
        ids: ragged ids of shape `(rows, None)`.
        lengths: integers `(rows,)`, none above the length of its row.
        side: the end at which ids go, `"right"` or `"left"`.

    Returns:
        Ragged ids of shape `(rows, None)`.
    """
    begin = ids.row_starts()
    if side == "left":
        begin += ids.row_lengths() - lengths
    places = tf.ragged.range(begin, begin + lengths)
    return places.with_values(tf.gather(ids.values, places.values))


def shares_of_pairs(first, second, room):
    """Shares out room between pairs of rows: the longer gives way first, then both alike.

    Args:
        first: integers `(rows,)`, lengths.
        second: integers `(rows,)`, lengths.
        room: int, the most that both may take together.

    Returns:
        A pair of integers `(rows,)`: what each may keep. Odd room is the first's.
    """
    kept = tf.minimum(first, tf.maximum(room - second, (room + 1) // 2))
    return kept, tf.minimum(second, room - kept)


def masked_rows(ids, value, length=None):
    """Makes ragged ids `(rows, None)` dense.

    Args:
        ids: ragged ids.
        value: the id at padding.
        length: int, or `None` for the longest row, and at least 1.

    Returns:
        A tuple of ids `(rows, length)` and a mask of the same shape, which is false at padding.
    """
    lengths = ids.row_lengths()
    shape = [None, length]
    if length is None:
        length = longest(lengths)
        shape = tf.stack([tf.cast(-1, length.dtype), length])
    return ids.to_tensor(value, shape=shape), tf.sequence_mask(lengths, length)


def longest(lengths):
    """Gives the greatest of lengths `(rows,)`, and 1 where all are 0 or there is none."""
    return tf.maximum(tf.reduce_max(lengths), 1)


def pad(ids, length, value, side):
    """Makes ragged ids dense, of shape `(rows, length)`; what is too long is cut at the right."""
    if side == "left":
        missing = tf.maximum(length - ids.row_lengths(), 0)
        padding = tf.ragged.range(missing)
        padding = padding.with_values(tf.fill(tf.shape(padding.values), tf.cast(value, ids.dtype)))
        ids = tf.concat([padding, ids], axis=1)
    return ids.to_tensor(value, shape=[None, length])
