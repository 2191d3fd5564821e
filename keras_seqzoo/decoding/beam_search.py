"""Beam search."""

import math
import numbers
from typing import NamedTuple

import keras
import tensorflow as tf

from keras_seqzoo.decoding.back_pointers import BackPointers
from keras_seqzoo.decoding.hypotheses import Hypotheses
from keras_seqzoo.decoding.step_function import write
from keras_seqzoo.decoding.strategy import DecodingStrategy, check_integer
from keras_seqzoo.shapes import dimension


class _Pool(NamedTuple):
    """Finished hypotheses, `(B, N)` each, best first; a score of -inf is an empty place."""

    scores: tf.Tensor
    log_probabilities: tf.Tensor
    lengths: tf.Tensor
    beams: tf.Tensor  # the live hypothesis that the end token extended

    def merge(self, other):
        """Returns the best N of both (the own ones first where scores tie), and which."""
        scores, chosen = tf.math.top_k(
            tf.concat([self.scores, other.scores], axis=1), self.scores.shape[1]
        )
        rest = (
            tf.gather(tf.concat(pair, axis=1), chosen, batch_dims=1)
            for pair in zip(self[1:], other[1:], strict=True)
        )
        return _Pool(scores, *rest), chosen


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class BeamSearch(DecodingStrategy):
    """Keeps the `width` likeliest unfinished hypotheses at every step.

    Hypotheses are ranked by their length-normalised log probability,

        score(y) = log P(y | x) / L^alpha,    L = |y|, the end token counted.

    This is the plain power form (Zhang et al., Dive into Deep Learning, section on beam search),
    not ((5 + L) / 6)^alpha of Wu et al. 2016, eq. 14, and there is no coverage penalty.
    `alpha = length_penalty`: 0 ranks by log probability, 1 by the mean over the tokens; above
    that, long hypotheses win.

    Live hypotheses compete among themselves by log probability. At each step the best `2 * width`
    continuations are taken (each live hypothesis has one end, so `width` live ones remain); those
    that end go to a pool of finished hypotheses, where they stay as they are, neither extended
    nor scored again, until `n_best` better ones push them out. At `max_length` what still lives
    is truncated there and competes by its score as it is, with no end token.

    A row is done when no live hypothesis can beat its `n_best`-th finished one: log probability
    can only fall, so a live one of log probability p can reach p / max_length^alpha at most. The
    loop stops when all rows are done. This stop is exact, and a row that is done no longer
    changes, so its result does not depend on the other rows of the batch.

    Args:
        width: Int, at least 1, the number of live hypotheses per row.
        length_penalty: Float, at least 0, alpha.
        n_best: Int, from 1 to `width`, the number of hypotheses to return per row.

    Call arguments:
        step, state, start_tokens, end_token, max_length, pad_token, alignment: See
            `DecodingStrategy`. The state has one row per row of the batch; the search repeats it.

    Returns:
        `Hypotheses` with N = `n_best`.

    Raises:
        ValueError: If an argument is out of its range.

    Example:
    >>> table = tf.math.log([[0.1, 0.6, 0.3], [0.1, 0.2, 0.7], [0.0, 0.0, 1.0]])
    >>> def step(tokens, state):
    ...     return tf.gather(table, tokens), state
    >>> search = BeamSearch(width=2, length_penalty=0.0, n_best=2)
    >>> found = search(step, (), start_tokens=[0], end_token=2, max_length=4)
    >>> found.tokens.numpy().tolist()
    [[[1, 2, 0, 0], [2, 0, 0, 0]]]
    >>> [f"{score:.2f}" for score in tf.exp(found.scores[0]).numpy()]
    ['0.42', '0.30']
    """

    def __init__(self, width=5, length_penalty=1.0, n_best=1):  # noqa: D107
        self.width = check_integer("width", width, minimum=1)
        self.n_best = check_integer("n_best", n_best, minimum=1)
        if self.n_best > self.width:
            raise ValueError(f"`n_best` must be at most `width` ({width}). Received {n_best}.")
        number = isinstance(length_penalty, numbers.Real) and not isinstance(length_penalty, bool)
        if not number or not math.isfinite(length_penalty) or length_penalty < 0:
            raise ValueError(
                f"`length_penalty` must be a number of at least 0. Received {length_penalty!r}."
            )
        self.length_penalty = float(length_penalty)

    def get_config(self):
        """Returns the constructor arguments."""
        return {
            "width": self.width,
            "length_penalty": self.length_penalty,
            "n_best": self.n_best,
        }

    def search(self, step, start_tokens, end_token, max_length, pad_token):
        """Searches with checked arguments; `step` is a `StepFunction`."""
        batch, width = dimension(start_tokens, 0), self.width
        state = step.start(copies=width)
        alignment = step.alignment(state)
        history = BackPointers(
            tokens=tf.zeros([max_length, batch, width], tf.int32),
            parents=tf.zeros([max_length, batch, width], tf.int32),
            alignments=()
            if alignment is None
            else tf.zeros([max_length, batch * width, dimension(alignment, 1)]),
        )
        pool = _Pool(
            scores=tf.fill([batch, self.n_best], -math.inf),
            log_probabilities=tf.fill([batch, self.n_best], -math.inf),
            lengths=tf.zeros([batch, self.n_best], tf.int32),
            beams=tf.zeros([batch, self.n_best], tf.int32),
        )
        # All rows of the beam start alike, so only the first of them lives.
        live = tf.tile([[0.0] + [-math.inf] * (width - 1)], [batch, 1])
        tokens = tf.tile(start_tokens[:, tf.newaxis], [1, width])

        def goes_on(time, tokens, live, pool, done, history, state):
            return (time < max_length) & ~tf.reduce_all(done)

        def advance(time, tokens, live, pool, done, history, state):
            log_probabilities, state = step(tf.reshape(tokens, [batch * width]), state)
            weights = step.alignment(state)
            best, parents, tokens = self._continuations(live, log_probabilities, batch)
            ended = tokens == end_token
            candidates = _Pool(
                self._score(tf.where(ended & ~done[:, tf.newaxis], best, -math.inf), time + 1),
                best,
                tf.fill(tf.shape(parents), time + 1),
                parents,
            )
            pool, _ = pool.merge(candidates)
            live, chosen = tf.math.top_k(tf.where(ended, -math.inf, best), width)
            tokens = tf.gather(tokens, chosen, batch_dims=1)  # (B, W)
            parents = tf.gather(parents, chosen, batch_dims=1)
            history = BackPointers(
                write(history.tokens, time, tokens),
                write(history.parents, time, parents),
                () if weights is None else write(history.alignments, time, weights),
            )
            rows = tf.range(batch)[:, tf.newaxis] * width + parents
            rows = tf.reshape(rows, [batch * width])
            state = [tf.gather(leaf, rows) for leaf in state]
            done |= self._score(live[:, 0], max_length) <= pool.scores[:, -1]
            return time + 1, tokens, live, pool, done, history, state

        steps, _, live, pool, done, history, _ = tf.while_loop(
            goes_on,
            advance,
            (tf.constant(0), tokens, live, pool, tf.zeros([batch], tf.bool), history, state),
        )
        truncated = _Pool(
            self._score(tf.where(done[:, tf.newaxis], -math.inf, live), max_length),
            live,
            tf.fill(tf.shape(live), max_length),
            tf.tile(tf.range(width)[tf.newaxis], [batch, 1]),
        )
        pool, chosen = pool.merge(truncated)
        exists = pool.scores > -math.inf
        lengths = tf.where(exists, pool.lengths, 0)
        finished = chosen < self.n_best
        tokens, alignments = history.trace(
            steps, pool.beams, lengths, finished, end_token, pad_token
        )
        return Hypotheses(
            tokens=tokens,
            lengths=lengths,
            log_probabilities=tf.where(exists, pool.log_probabilities, -math.inf),
            scores=pool.scores,
            alignments=alignments,
        )

    def _continuations(self, live, log_probabilities, batch):
        """Returns the best 2W continuations `(B, 2W)`: log probability, parent and token."""
        vocabulary = dimension(log_probabilities, 1)
        every = tf.reshape(log_probabilities, [batch, self.width, vocabulary])
        every = tf.reshape(every + live[:, :, tf.newaxis], [batch, self.width * vocabulary])
        # A vocabulary of one token has only W continuations.
        each = min(2, vocabulary) if isinstance(vocabulary, int) else tf.minimum(2, vocabulary)
        best, index = tf.math.top_k(every, each * self.width)
        return best, index // vocabulary, index % vocabulary

    def _score(self, log_probabilities, length):
        """Returns log p / L^alpha; `-inf` stays so whatever the power."""
        power = tf.cast(tf.maximum(length, 1), tf.float32) ** self.length_penalty
        return tf.where(
            tf.math.is_inf(log_probabilities), log_probabilities, log_probabilities / power
        )
