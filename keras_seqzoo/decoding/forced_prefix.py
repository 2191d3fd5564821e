"""Forced prefixes: searches that continue given tokens."""

import tensorflow as tf

from keras_seqzoo.decoding.token_ids import as_token_ids


def force_prefix(step, state, prefix, mask, check_values=False):
    """Create a step function whose first tokens are forced, row by row.

    At position t, rows where `mask` is `True` have probability 1 for `prefix[t]`; other rows, and
    all rows after the prefix, are unchanged.

    Args:
        step: a step function, see `DecodingStrategy`.
        state: its start state.
        prefix: int32 tensor `(batch, length)`, the tokens after the start token.
        mask: boolean tensor `(batch, length)`, `True` at prefix tokens, from the left.
        check_values: bool, whether a graph checks at run time that the prefix is in the vocabulary.

    Returns:
        A tuple `(step, state)` for a strategy.

    Raises:
        ValueError: if `prefix` is not a matrix of integers, `mask` has another shape, or, at the
            first step, a token is known to be outside the vocabulary.

    Example:
    >>> uniform = lambda tokens, state: (tf.math.log(tf.fill([1, 4], 0.25)), state)
    >>> step, state = force_prefix(uniform, {}, tf.constant([[2]]), tf.constant([[True]]))
    >>> step(tf.constant([0]), state)[0].numpy()
    array([[-inf, -inf,   0., -inf]], dtype=float32)
    """
    prefix = as_token_ids("prefix", prefix)
    mask = tf.cast(mask, tf.bool)
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
            _check_in_vocabulary(known, vocabulary)
        position = state["position"]
        forced = position < state["count"]
        length = tf.shape(state["prefix"])[1]
        # Padded, so that an empty prefix can be gathered from.
        padded = tf.pad(state["prefix"], [[0, 0], [0, 1]])
        token = tf.gather(padded, tf.minimum(position, length), axis=1, batch_dims=1)  # (rows,)
        if check_values:
            inside = (token >= 0) & (token < tf.shape(log_probabilities)[-1])
            need = ["`prefix` must be in the vocabulary, got:", token]
            with tf.control_dependencies(
                [tf.debugging.Assert(tf.reduce_all(inside | ~forced), need)]
            ):
                token = tf.identity(token)
        only = tf.one_hot(token, tf.shape(log_probabilities)[-1], 0.0, -float("inf"))
        log_probabilities = tf.where(forced[:, tf.newaxis], only, log_probabilities)
        return log_probabilities, {**state, "inner": inner, "position": position + 1}

    return forced_step, state


def _check_in_vocabulary(tokens, vocabulary):
    """Raise `ValueError` for tokens, an array, outside the vocabulary."""
    outside = tokens[(tokens < 0) | (tokens >= vocabulary)]
    if outside.size:
        raise ValueError(
            f"`prefix` must be in the vocabulary, which has {vocabulary} tokens, got {outside[0]}."
        )
