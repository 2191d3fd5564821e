"""Sizes, dtypes, initial values and rows of tensors."""

import tensorflow as tf


def dimension(tensor, axis):
    """Return the size of an axis: an int if it is static, otherwise a scalar tensor."""
    size = tensor.shape[axis] if tensor.shape.rank is not None else None
    return tf.shape(tensor)[axis] if size is None else size


def loop_dtype(dtype):
    """Return the dtype for loops, softmaxes and sums: float64 for float64, otherwise float32."""
    return tf.float64 if dtype == tf.float64 else tf.float32


def gather_rows(variable, ids):
    """Return rows of a Keras variable, `(*ids.shape, ...)`, and read these rows alone.

    `tf.gather` reads all of the variable first: it copies it where an optimizer has updated rows.
    """
    return tf.gather(variable.value, ids)


def drawn_in_float32(initializer):
    """Return an initializer that draws bfloat16 values in float32 and casts them.

    TensorFlow has no QR decomposition in bfloat16, which the orthogonal initializer needs.
    """

    def draw(shape, dtype=None):
        if dtype == "bfloat16":
            return tf.cast(initializer(shape, dtype="float32"), dtype)
        return initializer(shape, dtype=dtype)

    return draw
