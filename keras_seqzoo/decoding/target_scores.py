"""Log probabilities and attention weights of given sequences."""

import tensorflow as tf

from keras_seqzoo.decoding.step_function import StepFunction, check_step
from keras_seqzoo.tensors import dimension
from keras_seqzoo.time_arrays import stacked, write_array


def score_targets(step, state, start_tokens, targets, lengths, alignment=None):
    """Compute the log probabilities of sequences under a step function.

        log P(y | x) = Σ_t log P(y_t | y_1 … y_{t-1}, x)

    Args:
        step: a step function, see `DecodingStrategy`.
        state: its start state, first dimension B.
        start_tokens: int32 tensor `(B,)`.
        targets: int32 tensor `(B, L)`, including the end tokens.
        lengths: int32 tensor `(B,)`, the number of tokens, including the end token.
        alignment: `None`, or a function that reads the attention weights `(rows, S)` of the last
            step from the state, see `DecodingStrategy`.

    Returns:
        float32 tensor `(B, L)`, the log probability of each token, 0 at padding. With `alignment`
        a tuple of it and the attention weights of each token, float32 `(B, L, S)`, 0 at padding.

    Raises:
        ValueError: if `targets` is not a matrix with the batch of `start_tokens`.

    Example:
    >>> table = tf.math.log([[0.1, 0.6, 0.3], [0.1, 0.2, 0.7], [0.0, 0.0, 1.0]])
    >>> def step(tokens, state):
    ...     return tf.gather(table, tokens), state
    >>> tf.exp(score_targets(step, (), [0], [[1, 2]], [2])).numpy()
    array([[0.6, 0.7]], dtype=float32)
    """
    start_tokens, targets, lengths = (
        tf.cast(tf.convert_to_tensor(x), tf.int32) for x in (start_tokens, targets, lengths)
    )
    if targets.shape.rank != 2 or not targets.shape[:1].is_compatible_with(start_tokens.shape):
        raise ValueError(
            f"`targets` must have shape (batch, length) with the batch of `start_tokens`, "
            f"{start_tokens.shape}, got shape {targets.shape}."
        )
    step = StepFunction(check_step(step), state, start_tokens, end_tokens=(), alignment=alignment)
    state = step.start()
    length = dimension(targets, 1)
    steps = tf.transpose(targets)  # (L, B)
    scores = write_array([dimension(start_tokens, 0)], tf.float32, length)
    weights = ()
    if alignment is not None:
        first = step.alignment(state)
        shape = [dimension(first, axis) for axis in (0, 1)]  # (B, S)
        weights = write_array(shape, tf.float32, length)

    def advance(time, tokens, scores, weights, state):
        log_probabilities, state = step(tokens, state)
        tokens = tf.ensure_shape(steps[time], start_tokens.shape)
        own = tf.gather(log_probabilities, tokens, batch_dims=1)
        valid = time < lengths
        scores = scores.write(time, tf.where(valid, own, 0.0))
        if alignment is not None:
            attention = step.alignment(state)
            weights = weights.write(time, tf.where(valid[:, tf.newaxis], attention, 0.0))
        return time + 1, tokens, scores, weights, state

    _, _, scores, weights, _ = tf.while_loop(
        lambda time, *_: time < length,
        advance,
        (tf.constant(0), start_tokens, scores, weights, state),
        maximum_iterations=length,
    )
    scores = tf.transpose(stacked(scores, length))
    if alignment is None:
        return scores
    return scores, tf.transpose(stacked(weights, length), [1, 0, 2])
