"""Greedy search."""

import keras
import tensorflow as tf

from keras_seqzoo.decoding.hypotheses import Hypotheses
from keras_seqzoo.decoding.step_function import write
from keras_seqzoo.decoding.strategy import DecodingStrategy
from keras_seqzoo.shapes import dimension


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class Greedy(DecodingStrategy):
    """Takes the likeliest token at every step, until the end token.

        y_t = argmax_y log P(y | y_1 … y_{t-1}, x)

    One hypothesis per row. The loop stops when every row has ended. The score is the log
    probability itself: with one hypothesis there is nothing to rank, so there is no length
    penalty, and scores compare with those of `BeamSearch(length_penalty=0.0)`. That search with
    `width=1` can still find better: it also weighs ending where going on is likelier.

    Where every token is forbidden the row has no hypothesis: length 0, score `-inf`.

    Call arguments:
        step, state, start_tokens, end_token, max_length, pad_token, alignment: See
            `DecodingStrategy`.

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

    def search(self, step, start_tokens, end_token, max_length, pad_token):
        """Searches with checked arguments; `step` is a `StepFunction`."""
        batch = dimension(start_tokens, 0)
        state = step.start()
        alignment = step.alignment(state)
        weights = ()
        if alignment is not None:
            weights = tf.zeros([max_length, batch, dimension(alignment, 1)])

        def goes_on(time, current, log_probability, lengths, done, tokens, weights, state):
            return (time < max_length) & ~tf.reduce_all(done)

        def advance(time, current, log_probability, lengths, done, tokens, weights, state):
            log_probabilities, state = step(current, state)
            if alignment is not None:
                weights = write(weights, time, step.alignment(state))
            current = tf.argmax(log_probabilities, axis=-1, output_type=tf.int32)
            gain = tf.reduce_max(log_probabilities, axis=-1)
            log_probability = tf.where(done, log_probability, log_probability + gain)
            lengths = tf.where(done, lengths, time + 1)
            tokens = write(tokens, time, tf.where(done, pad_token, current))
            done = done | (current == end_token) | tf.math.is_inf(log_probability)
            return time + 1, current, log_probability, lengths, done, tokens, weights, state

        _, _, log_probability, lengths, _, tokens, weights, _ = tf.while_loop(
            goes_on,
            advance,
            (
                tf.constant(0),
                start_tokens,
                tf.zeros([batch]),
                tf.zeros([batch], tf.int32),
                tf.zeros([batch], tf.bool),
                tf.fill([max_length, batch], pad_token),
                weights,
                state,
            ),
        )
        lengths = tf.where(tf.math.is_inf(log_probability), 0, lengths)
        valid = tf.range(max_length)[:, tf.newaxis] < lengths  # (L, B)
        tokens = tf.transpose(tf.where(valid, tokens, pad_token))  # (B, L)
        if alignment is not None:
            weights = tf.where(valid[:, :, tf.newaxis], weights, 0.0)
            alignment = tf.transpose(weights, [1, 0, 2])[:, tf.newaxis]  # (B, 1, L, S)
        log_probability = log_probability[:, tf.newaxis]
        return Hypotheses(
            tokens=tokens[:, tf.newaxis],
            lengths=lengths[:, tf.newaxis],
            log_probabilities=log_probability,
            scores=log_probability,
            alignments=alignment,
        )
