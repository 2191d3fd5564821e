"""What hypotheses of different lengths are ranked by."""

import abc
import math

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_number


class HypothesisScore(abc.ABC):
    """Ranks hypotheses by their log probability and their length.

    A new score implements `score` and `bound`, rises with the log probability, and is registered
    with `keras.saving.register_keras_serializable`. Lengths count the end token.
    """

    @abc.abstractmethod
    def score(self, log_probabilities, lengths, source_lengths):
        """Scores hypotheses.

        Args:
            log_probabilities: float32 tensor `(B, N)`.
            lengths: int32 tensor, `()` or `(B, 1)`, at least 1.
            source_lengths: int32 tensor `(B,)`, or `None` if the search was given none.

        Returns:
            float32 tensor `(B, N)`.
        """

    @abc.abstractmethod
    def bound(self, log_probabilities, lengths, limits, source_lengths):
        """Gives the highest score that hypotheses can still reach when they go on.

        A search stops once this is no better than what it has, so the tighter it is, the sooner.

        Args:
            log_probabilities: float32 tensor `(B, N)`, at most 0.
            lengths: int32 scalar tensor, the tokens so far.
            limits: int32 tensor `(B, 1)`, the most tokens of each row.
            source_lengths: int32 tensor `(B,)` or `None`.
        """

    def get_config(self):
        """Returns the constructor arguments."""
        return {}

    @classmethod
    def from_config(cls, config):
        """Makes a score from the constructor arguments."""
        return cls(**config)


class _DividedByLength(HypothesisScore):
    """`log P / penalty(L)`, with a penalty that grows with the length."""

    def __init__(self, alpha=1.0):
        self.alpha = check_number("alpha", alpha, minimum=0.0)

    def score(self, log_probabilities, lengths, source_lengths):
        """Scores hypotheses; see the base class."""
        return log_probabilities / self._penalty(tf.cast(tf.maximum(lengths, 1), tf.float32))

    def bound(self, log_probabilities, lengths, limits, source_lengths):
        """Gives the score at the limit: log P can only fall, and is divided by most there."""
        return self.score(log_probabilities, limits, source_lengths)

    def get_config(self):
        """Returns the constructor arguments."""
        return {"alpha": self.alpha}


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class PowerLengthPenalty(_DividedByLength):
    """`log P(y | x) / L^alpha`: 0 is the log probability, 1 its mean over the tokens.

    As in Zhang et al., Dive into Deep Learning, section on beam search.

    Args:
        alpha: float, at least 0; long hypotheses win as it grows.

    Raises:
        ValueError: if `alpha` is no number of at least 0.
    """

    def _penalty(self, lengths):
        return lengths**self.alpha


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class WuLengthPenalty(_DividedByLength):
    """`log P(y | x) / ((5 + L) / 6)^alpha` (Wu et al. 2016, equation 14).

    Args:
        alpha: float, at least 0; long hypotheses win as it grows. Wu et al. use 0.2.

    Raises:
        ValueError: if `alpha` is no number of at least 0.
    """

    def _penalty(self, lengths):
        return ((5.0 + lengths) / 6.0) ** self.alpha


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class WordReward(HypothesisScore):
    """`log P(y | x) + reward · L`: each token costs so much less.

    He et al. 2016, Improved neural machine translation with SMT features.

    Args:
        reward: float, in nats a token; below 0 it makes short hypotheses win.

    Raises:
        ValueError: if `reward` is no finite number.
    """

    def __init__(self, reward):
        self.reward = check_number("reward", reward)

    def score(self, log_probabilities, lengths, source_lengths):
        """Scores hypotheses; see the base class."""
        return log_probabilities + self.reward * tf.cast(lengths, tf.float32)

    def bound(self, log_probabilities, lengths, limits, source_lengths):
        """Gives the score at the limit, or one token from here if tokens cost."""
        best = limits if self.reward >= 0 else tf.minimum(lengths + 1, limits)
        return self.score(log_probabilities, best, source_lengths)

    def get_config(self):
        """Returns the constructor arguments."""
        return {"reward": self.reward}


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class LengthPrior(HypothesisScore):
    """`log P(y | x) + log P(L | |x|)`, with the lengths of translations learned from pairs.

    Neubig 2017, Neural machine translation and sequence-to-sequence models, on search:
    `P(L | |x|)` is estimated by counting, here with add-`smoothing` over all lengths up to the
    longest seen; a source length that was never seen takes the counts of all pairs.

    Args:
        log_probabilities: table `(S + 1, L + 1)` of log P(L | S), rows by source length, a row
            for every length up to the longest; see `from_lengths`. Longer sources and targets
            take the last row and column.

    Raises:
        ValueError: if the table has not two dimensions, or holds a number above 0.

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
        """Estimates the prior.

        Args:
            source_lengths: sequence of ints, |x| of each pair in tokens, the end token counted.
            target_lengths: sequence of ints, L of each pair, the end token counted.
            smoothing: float, at least 0, added to the count of each length.

        Returns:
            A `LengthPrior`.

        Raises:
            ValueError: if there are no pairs, or not as many lengths of both sides.
        """
        source, target = (np.asarray(x, np.int64) for x in (source_lengths, target_lengths))
        if source.shape != target.shape or source.ndim != 1 or not source.size:
            raise ValueError(
                "`source_lengths` and `target_lengths` must have the same number of lengths, at "
                f"least one, got shapes {source.shape} and {target.shape}."
            )
        if source.min() < 0 or target.min() < 0:
            raise ValueError("`source_lengths` and `target_lengths` must be at least 0.")
        smoothing = check_number("smoothing", smoothing, minimum=0.0)
        counts = np.zeros((source.max() + 1, target.max() + 1))
        np.add.at(counts, (source, target), 1)
        counts[counts.sum(1) == 0] = counts.sum(0)
        counts[:, 1:] += smoothing
        with np.errstate(divide="ignore"):
            return cls(np.log(counts / counts.sum(1, keepdims=True)))

    def score(self, log_probabilities, lengths, source_lengths):
        """Scores hypotheses; see the base class."""
        rows = self._rows(source_lengths)  # (B, L + 1)
        lengths = tf.minimum(lengths, tf.shape(rows)[1] - 1)
        lengths = tf.broadcast_to(lengths, [tf.shape(rows)[0], 1])
        return log_probabilities + tf.gather(rows, lengths, batch_dims=1)

    def bound(self, log_probabilities, lengths, limits, source_lengths):
        """Gives the score at the likeliest of the lengths that are still to come."""
        rows = self._rows(source_lengths)
        last = tf.shape(rows)[1] - 1
        column = tf.range(last + 1)
        to_come = (column > tf.minimum(lengths, last - 1)) & (column <= tf.minimum(limits, last))
        best = tf.reduce_max(tf.where(to_come, rows, -math.inf), axis=1, keepdims=True)
        return log_probabilities + best

    def _rows(self, source_lengths):
        if source_lengths is None:
            raise ValueError("`source_lengths` is needed by a `LengthPrior`, got None.")
        table = tf.constant(self.log_probabilities)
        return tf.gather(table, tf.minimum(source_lengths, tf.shape(table)[0] - 1))

    def get_config(self):
        """Returns the constructor arguments."""
        return {"log_probabilities": self.log_probabilities.tolist()}


def as_score(length_penalty):
    """Makes a score of a number, the alpha of `PowerLengthPenalty`, or of its configuration."""
    if isinstance(length_penalty, dict):
        length_penalty = keras.saving.deserialize_keras_object(length_penalty)
    if isinstance(length_penalty, HypothesisScore):
        return length_penalty
    return PowerLengthPenalty(check_number("length_penalty", length_penalty, minimum=0.0))
