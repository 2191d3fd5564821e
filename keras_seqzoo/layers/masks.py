"""Masks: which steps of a sequence are valid and which are padding."""

import keras
import tensorflow as tf


def valid_steps(mask, sequence, name="sequence", argument="mask"):
    """Check the shape of `mask` against the sequence and return it as a bool tensor.

    Args:
        mask: tensor `(batch, time)`, true (or not 0) at valid steps; `None` if all are valid.
        sequence: tensor `(batch, time, ...)`.
        name: string, the name of the sequence in the error.
        argument: string, the name of the mask in the error.

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
            f"`{argument}` must have the shape (batch, time) = {tuple(sequence.shape[:2])} of "
            f"`{name}`, got {tuple(mask.shape)}."
        )
    return tf.cast(mask, tf.bool)


def resolve_mask(layer, sequence, mask):
    """Return the mask of a layer's sequence as a boolean tensor, or None.

    Args:
        layer: the Keras layer, for errors.
        sequence: tensor `(B, T, F)`.
        mask: tensor `(B, T)`, True (or not 0) at valid steps, or None for the mask that Keras
            attached to the sequence, if any.

    Raises:
        ValueError: if the shape of the mask does not fit the sequence.
    """
    # Keras does not pass the attached mask to a call with an initial state.
    if mask is None:
        mask = getattr(sequence, "_keras_mask", None)
    if mask is None:
        return None
    if not hasattr(mask, "dtype"):
        mask = keras.ops.convert_to_tensor(mask)
    need, got = tuple(sequence.shape)[:2], tuple(mask.shape)
    fits = len(got) == 2 and all(
        n is None or g is None or n == g for n, g in zip(need, got, strict=True)
    )
    if not fits:
        raise ValueError(
            f"`mask` of {type(layer).__name__} '{layer.name}' must have the shape "
            f"(batch, time) = {need}, got {got}."
        )
    return keras.ops.cast(mask, "bool")


def check_sequence_shape(shape, name="sequence"):
    """Raise a `ValueError` unless a shape has three dimensions."""
    if len(shape) != 3:
        raise ValueError(
            f"`{name}` must have the shape (batch, time, features), got {tuple(shape)}."
        )
