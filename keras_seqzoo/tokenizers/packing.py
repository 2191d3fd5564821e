"""Truncation and padding of ragged ids, at either end."""

import tensorflow as tf

SIDES = ("right", "left")


def check_no_packing(name, tokenizer, reason):
    """Raise `ValueError` if a tokenizer adds tokens or has a `sequence_length`."""
    if tokenizer.add_bos or tokenizer.add_eos or tokenizer.sequence_length is not None:
        got = {name: getattr(tokenizer, name) for name in ("add_bos", "add_eos", "sequence_length")}
        raise ValueError(
            f"`{name}` must have no `add_bos`, `add_eos` and `sequence_length`, because {reason}, "
            f"got {got}."
        )


def truncate(ids, lengths, side):
    """Truncate each row to a length.

    Args:
        ids: ragged ids `(rows, None)`.
        lengths: integers `(rows,)`, at most the length of each row.
        side: `"right"` or `"left"`, the end at which ids are removed.

    Returns:
        Ragged ids `(rows, None)`.
    """
    begin = ids.row_starts()
    if side == "left":
        begin += ids.row_lengths() - lengths
    places = tf.ragged.range(begin, begin + lengths)
    return places.with_values(tf.gather(ids.values, places.values))


def split_room(first, second, room):
    """Divide room between pairs of rows: the longer one is truncated first, then both equally.

    Args:
        first: integers `(rows,)`, lengths.
        second: integers `(rows,)`, lengths.
        room: int, the maximum length of both together.

    Returns:
        A pair of integers `(rows,)`, the new lengths. The first gets the odd place.
    """
    kept = tf.minimum(first, tf.maximum(room - second, (room + 1) // 2))
    return kept, tf.minimum(second, room - kept)


def pad_with_mask(ids, value, length=None):
    """Pad ragged ids `(rows, None)` on the right.

    Args:
        ids: ragged ids.
        value: the id at padding.
        length: int, or `None` for the longest row, at least 1.

    Returns:
        A tuple of ids `(rows, length)` and a mask of the same shape, `False` at padding.
    """
    lengths = ids.row_lengths()
    shape = [None, length]
    if length is None:
        length = longest_row(lengths)
        shape = tf.stack([tf.cast(-1, length.dtype), length])
    return ids.to_tensor(value, shape=shape), tf.sequence_mask(lengths, length)


def longest_row(lengths):
    """Return the maximum of lengths `(rows,)`, at least 1."""
    return tf.maximum(tf.reduce_max(lengths), 1)


def pad(ids, length, value, side):
    """Pad ragged ids to `(rows, length)` at a side; longer rows are truncated on the right."""
    if side == "left":
        missing = tf.maximum(length - ids.row_lengths(), 0)
        padding = tf.ragged.range(missing)
        padding = padding.with_values(tf.fill(tf.shape(padding.values), tf.cast(value, ids.dtype)))
        ids = tf.concat([padding, ids], axis=1)
    return ids.to_tensor(value, shape=[None, length])


def token_weights(mask, sample_weight=None):
    """Return the weights of tokens: the mask, times the weight of their row if there is one.

    Args:
        mask: bool tensor `(rows, length)`, `False` at padding.
        sample_weight: floats `(rows,)`, or `None`.

    Returns:
        `mask`, or float32 `(rows, length)`.
    """
    if sample_weight is None:
        return mask
    weights = tf.cast(sample_weight, tf.float32)[:, tf.newaxis]  # (rows, 1)
    return tf.cast(mask, tf.float32) * weights
