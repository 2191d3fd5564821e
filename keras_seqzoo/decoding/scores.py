"""Scores that rank hypotheses of different lengths."""

import abc
import math

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_number


class HypothesisScore(abc.ABC):
    """Base class of scores that depend on the log probability and the length.

    Subclasses implement `score`, which must increase with the log probability, and `bound`, and are
    registered with `keras.saving.register_keras_serializable`. Lengths include the end token.
    """

    @abc.abstractmethod
    def score(self, log_probabilities, lengths, source_lengths):
        """Compute the scores of hypotheses.

        Args:
            log_probabilities: float32 tensor `(B, N)`.
            lengths: int32 tensor, `()` or `(B, 1)`, at least 1.
            source_lengths: int32 tensor `(B,)` or `None`.

        Returns:
            float32 tensor `(B, N)`.
        """

    @abc.abstractmethod
    def bound(self, log_probabilities, lengths, limits, source_lengths):
        """Compute the highest scores that hypotheses can still reach.

        A search stops once its results are at least as good: tighter bounds stop it sooner.

        Args:
            log_probabilities: float32 tensor `(B, N)`, at most 0.
            lengths: int32 scalar tensor, the number of tokens so far.
            limits: int32 tensor `(B, 1)`, the maximum tokens of each row.
            source_lengths: int32 tensor `(B,)` or `None`.
        """

    def add_coverage(self, scores, penalties, lengths):
        """Add the coverage penalties of hypotheses to their scores, here as a plain sum.

        Args:
            scores: float32 tensor `(B, N)`.
            penalties: float32 tensor `(B, N)` of β · cp, at most 0. The added term must also be at
                most 0, so that `bound` still holds.
            lengths: int32 tensor, `()` or `(B, 1)`, at least 1.

        Returns:
            float32 tensor `(B, N)`.
        """
        return scores + penalties

    def get_config(self):
        """Return the constructor arguments."""
        return {}

    @classmethod
    def from_config(cls, config):
        """Create a score from the constructor arguments."""
        return cls(**config)


class _DividedByLength(HypothesisScore):
    """`log P / penalty(L)`, with a penalty that increases with the length."""

    def __init__(self, alpha=1.0):
        self.alpha = check_number("alpha", alpha, minimum=0.0)

    def score(self, log_probabilities, lengths, source_lengths):
        """Compute the scores; see the base class."""
        return log_probabilities / self._divisor(lengths)

    def bound(self, log_probabilities, lengths, limits, source_lengths):
        """Return the score at the limit: log P never rises, and the penalty is highest there."""
        return self.score(log_probabilities, limits, source_lengths)

    def get_config(self):
        """Return the constructor arguments."""
        return {"alpha": self.alpha}

    def _divisor(self, lengths):
        return self._penalty(tf.cast(tf.maximum(lengths, 1), tf.float32))


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class PowerLengthPenalty(_DividedByLength):
    """`log P(y | x) / L^alpha`: log P for alpha = 0, its mean over the tokens for alpha = 1.

    As in Zhang et al., Dive into Deep Learning, section on beam search. A coverage penalty is
    divided as well, `(log P + β · cp) / L^alpha`: both are sums, so β weighs them alike for any
    alpha and length.

    Args:
        alpha: float, at least 0; higher values prefer longer hypotheses.

    Raises:
        ValueError: if `alpha` is not a number of at least 0.
    """

    def add_coverage(self, scores, penalties, lengths):
        """Add the coverage penalties, divided like log P; see the base class."""
        return scores + penalties / self._divisor(lengths)

    def _penalty(self, lengths):
        return lengths**self.alpha


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class WuLengthPenalty(_DividedByLength):
    """`log P(y | x) / ((5 + L) / 6)^alpha` (Wu et al. 2016, equation 14).

    As in the paper, a coverage penalty is added to this and is not divided.

    Args:
        alpha: float, at least 0; higher values prefer longer hypotheses. Wu et al. use 0.2.

    Raises:
        ValueError: if `alpha` is not a number of at least 0.
    """

    def _penalty(self, lengths):
        return ((5.0 + lengths) / 6.0) ** self.alpha


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class WordReward(HypothesisScore):
    """`log P(y | x) + reward · L`: a constant reward per token.

    He et al. 2016, Improved neural machine translation with SMT features.

    Args:
        reward: float, in nats per token; negative values prefer shorter hypotheses.

    Raises:
        ValueError: if `reward` is not a finite number.
    """

    def __init__(self, reward):
        self.reward = check_number("reward", reward)

    def score(self, log_probabilities, lengths, source_lengths):
        """Compute the scores; see the base class."""
        return log_probabilities + self.reward * tf.cast(lengths, tf.float32)

    def bound(self, log_probabilities, lengths, limits, source_lengths):
        """Return the score at the limit, or after one more token if the reward is negative."""
        best = limits if self.reward >= 0 else tf.minimum(lengths + 1, limits)
        return self.score(log_probabilities, best, source_lengths)

    def get_config(self):
        """Return the constructor arguments."""
        return {"reward": self.reward}


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class LengthPrior(HypothesisScore):
    """`log P(y | x) + log P(L | |x|)`, with a length distribution estimated from pairs.

    Neubig 2017, Neural machine translation and sequence-to-sequence models, on search:
    `P(L | |x|)` is estimated by counts, here with additive smoothing over all lengths up to the
    longest; source lengths without pairs use the counts of all pairs.

    Args:
        log_probabilities: table `(S + 1, L + 1)` of log P(L | S), with a row for every source
            length from 0; see `from_lengths`. Longer sources and targets use the last row and
            column.

    Raises:
        ValueError: if the table is not two-dimensional, or has a number above 0.

    Example:
    >>> prior = LengthPrior.from_lengths([2, 2, 3], [3, 4, 4], smoothing=0.0)
    >>> tf.exp(prior.score(tf.zeros([1, 1]), tf.constant(3), tf.constant([2]))).numpy()
    array([[0.5]], dtype=float32)
    """

    def __init__(self, log_probabilities):
        table = np.asarray(log_probabilities, np.float32)
        if table.ndim != 2 or 0 in table.shape or not (table <= 0).all():
            raise ValueError(
                "`log_probabilities` must be a table (source lengths, target lengths) of numbers "
                f"of at most 0, got one of shape {table.shape}."
            )
        self.log_probabilities = table

    @classmethod
    def from_lengths(cls, source_lengths, target_lengths, smoothing=0.1):
        """Estimate the prior.

        Args:
            source_lengths: sequence of ints, |x| of each pair in tokens, including the end token.
            target_lengths: sequence of ints, L of each pair, including the end token.
            smoothing: float, at least 0, added to the count of each length.

        Returns:
            A `LengthPrior`.

        Raises:
            ValueError: if there are no pairs, or the sequences differ in length.
        """
        source, target = (np.asarray(x, np.int64) for x in (source_lengths, target_lengths))
        if source.shape != target.shape or source.ndim != 1 or not source.size:
            raise ValueError(
                "`source_lengths` and `target_lengths` must have the same number of lengths, at "
                f"least one, got shapes {source.shape} and {target.shape}."
            )
        if source.min() < 0 or target.min() < 0:
            lowest = min(source.min(), target.min())
            raise ValueError(
                f"`source_lengths` and `target_lengths` must be at least 0, got {lowest}."
            )
        smoothing = check_number("smoothing", smoothing, minimum=0.0)
        counts = np.zeros((source.max() + 1, target.max() + 1))
        np.add.at(counts, (source, target), 1)
        counts[counts.sum(1) == 0] = counts.sum(0)
        counts[:, 1:] += smoothing
        with np.errstate(divide="ignore"):
            return cls(np.log(counts / counts.sum(1, keepdims=True)))

    def score(self, log_probabilities, lengths, source_lengths):
        """Compute the scores; see the base class."""
        rows = self._rows(source_lengths)  # (B, L + 1)
        lengths = tf.minimum(lengths, tf.shape(rows)[1] - 1)
        lengths = tf.broadcast_to(lengths, [tf.shape(rows)[0], 1])
        return log_probabilities + tf.gather(rows, lengths, batch_dims=1)

    def bound(self, log_probabilities, lengths, limits, source_lengths):
        """Return the score at the most likely of the lengths that are still possible."""
        rows = self._rows(source_lengths)
        last = tf.shape(rows)[1] - 1
        column = tf.range(last + 1)
        possible = (column > tf.minimum(lengths, last - 1)) & (column <= tf.minimum(limits, last))
        best = tf.reduce_max(tf.where(possible, rows, -math.inf), axis=1, keepdims=True)
        return log_probabilities + best

    def _rows(self, source_lengths):
        if source_lengths is None:
            raise ValueError("`source_lengths` must be given for a `LengthPrior`, got None.")
        table = tf.constant(self.log_probabilities)
        return tf.gather(table, tf.minimum(source_lengths, tf.shape(table)[0] - 1))

    def get_config(self):
        """Return the constructor arguments."""
        return {"log_probabilities": self.log_probabilities.tolist()}


def as_score(length_penalty):
    """Return a score; a number is the alpha of `PowerLengthPenalty`, a dict is deserialized."""
    if isinstance(length_penalty, dict):
        length_penalty = keras.saving.deserialize_keras_object(length_penalty)
    if isinstance(length_penalty, HypothesisScore):
        return length_penalty
    return PowerLengthPenalty(check_number("length_penalty", length_penalty, minimum=0.0))
