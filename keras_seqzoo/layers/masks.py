"""Masks: which steps of a sequence are valid and which are padding."""

import tensorflow as tf


def valid_steps(mask, sequence, name="sequence"):
    """Check the shape of `mask` against the sequence and return it as a bool tensor.

    Args:
        mask: tensor `(batch, time)`, true (or not 0) at valid steps; `None` if all are valid.
        sequence: tensor `(batch, time, ...)`.
        name: string, the name of the sequence in the error.

    Returns:
        A bool tensor `(batch, time)`.

    Raises:
        ValueError: if the shapes are not compatible.
    """
    if mask is None:
        return tf.ones(tf.shape(sequence)[:2], tf.bool)
    mask = tf.convert_to_tensor(mask)
    if not mask.shape.is_compatible_with(sequence.shape[:2]):
        raise ValueError(
            f"`mask` must have the shape (batch, time) = {tuple(sequence.shape[:2])} of `{name}`, "
            f"got {tuple(mask.shape)}."
        )
    return tf.cast(mask, tf.bool)


def check_sequence_shape(shape, name="sequence"):
    """Raise a `ValueError` unless a shape has three dimensions."""
    if len(shape) != 3:
        raise ValueError(
            f"`{name}` must have the shape (batch, time, features), got {tuple(shape)}."
        )
