"""Greedy search, and the loop for strategies that never revise a token."""

import keras
import tensorflow as tf

from keras_seqzoo.decoding.rows import repeat_rows, split_rows, write_at
from keras_seqzoo.decoding.strategy import DecodingStrategy, Hypotheses
from keras_seqzoo.decoding.token_ids import is_one_of
from keras_seqzoo.tensors import dimension


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class Greedy(DecodingStrategy):
    """Greedy search: the most likely token at every step, until the end token.

        y_t = argmax_y log P(y | y_1 … y_{t-1}, x)

    The search finds one hypothesis per row and stops when all have ended. Its score is its log
    probability, without a length penalty, as with `BeamSearch(length_penalty=0.0)`. A beam search
    of `width=1` can find a better hypothesis: it also considers ending where another token is more
    likely.

    A row in which every token is forbidden has no hypothesis: length 0, score `-inf`.

    Args:
        **kwargs: `constraints`, `max_source_ratio` and `check_values`, see `DecodingStrategy`.

    Call arguments: See `DecodingStrategy`.

    Returns:
        `Hypotheses` with N = 1.

    Example:
    >>> table = tf.math.log([[0.1, 0.6, 0.3], [0.1, 0.2, 0.7], [0.0, 0.0, 1.0]])
    >>> def step(tokens, state):
    ...     return tf.gather(table, tokens), state
    >>> found = Greedy()(step, (), start_tokens=[0], end_token=2, max_length=4)
    >>> found.tokens.numpy().tolist(), found.lengths.numpy().tolist()
    ([[[1, 2, 0, 0]]], [[2]])
    """

    def search(self, step, task):
        """Run the search; see the base class."""

        def choose(log_probabilities, time):
            return tf.argmax(log_probabilities, axis=-1, output_type=tf.int32)

        return decode_single_path(step, task, choose)


def decode_single_path(step, task, choose, copies=1):
    """Extend each hypothesis by one chosen token per step, until all have ended.

    Args:
        step: `StepFunction`.
        task: `SearchTask`.
        choose: Function `(log_probabilities (rows, V), time) -> tokens (rows,)`.
        copies: Int, the number of hypotheses per row of the batch.

    Returns:
        Unsorted `Hypotheses` with N = `copies`, scored by their log probabilities. A hypothesis
        whose tokens were all forbidden has length 0 and score `-inf`.
    """
    rows = dimension(task.start_tokens, 0) * copies
    state = step.start(copies)
    start_tokens, limits = (repeat_rows(x, copies) for x in (task.start_tokens, task.limits))
    alignment = step.alignment(state)
    weights = ()
    if alignment is not None:
        weights = tf.zeros([task.max_length, rows, dimension(alignment, 1)])

    def is_unfinished(time, current, log_probability, lengths, done, tokens, weights, state):
        return (time < task.max_length) & ~tf.reduce_all(done)

    def advance(time, current, log_probability, lengths, done, tokens, weights, state):
        log_probabilities, state = step(current, state)
        if alignment is not None:
            weights = write_at(weights, time, step.alignment(state))
        current = choose(log_probabilities, time)
        gain = tf.gather(log_probabilities, current, batch_dims=1)
        log_probability = tf.where(done, log_probability, log_probability + gain)
        lengths = tf.where(done, lengths, time + 1)
        tokens = write_at(tokens, time, tf.where(done, task.pad_token, current))
        done |= is_one_of(current, task.end_tokens) | tf.math.is_inf(log_probability)
        done |= time + 1 >= limits
        return time + 1, current, log_probability, lengths, done, tokens, weights, state

    _, _, log_probability, lengths, _, tokens, weights, _ = tf.while_loop(
        is_unfinished,
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
        alignment = split_rows(tf.transpose(weights, [1, 0, 2]), copies)  # (B, N, L, S)
    log_probability = split_rows(log_probability, copies)
    return Hypotheses(
        tokens=split_rows(tokens, copies),
        lengths=split_rows(lengths, copies),
        log_probabilities=log_probability,
        scores=log_probability,
        alignments=alignment,
    )
