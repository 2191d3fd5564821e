"""Sizes, dtypes, initial values and parts of tensors."""

import tensorflow as tf


def dimension(tensor, axis):
    """Return the size of an axis: an int if it is static, otherwise a scalar tensor."""
    size = tensor.shape[axis] if tensor.shape.rank is not None else None
    return tf.shape(tensor)[axis] if size is None else size


def loop_dtype(dtype):
    """Return the dtype for loops, softmaxes and sums: float64 for float64, otherwise float32."""
    return tf.float64 if dtype == tf.float64 else tf.float32


def by_token(tensor):
    """Return a tensor `(..., D)` as `(N, D)`."""
    size = dimension(tensor, -1)
    if isinstance(size, int) and size > 0:
        return tf.reshape(tensor, [-1, size])
    return tf.reshape(tensor, [tf.reduce_prod(tf.shape(tensor)[:-1]), size])


def add_at_tokens(table, tokens, values):
    """Add values to a table at some tokens of the vocabulary.

    Args:
        table: float tensor `(..., V)`.
        tokens: int32 tensor `(..., tokens)`, from 0 to V - 1.
        values: float tensor `(..., tokens)`, of the dtype of the table.

    Returns:
        A tensor `(..., V)`.
    """
    size = dimension(table, -1)
    rows = tf.size(table) // size
    tokens = tf.reshape(tf.cast(tokens, tf.int32), [rows, dimension(tokens, -1)])
    places = tokens + size * tf.range(rows)[:, tf.newaxis]
    flat = tf.tensor_scatter_nd_add(
        tf.reshape(table, [-1]), tf.reshape(places, [-1, 1]), tf.reshape(values, [-1])
    )
    return tf.ensure_shape(tf.reshape(flat, tf.shape(table)), table.shape)


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
