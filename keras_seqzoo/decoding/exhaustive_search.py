"""Exhaustive search."""

import math

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.decoding.scores import as_score
from keras_seqzoo.decoding.strategy import DecodingStrategy, Hypotheses
from keras_seqzoo.decoding.token_ids import is_one_of
from keras_seqzoo.tensors import dimension

MAX_HYPOTHESES = 2**20


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class ExhaustiveSearch(DecodingStrategy):
    """Exhaustive search: score every sequence, for small vocabularies and as a reference.

    At step t there are `V^t` unfinished hypotheses per row, so `max_length` must be an int and the
    size of the vocabulary static.

    Args:
        length_penalty: see `BeamSearch`.
        n_best: int, at least 1, the number of hypotheses to return per row.
        **kwargs: `constraints`, `max_source_ratio` and `check_values`, see `DecodingStrategy`.

    Call arguments: See `DecodingStrategy`.

    Returns:
        `Hypotheses` with N = `n_best`.

    Raises:
        ValueError: if an argument is out of its range, `max_length` or the vocabulary is unknown,
            or there are more than 2^20 sequences of `max_length` tokens.

    Example:
    >>> table = tf.math.log([[0.1, 0.6, 0.3], [0.1, 0.2, 0.7], [0.0, 0.0, 1.0]])
    >>> def step(tokens, state):
    ...     return tf.gather(table, tokens), state
    >>> search = ExhaustiveSearch(length_penalty=0.0, n_best=2)
    >>> search(step, (), start_tokens=[0], end_token=2, max_length=3).tokens.numpy().tolist()
    [[[1, 2, 0], [2, 0, 0]]]
    """

    needs_static_length = True

    def __init__(self, length_penalty=1.0, n_best=1, **kwargs):
        super().__init__(**kwargs)
        self.length_penalty = as_score(length_penalty)
        self.n_best = check_integer("n_best", n_best, minimum=1)

    @property
    def max_hypotheses(self):
        """The `n_best` of the search; it has no limit."""
        return self.n_best

    def with_n_best(self, n_best):
        """Return the same search with another `n_best`."""
        return type(self).from_config({**self.get_config(), "n_best": n_best})

    def search(self, step, task):
        """Run the search; see the base class."""
        if not isinstance(task.max_length, int):
            raise ValueError("`max_length` must be an int for an ExhaustiveSearch, got a tensor.")
        if step.alignment(step.start()) is not None:
            raise ValueError(
                "`alignment` must be None for an ExhaustiveSearch, got a function: a model that "
                "copies words, and `alignments=True`, need another search."
            )
        batch, limits = dimension(task.start_tokens, 0), task.limits[:, tf.newaxis]
        state, current = step.start(), task.start_tokens
        live, paths = tf.zeros([batch, 1]), tf.zeros([batch, 1, 0], tf.int32)
        empty = tf.where(limits <= 0, live, -math.inf)
        found = [(paths, tf.zeros_like(live, tf.int32), empty, empty)]
        for time in range(task.max_length):
            log_probabilities, state = step(current, state)
            vocabulary = log_probabilities.shape[1]
            if vocabulary is None or vocabulary**task.max_length > MAX_HYPOTHESES:
                raise ValueError(
                    f"`max_length` must allow at most {MAX_HYPOTHESES} sequences for an "
                    f"ExhaustiveSearch, got {task.max_length} with a vocabulary of {vocabulary}."
                )
            count = vocabulary ** (time + 1)
            every = tf.reshape(log_probabilities, [batch, -1, vocabulary]) + live[:, :, tf.newaxis]
            live = tf.reshape(every, [batch, count])
            tokens = tf.tile(tf.range(vocabulary), [count // vocabulary])
            paths = tf.concat(
                [
                    tf.repeat(paths, vocabulary, axis=1),
                    tf.tile(tokens[tf.newaxis, :, tf.newaxis], [batch, 1, 1]),
                ],
                axis=-1,
            )
            ended = is_one_of(tokens, task.end_tokens)
            here = ended | (limits == time + 1)
            kept = tf.where(here & (limits > time), live, -math.inf)
            scores = self.length_penalty.score(kept, tf.constant(time + 1), task.source_lengths)
            scores = tf.where(tf.math.is_inf(kept), -math.inf, scores)
            found.append((paths, tf.fill([batch, count], time + 1), kept, scores))
            live = tf.where(ended, -math.inf, live)
            current = tf.tile(tokens, [batch])
            state = step.repeat(state, vocabulary)
        return self._best(found, task)

    def _best(self, found, task):
        """Return the best of all hypotheses, a list of `(paths, lengths, log P, scores)`."""
        paths = tf.concat(
            [
                tf.pad(
                    paths,
                    [[0, 0], [0, 0], [0, task.max_length - paths.shape[-1]]],
                    constant_values=task.pad_token,
                )
                for paths, *_ in found
            ],
            axis=1,
        )
        lengths, log_probabilities, scores = (
            tf.concat(parts, axis=1) for parts in list(zip(*found, strict=True))[1:]
        )
        missing = max(self.n_best - scores.shape[1], 0)
        scores = tf.pad(scores, [[0, 0], [0, missing]], constant_values=-math.inf)
        scores, best = tf.math.top_k(scores, self.n_best)
        best = tf.minimum(best, tf.shape(lengths)[1] - 1)
        exists = scores > -math.inf
        tokens, lengths, log_probabilities = (
            tf.gather(tensor, best, batch_dims=1) for tensor in (paths, lengths, log_probabilities)
        )
        return Hypotheses(
            tokens=tf.where(exists[..., tf.newaxis], tokens, task.pad_token),
            lengths=tf.where(exists, lengths, 0),
            log_probabilities=tf.where(exists, log_probabilities, -math.inf),
            scores=scores,
            alignments=None,
        )

    def get_config(self):
        """Return the constructor arguments."""
        return {
            **super().get_config(),
            "length_penalty": keras.saving.serialize_keras_object(self.length_penalty),
            "n_best": self.n_best,
        }
