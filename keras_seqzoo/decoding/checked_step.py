"""Checks of what a step function returns."""

import tensorflow as tf

# Rounding puts probabilities of 1 a little above.
HIGHEST = 0.1


def check_step(step, check_values=False):
    """Make a step function that refuses what is no distribution of the next token.

    Shapes are checked as far as they are known, values in an eager call.

    Args:
        step: a step function, see `DecodingStrategy`.
        check_values: bool, whether a graph checks, as it runs, what is not known before.

    Returns:
        A step function of the same arguments, with float32 log probabilities.
    """

    def checked(tokens, state, *memory):
        returned = step(tokens, state, *memory)
        if not isinstance(returned, (tuple, list)) or len(returned) != 2:
            got = f"a tensor {returned.shape}" if tf.is_tensor(returned) else repr(returned)
            raise ValueError(f"`step` must return `(log_probabilities, state)`, got {got}.")
        log_probabilities, state = returned
        log_probabilities = tf.cast(log_probabilities, tf.float32)
        shape, rows = log_probabilities.shape, tokens.shape[:1]
        if shape.rank not in (None, 2) or not shape[:1].is_compatible_with(rows):
            raise ValueError(
                "`step` must return log probabilities of shape (rows, vocabulary) for tokens of "
                f"shape (rows,), {tokens.shape}, got shape {shape}."
            )
        if tf.executing_eagerly():
            _refuse(log_probabilities)
        elif check_values:
            log_probabilities = _assert(log_probabilities, tokens)
        return log_probabilities, state

    return checked


def _refuse(log_probabilities):
    if not tf.reduce_all(log_probabilities <= HIGHEST):  # NaN neither
        values = log_probabilities.numpy()
        got = "NaN" if (values != values).any() else f"{values.max():g}"
        raise ValueError(
            "`step` must return log probabilities, which are at most 0 (of logits, "
            f"`tf.nn.log_softmax`), got {got}."
        )


def _assert(log_probabilities, tokens):
    shape = tf.shape(log_probabilities)
    rows = tf.debugging.Assert(
        shape[0] == tf.shape(tokens)[0],
        ["`step` must return log probabilities of shape (rows, vocabulary), got:", shape]
        + ["for so many rows:", tf.shape(tokens)[0]],
    )
    values = tf.debugging.Assert(
        tf.reduce_all(log_probabilities <= HIGHEST),
        ["`step` must return log probabilities, which are at most 0 and no NaN, got:"]
        + [log_probabilities],
    )
    with tf.control_dependencies([rows, values]):
        return tf.identity(log_probabilities)
