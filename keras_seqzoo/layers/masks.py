"""Masks: which steps of a sequence are valid and which are padding."""

import tensorflow as tf


def valid_steps(mask, sequence, name="sequence"):
    """Give `mask` as a bool tensor whose shape is checked against the sequence it belongs to.

    Args:
        mask: tensor `(batch, time)`, true (or not 0) at valid steps; `None` makes all valid.
        sequence: tensor `(batch, time, ...)`.
        name: what the error calls the sequence.

    Returns:
        A bool tensor `(batch, time)`.

    Raises:
        ValueError: if the shapes cannot agree.
    """
    if mask is None:
        return tf.ones(tf.shape(sequence)[:2], tf.bool)
    mask = tf.convert_to_tensor(mask)
    if not mask.shape.is_compatible_with(sequence.shape[:2]):
        raise ValueError(
            f"`mask` needs the shape (batch, time) = {tuple(sequence.shape[:2])} of "
            f"`{name}`, but has the shape {tuple(mask.shape)}"
        )
    return tf.cast(mask, tf.bool)
