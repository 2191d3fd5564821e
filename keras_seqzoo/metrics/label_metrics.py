"""How many labels of sequences are right, as Keras metrics."""

import keras
import tensorflow as tf


class _LabelMetric(keras.metrics.Metric):
    """A share of what has been counted over all batches so far."""

    def __init__(self, name, **kwargs):
        super().__init__(name=name, **kwargs)
        self.right = self.add_variable((), "zeros", name="right")
        self.counted = self.add_variable((), "zeros", name="counted")

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Add the labels of a batch."""
        mask = getattr(y_pred, "_keras_mask", None)
        y_true, y_pred = tf.convert_to_tensor(y_true), tf.convert_to_tensor(y_pred)
        fits = y_true.shape.is_compatible_with(y_pred.shape[:2])
        if y_pred.shape.rank not in (2, 3) or not fits:
            raise ValueError(
                f"{type(self).__name__} needs `y_true` (batch, time) and `y_pred` (batch, time) or "
                f"(batch, time, labels), got the shapes {y_true.shape} and {y_pred.shape}."
            )
        if y_pred.shape.rank == 3:
            y_pred = tf.argmax(y_pred, -1)
        hits = tf.cast(y_true, tf.int32) == tf.cast(y_pred, tf.int32)
        weights = tf.cast(y_true >= 0, tf.float32)
        for given in (mask, sample_weight):
            if given is not None:
                given = tf.cast(given, tf.float32)
                weights *= given[:, None] if given.shape.rank == 1 else given
        right, counted = self._count(hits, weights)
        self.right.assign_add(tf.reduce_sum(right))
        self.counted.assign_add(tf.reduce_sum(counted))

    def result(self):
        """Give the share over all batches so far; 0 where nothing was counted."""
        return tf.math.divide_no_nan(tf.convert_to_tensor(self.right), self.counted)


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class TokenAccuracy(_LabelMetric):
    """The share of places whose label is right.

        Σ_t w_t [ŷ_t = y_t] / Σ_t w_t

    over the places t of all batches so far, padding having the weight 0, as have places whose label
    is negative. It is no mean of the accuracies of batches.

    Args:
        name: string.
        **kwargs: those of `keras.metrics.Metric`.

    Call arguments:
        y_true: label ids `(batch, time)`.
        y_pred: float scores `(batch, time, labels)`, the highest being the label, or label ids
            `(batch, time)`.
        sample_weight: float or bool tensor `(batch, time)`, or `(batch,)` for whole sentences, or
            `None` for 1. It is multiplied with the mask that Keras attached to the predictions.

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
    """The share of sentences all of whose labels are right.

    Places of weight above 0 must be right; a sentence without any, all padding, is not counted.

    Args:
        name: string.
        **kwargs: those of `keras.metrics.Metric`.

    Call arguments:
        y_true: as those of `TokenAccuracy`.
        y_pred: as those of `TokenAccuracy`.
        sample_weight: as those of `TokenAccuracy`; how far a weight is above 0 does not matter.

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
