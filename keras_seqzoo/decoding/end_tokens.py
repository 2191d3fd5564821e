"""Ids of tokens as arguments: those that finish a hypothesis, and any others."""

import functools
import operator

import tensorflow as tf

from keras_seqzoo.checks import check_integer


def check_end_tokens(end_token):
    """Make of `end_token` a tuple of ids, each an int or a scalar int32 tensor.

    Args:
        end_token: int, a list or an array of ints, or an integer tensor, a scalar or `(ends,)` of
            known shape.

    Raises:
        ValueError: if there is none, or one is no id.
    """
    if tf.is_tensor(end_token):
        if not end_token.dtype.is_integer or not end_token.shape.is_fully_defined():
            raise ValueError(
                "`end_token` must be integers of known shape, got a tensor of "
                f"{end_token.dtype.name} {end_token.shape}."
            )
        ends = tf.unstack(tf.reshape(tf.cast(end_token, tf.int32), [-1]))
    else:
        ends = [end_token] if _is_one(end_token) else list(end_token)
        ends = dict.fromkeys(check_integer("end_token", end, minimum=0) for end in ends)
    if not ends:
        raise ValueError("`end_token` must be at least one id, got none.")
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
