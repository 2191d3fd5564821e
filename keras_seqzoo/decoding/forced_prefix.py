"""Search that continues given tokens."""

import tensorflow as tf

from keras_seqzoo.decoding.end_tokens import as_ids


def force_prefix(step, state, prefix, mask, check_values=False):
    """Make a step function whose first tokens are given, row by row.

    At position t, a row whose `mask` is `True` there gives all probability to `prefix[t]` (log
    probability 0, the given tokens being certain); the other rows, and all after the prefix, are
    free.

    Args:
        step: a step function, see `DecodingStrategy`.
        state: its start state.
        prefix: int32 tensor `(batch, length)`, the tokens after the start token.
        mask: boolean tensor `(batch, length)`, `True` at given tokens, from the left.
        check_values: bool, whether a graph checks, as it runs, that tokens which it does not know
            before are in the vocabulary.

    Returns:
        A tuple `(step, state)` for a strategy.

    Raises:
        ValueError: if `prefix` are no integers, has not two dimensions, `mask` another shape, or,
            at the first step, a given token is known to be outside of the vocabulary.

    Example:
    >>> uniform = lambda tokens, state: (tf.math.log(tf.fill([1, 4], 0.25)), state)
    >>> step, state = force_prefix(uniform, {}, tf.constant([[2]]), tf.constant([[True]]))
    >>> step(tf.constant([0]), state)[0].numpy()
    array([[-inf, -inf,   0., -inf]], dtype=float32)
    """
    prefix = as_ids("prefix", prefix)
    mask = tf.convert_to_tensor(mask)
    if prefix.shape.rank != 2:
        raise ValueError(f"`prefix` must have shape (batch, length), got {tuple(prefix.shape)}.")
    if not mask.shape.is_compatible_with(prefix.shape):
        raise ValueError(
            f"`mask` must have the shape of `prefix`, {tuple(prefix.shape)}, "
            f"got {tuple(mask.shape)}."
        )
    known, places = tf.get_static_value(prefix), tf.get_static_value(mask)
    known = None if known is None or places is None else known[places]
    counts = tf.reduce_sum(tf.cast(mask, tf.int32), axis=-1)  # (B,)
    state = {
        "inner": state,
        "prefix": prefix,
        "count": counts,
        "position": tf.zeros_like(counts),
    }

    def forced_step(tokens, state, *memory):
        log_probabilities, inner = step(tokens, state["inner"], *memory)
        vocabulary = log_probabilities.shape[-1]
        if known is not None and vocabulary is not None:
            _refuse_outside(known, vocabulary)
        position = state["position"]
        given = position < state["count"]
        length = tf.shape(state["prefix"])[1]
        padded = tf.pad(state["prefix"], [[0, 0], [0, 1]])  # so that an empty prefix can be read
        token = tf.gather(padded, tf.minimum(position, length), axis=1, batch_dims=1)  # (rows,)
        if check_values:
            inside = (token >= 0) & (token < tf.shape(log_probabilities)[-1])
            need = ["`prefix` must be in the vocabulary, got:", token]
            with tf.control_dependencies(
                [tf.debugging.Assert(tf.reduce_all(inside | ~given), need)]
            ):
                token = tf.identity(token)
        only = tf.one_hot(token, tf.shape(log_probabilities)[-1], 0.0, -float("inf"))
        log_probabilities = tf.where(given[:, tf.newaxis], only, log_probabilities)
        return log_probabilities, {**state, "inner": inner, "position": position + 1}

    return forced_step, state


def _refuse_outside(tokens, vocabulary):
    """Refuse given tokens, an array, that are outside of the vocabulary."""
    outside = tokens[(tokens < 0) | (tokens >= vocabulary)]
    if outside.size:
        raise ValueError(
            f"`prefix` must be in the vocabulary, which has {vocabulary} tokens, got {outside[0]}."
        )
