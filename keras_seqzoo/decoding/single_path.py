"""The loop of strategies that choose one token a row and never go back."""

import tensorflow as tf

from keras_seqzoo.decoding.end_tokens import is_any_of
from keras_seqzoo.decoding.hypotheses import Hypotheses
from keras_seqzoo.decoding.step_function import repeat_rows, write
from keras_seqzoo.tensors import dimension


def follow(step, task, choose, copies=1):
    """Extends each hypothesis by one chosen token a step, until all have ended.

    Args:
        step: `StepFunction`.
        task: `SearchTask`.
        choose: function `(log_probabilities (rows, V), time) -> tokens (rows,)`.
        copies: int, the hypotheses of each row of the batch.

    Returns:
        `Hypotheses` with N = `copies`, in the order they were made in; the scores are the log
        probabilities. One whose tokens were all forbidden has length 0 and score `-inf`.
    """
    rows = dimension(task.start_tokens, 0) * copies
    state = step.start(copies)
    start_tokens, limits = (repeat_rows(x, copies) for x in (task.start_tokens, task.limits))
    alignment = step.alignment(state)
    weights = ()
    if alignment is not None:
        weights = tf.zeros([task.max_length, rows, dimension(alignment, 1)])

    def goes_on(time, current, log_probability, lengths, done, tokens, weights, state):
        return (time < task.max_length) & ~tf.reduce_all(done)

    def advance(time, current, log_probability, lengths, done, tokens, weights, state):
        log_probabilities, state = step(current, state)
        if alignment is not None:
            weights = write(weights, time, step.alignment(state))
        current = choose(log_probabilities, time)
        gain = tf.gather(log_probabilities, current, batch_dims=1)
        log_probability = tf.where(done, log_probability, log_probability + gain)
        lengths = tf.where(done, lengths, time + 1)
        tokens = write(tokens, time, tf.where(done, task.pad_token, current))
        done |= is_any_of(current, task.end_tokens) | tf.math.is_inf(log_probability)
        done |= time + 1 >= limits
        return time + 1, current, log_probability, lengths, done, tokens, weights, state

    _, _, log_probability, lengths, _, tokens, weights, _ = tf.while_loop(
        goes_on,
        advance,
        (
            tf.constant(0),
            start_tokens,
            tf.zeros([rows]),
            tf.zeros([rows], tf.int32),
            limits <= 0,
            tf.fill([task.max_length, rows], task.pad_token),
            weights,
            state,
        ),
    )
    lengths = tf.where(tf.math.is_inf(log_probability), 0, lengths)
    valid = tf.range(task.max_length)[:, tf.newaxis] < lengths  # (L, rows)
    tokens = tf.transpose(tf.where(valid, tokens, task.pad_token))  # (rows, L)
    if alignment is not None:
        weights = tf.where(valid[:, :, tf.newaxis], weights, 0.0)
        alignment = _by_row(tf.transpose(weights, [1, 0, 2]), copies)  # (B, N, L, S)
    log_probability = _by_row(log_probability, copies)
    return Hypotheses(
        tokens=_by_row(tokens, copies),
        lengths=_by_row(lengths, copies),
        log_probabilities=log_probability,
        scores=log_probability,
        alignments=alignment,
    )


def _by_row(tensor, copies):
    """Splits `(B * N, ...)` to `(B, N, ...)`."""
    if copies == 1:
        return tensor[:, tf.newaxis]
    shape = tf.concat([[dimension(tensor, 0) // copies, copies], tf.shape(tensor)[1:]], axis=0)
    static = [None if tensor.shape[0] is None else tensor.shape[0] // copies, copies]
    return tf.ensure_shape(tf.reshape(tensor, shape), static + tensor.shape[1:].as_list())
