"""Search that continues given tokens."""

import tensorflow as tf


def force_prefix(step, state, prefix, mask):
    """Make a step function whose first tokens are given, row by row.

    At position t, a row whose `mask` is `True` there gives all probability to `prefix[t]` (log
    probability 0, the given tokens being certain); the other rows, and all after the prefix, are
    free.

    Args:
        step: a step function, see `DecodingStrategy`.
        state: its start state.
        prefix: int32 tensor `(batch, length)`, the tokens after the start token.
        mask: boolean tensor `(batch, length)`, `True` at given tokens, from the left.

    Returns:
        A tuple `(step, state)` for a strategy.

    Raises:
        ValueError: if `prefix` has not two dimensions, or `mask` another shape.

    Example:
    >>> uniform = lambda tokens, state: (tf.math.log(tf.fill([1, 4], 0.25)), state)
    >>> step, state = force_prefix(uniform, {}, tf.constant([[2]]), tf.constant([[True]]))
    >>> step(tf.constant([0]), state)[0].numpy()
    array([[-inf, -inf,   0., -inf]], dtype=float32)
    """
    prefix = tf.cast(tf.convert_to_tensor(prefix), tf.int32)
    mask = tf.convert_to_tensor(mask)
    if prefix.shape.rank != 2:
        raise ValueError(f"`prefix` must have shape (batch, length), got {tuple(prefix.shape)}.")
    if not mask.shape.is_compatible_with(prefix.shape):
        raise ValueError(
            f"`mask` must have the shape of `prefix`, {tuple(prefix.shape)}, "
            f"got {tuple(mask.shape)}."
        )
    counts = tf.reduce_sum(tf.cast(mask, tf.int32), axis=-1)  # (B,)
    state = {
        "inner": state,
        "prefix": prefix,
        "count": counts,
        "position": tf.zeros_like(counts),
    }

    def forced_step(tokens, state, *memory):
        log_probabilities, inner = step(tokens, state["inner"], *memory)
        position = state["position"]
        given = position < state["count"]
        length = tf.shape(state["prefix"])[1]
        padded = tf.pad(state["prefix"], [[0, 0], [0, 1]])  # so that an empty prefix can be read
        token = tf.gather(padded, tf.minimum(position, length), axis=1, batch_dims=1)  # (rows,)
        only = tf.one_hot(token, tf.shape(log_probabilities)[-1], 0.0, -float("inf"))
        log_probabilities = tf.where(given[:, tf.newaxis], only, log_probabilities)
        return log_probabilities, {**state, "inner": inner, "position": position + 1}

    return forced_step, state
