"""Greedy search."""

import keras
import tensorflow as tf

from keras_seqzoo.decoding.single_path import follow
from keras_seqzoo.decoding.strategy import DecodingStrategy


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class Greedy(DecodingStrategy):
    """Takes the likeliest token at every step, until the end token.

        y_t = argmax_y log P(y | y_1 … y_{t-1}, x)

    One hypothesis per row. The loop stops when every row has ended. The score is the log
    probability itself: with one hypothesis there is nothing to rank, so there is no length
    penalty, and scores compare with those of `BeamSearch(length_penalty=0.0)`. That search with
    `width=1` can still find better: it also weighs ending where going on is likelier.

    Where every token is forbidden the row has no hypothesis: length 0, score `-inf`.

    Args:
        **kwargs: `constraints`, `max_source_ratio` and `check_values`, see `DecodingStrategy`.

    Call arguments: those of `DecodingStrategy`.

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
        """Searches with checked arguments; see the base class."""

        def likeliest(log_probabilities, time):
            return tf.argmax(log_probabilities, axis=-1, output_type=tf.int32)

        return follow(step, task, likeliest)
