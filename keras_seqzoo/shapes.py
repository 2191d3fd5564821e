"""Sizes of tensors whose shape may be known in part."""

import tensorflow as tf


def dimension(tensor, axis):
    """Gives the size of an axis: an int where it is known, else a scalar tensor."""
    size = tensor.shape[axis] if tensor.shape.rank is not None else None
    return tf.shape(tensor)[axis] if size is None else size
