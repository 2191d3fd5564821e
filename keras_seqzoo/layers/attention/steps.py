"""The loop over the steps of an attention whose weights depend on earlier ones."""

import tensorflow as tf

from keras_seqzoo.tensors import dimension, loop_dtype
from keras_seqzoo.time_arrays import (
    at_least_one,
    padded,
    read_array,
    stacked,
    write_array,
)


def keep_at_padding(valid, new, old):
    """Return a state with the tensors of `new` in valid rows and of `old` in the others.

    Args:
        valid: bool tensor `(B,)`.
        new: nest of tensors `(B, ...)`.
        old: nest of the same structure and shapes.
    """

    def keep(new, old):
        shape = [-1] + [1] * (new.shape.rank - 1)
        return tf.where(tf.reshape(valid, shape), new, old)

    return tf.nest.map_structure(keep, new, old)


def attend_in_steps(attend, query, steps, query_mask, state):
    """Run an attention layer over queries, one after the other.

    Args:
        attend: function from a query `(B, 1, depth)` and a state `(B, 1, ...)` to the weights
            `(B, 1, S)` and the next state.
        query: tensor `(B, T, depth)`.
        steps: int or scalar tensor, S.
        query_mask: bool tensor `(B, T)`, true at valid steps, or `None`.
        state: nest of tensors `(B, ...)`, the state before the first step.

    Returns:
        A tuple of the weights `(B, T, S)`, zero at padding, and the state after the last step.
    """
    queries = tf.transpose(query, (1, 0, 2))  # (T, B, depth)
    length = dimension(queries, 0)
    queries = read_array(queries)
    valid = None if query_mask is None else padded(tf.transpose(query_mask))  # (T, B)
    weights = write_array([dimension(query, 0), steps], loop_dtype(query.dtype), length)

    def body(time, state, weights):
        query = queries.read(time)[:, tf.newaxis]
        own = tf.nest.map_structure(lambda tensor: tensor[:, tf.newaxis], state)
        attended, new = attend(query, own)
        attended, new = tf.nest.map_structure(lambda tensor: tensor[:, 0], (attended, new))
        if valid is not None:
            new = keep_at_padding(valid[time], new, state)
            attended = tf.where(valid[time][:, tf.newaxis], attended, tf.zeros_like(attended))
        return time + 1, new, weights.write(time, attended)

    _, state, weights = tf.while_loop(
        lambda time, *_: time < length,
        body,
        (tf.constant(0), state, weights),
        maximum_iterations=at_least_one(length),
    )
    return tf.transpose(stacked(weights, length), (1, 0, 2)), state
