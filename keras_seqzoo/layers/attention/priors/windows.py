"""Values around each step of the memory."""

import tensorflow as tf

from keras_seqzoo.tensors import dimension


def values_around(values, window):
    """Return the values in a window around each step.

    Args:
        values: float tensor `(B, Q, S)`.
        window: int, the number of steps on each side.

    Returns:
        Tensor `(B, Q, S, 2 * window + 1)`, zero beyond both ends.
    """
    steps = dimension(values, 2)
    padded = tf.pad(values, [[0, 0], [0, 0], [window, window]])
    shifted = [padded[..., shift : shift + steps] for shift in range(2 * window + 1)]
    return tf.stack(shifted, axis=-1)
