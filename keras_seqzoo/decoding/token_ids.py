"""Token ids as arguments of a search."""

import functools
import operator

import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_integer


def check_end_tokens(end_token, name="end_token"):
    """Convert end tokens to a tuple of ids, each an int or a scalar int32 tensor.

    Args:
        end_token: Int, list of ints, or integer array or tensor of known shape `()` or `(ends,)`.
        name: String, the name of the argument.

    Raises:
        ValueError: If there is no id, or one is not an integer of at least 0.
    """
    if tf.is_tensor(end_token):
        if not end_token.dtype.is_integer or not end_token.shape.is_fully_defined():
            raise ValueError(
                f"`{name}` must be integers of known shape, got a tensor of "
                f"{end_token.dtype.name} {end_token.shape}."
            )
        ends = tf.unstack(tf.reshape(tf.cast(end_token, tf.int32), [-1]))
    else:
        ids = end_token.tolist() if isinstance(end_token, np.ndarray) else end_token
        if ids is None:
            ids = []
        ids = list(ids) if hasattr(ids, "__iter__") and not isinstance(ids, str) else [ids]
        ends = dict.fromkeys(check_integer(name, end, minimum=0) for end in ids)
    if not ends:
        raise ValueError(f"`{name}` must be at least one id, got {end_token!r}.")
    return tuple(ends)


def is_one_of(tokens, ids):
    """Return which of `tokens` (any shape) are among `ids`: bool of the same shape."""
    return functools.reduce(operator.or_, (tf.equal(tokens, id) for id in ids))


def as_token_ids(name, ids):
    """Convert integers to an int32 tensor; raise `ValueError` for other dtypes."""
    ids = tf.convert_to_tensor(ids)
    if not ids.dtype.is_integer and 0 not in ids.shape:  # TensorFlow reads an empty list as floats
        raise ValueError(f"`{name}` must be integers, got {ids.dtype.name}.")
    return tf.cast(ids, tf.int32)
