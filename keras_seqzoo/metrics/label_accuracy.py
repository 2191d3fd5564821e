"""Accuracy of the labels of sequences: Keras metrics and a function on lists."""

import operator

import keras
import tensorflow as tf

from keras_seqzoo.metrics.weights import multiply_weights


class _LabelMetric(keras.metrics.Metric):
    """A ratio of counts over all batches so far."""

    def __init__(self, name, **kwargs):
        super().__init__(name=name, **kwargs)
        self.right = self.add_variable((), "zeros", name="right")
        self.counted = self.add_variable((), "zeros", name="counted")

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Add the labels of a batch."""
        mask = getattr(y_pred, "_keras_mask", None)
        y_true, y_pred = tf.convert_to_tensor(y_true), tf.convert_to_tensor(y_pred)
        compatible = y_true.shape.is_compatible_with(y_pred.shape[:2])
        if y_pred.shape.rank not in (2, 3) or not compatible:
            raise ValueError(
                "`y_true` must have the shape (batch, time) and `y_pred` (batch, time) or "
                f"(batch, time, labels), got {y_true.shape} and {y_pred.shape}."
            )
        if y_pred.shape.rank == 3:
            y_pred = tf.argmax(y_pred, -1)
        hits = tf.cast(y_true, tf.int32) == tf.cast(y_pred, tf.int32)
        weights = multiply_weights(tf.cast(y_true >= 0, tf.float32), mask, sample_weight)
        right, counted = self._count(hits, weights)
        self.right.assign_add(tf.reduce_sum(right))
        self.counted.assign_add(tf.reduce_sum(counted))

    def result(self):
        """Return the ratio over all batches so far; 0 without valid labels."""
        return tf.math.divide_no_nan(tf.convert_to_tensor(self.right), self.counted)


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class TokenAccuracy(_LabelMetric):
    """Fraction of steps with a correct label.

        Σ_t w_t [ŷ_t = y_t] / Σ_t w_t

    over the steps t of all batches so far, not a mean over batches. Padding and steps with a
    negative label have weight 0.

    Args:
        name: string.
        **kwargs: arguments of `keras.metrics.Metric`.

    Call arguments:
        y_true: label ids `(batch, time)`.
        y_pred: float scores `(batch, time, labels)`, whose highest is the label, or label ids
            `(batch, time)`.
        sample_weight: float or bool tensor `(batch, time)`, or `(batch,)` for whole sentences, or
            `None` for 1. It is multiplied by the mask that Keras attached to the predictions.

    Example:
    >>> metric = TokenAccuracy()
    >>> metric.update_state([[1, 2, 0]], [[1, 1, 0]], sample_weight=[[1, 1, 0]])
    >>> float(metric.result())
    0.5
    """

    def __init__(self, name="token_accuracy", **kwargs):
        super().__init__(name=name, **kwargs)

    def _count(self, hits, weights):
        return tf.where(hits, weights, 0.0), weights


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class SentenceAccuracy(_LabelMetric):
    """Fraction of sentences with only correct labels.

    All labels with a weight above 0 must be correct. Sentences without such labels are not counted.

    Args:
        name: string.
        **kwargs: arguments of `keras.metrics.Metric`.

    Call arguments:
        y_true: as in `TokenAccuracy`.
        y_pred: as in `TokenAccuracy`.
        sample_weight: as in `TokenAccuracy`, but only whether a weight is above 0 matters.

    Example:
    >>> metric = SentenceAccuracy()
    >>> metric.update_state([[1, 2, 0], [1, 2, 3]], [[1, 2, 7], [1, 2, 7]], [[1, 1, 0], [1, 1, 1]])
    >>> float(metric.result())
    0.5
    """

    def __init__(self, name="sentence_accuracy", **kwargs):
        super().__init__(name=name, **kwargs)

    def _count(self, hits, weights):
        valid = weights > 0
        counted = tf.cast(tf.reduce_any(valid, -1), tf.float32)  # (batch,)
        return counted * tf.cast(tf.reduce_all(hits | ~valid, -1), tf.float32), counted


def tag_accuracy(expected, found):
    """Compute the fraction of words with a correct tag.

    Args:
        expected: list of lists of tags.
        found: list of lists of tags of the same lengths, the predicted tags.

    Returns:
        A float; 0 without words.

    Raises:
        ValueError: if the lengths differ.

    Example:
        >>> tag_accuracy([["DET", "NOUN"], ["VERB"]], [["DET", "VERB"], ["VERB"]])
        0.6666666666666666
    """
    if len(expected) != len(found):
        raise ValueError(
            "`expected` and `found` must have the same number of sentences, "
            f"got {len(expected)} and {len(found)}."
        )
    hits = []
    for number, (truth, guess) in enumerate(zip(expected, found, strict=True), 1):
        if len(truth) != len(guess):
            raise ValueError(
                "`expected` and `found` must have the same number of tags, "
                f"got {len(truth)} and {len(guess)} in sentence {number}."
            )
        hits += map(operator.eq, truth, guess)
    return sum(hits) / len(hits) if hits else 0.0
