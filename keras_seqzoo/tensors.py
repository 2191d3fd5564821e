"""Sizes and dtypes of tensors."""

import tensorflow as tf


def dimension(tensor, axis):
    """Gives the size of an axis: an int where it is known, else a scalar tensor."""
    size = tensor.shape[axis] if tensor.shape.rank is not None else None
    return tf.shape(tensor)[axis] if size is None else size


def loop_dtype(dtype):
    """Gives the dtype of loops over time, softmaxes and sums: float64 stays, else it is float32."""
    return tf.float64 if dtype == tf.float64 else tf.float32
