"""Sizes and dtypes of tensors."""

import tensorflow as tf


def dimension(tensor, axis):
    """Return the size of an axis: an int if it is static, otherwise a scalar tensor."""
    size = tensor.shape[axis] if tensor.shape.rank is not None else None
    return tf.shape(tensor)[axis] if size is None else size


def loop_dtype(dtype):
    """Return the dtype for loops, softmaxes and sums: float64 for float64, otherwise float32."""
    return tf.float64 if dtype == tf.float64 else tf.float32
