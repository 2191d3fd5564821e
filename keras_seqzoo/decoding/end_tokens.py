"""Ids of tokens as arguments: those that finish a hypothesis, and any others."""

import functools
import operator

import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_integer


def check_end_tokens(end_token, name="end_token"):
    """Make of `end_token` a tuple of ids, each an int or a scalar int32 tensor.

    Args:
        end_token: int, a list of ints, or an array or a tensor of integers, a scalar or `(ends,)`
            of known shape.
        name: string, what the argument is called.

    Raises:
        ValueError: if there is none, or one is no id.
    """
    if tf.is_tensor(end_token):
        if not end_token.dtype.is_integer or not end_token.shape.is_fully_defined():
            raise ValueError(
                f"`{name}` must be integers of known shape, got a tensor of "
                f"{end_token.dtype.name} {end_token.shape}."
            )
        ends = tf.unstack(tf.reshape(tf.cast(end_token, tf.int32), [-1]))
    else:
        given = end_token.tolist() if isinstance(end_token, np.ndarray) else end_token
        if given is None:
            given = []
        given = [given] if _is_one(given) else list(given)
        ends = dict.fromkeys(check_integer(name, end, minimum=0) for end in given)
    if not ends:
        raise ValueError(f"`{name}` must be at least one id, got {end_token!r}.")
    return tuple(ends)


def is_any_of(tokens, ends):
    """Tell which of `tokens`, of any shape, are among the ids `ends`: bool of the same shape."""
    return functools.reduce(operator.or_, (tf.equal(tokens, end) for end in ends))


def as_ids(name, ids):
    """Turn integers into an int32 tensor, or raise a ValueError that names the argument."""
    ids = tf.convert_to_tensor(ids)
    if not ids.dtype.is_integer and 0 not in ids.shape:  # of an empty list TensorFlow makes floats
        raise ValueError(f"`{name}` must be integers, got {ids.dtype.name}.")
    return tf.cast(ids, tf.int32)


def _is_one(end_token):
    return not hasattr(end_token, "__iter__") or isinstance(end_token, str)
