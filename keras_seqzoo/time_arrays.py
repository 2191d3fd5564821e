"""TensorArrays over the time steps of a loop, of which there may be none.

XLA compiles the body of a loop, with its read of an element, even if the loop never runs; and
TensorFlow cannot stack an empty TensorArray if the batch size is unknown. So each array has at
least one element. Without steps it is zeros, and the loop ignores it.
"""

import tensorflow as tf

from keras_seqzoo.tensors import dimension


def at_least_one(length):
    """Return a number of steps, int or scalar tensor, or 1 if it is 0."""
    return max(length, 1) if isinstance(length, int) else tf.maximum(length, 1)


def padded(tensor, axis=0):
    """Return a tensor unchanged if its time axis has steps, else with one step of zeros."""
    length = dimension(tensor, axis)
    if isinstance(length, int) and length:
        return tensor
    more = [[0, 0] for _ in tensor.shape]
    more[axis] = [0, at_least_one(length) - length]
    result = tf.pad(tensor, more)  # no copy if it adds nothing
    shape = tensor.shape.as_list()
    shape[axis] = 1 if isinstance(length, int) else None
    return tf.ensure_shape(result, shape)


def read_array(tensor):
    """Return a TensorArray of the steps of `(T, ...)`, to read from."""
    tensor = padded(tensor)
    return tf.TensorArray(
        tensor.dtype, size=dimension(tensor, 0), element_shape=tensor.shape[1:]
    ).unstack(tensor)


def write_array(shape, dtype, length):
    """Return a TensorArray to write steps to.

    Args:
        shape: list of ints and scalar tensors, the shape of a step.
        dtype: dtype of the steps.
        length: int or scalar tensor, the number of steps.
    """
    known = [size if isinstance(size, int) else None for size in shape]
    array = tf.TensorArray(dtype, size=at_least_one(length), element_shape=known)
    if isinstance(length, int) and length:
        return array
    return array.write(0, tf.zeros(shape, dtype))


def stacked(array, length):
    """Return the steps written to a TensorArray, `(length, ...)`."""
    steps = array.stack()
    return steps if isinstance(length, int) and length else steps[:length]
