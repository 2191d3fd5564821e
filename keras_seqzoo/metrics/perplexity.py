"""Perplexity as a Keras metric."""

import keras
import tensorflow as tf

from keras_seqzoo.metrics.weights import multiply_weights


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class Perplexity(keras.metrics.Metric):
    """Exponential of the mean negative log probability of tokens.

        exp(-Σ_t m_t log P(y_t) / Σ_t m_t)

    over the tokens t of all batches so far, not a mean over batches. Tokens with a weight m above 0
    count: the end of a sentence does, padding does not.

    Args:
        from_logits: bool, whether predictions are logits rather than probabilities.
        name: string.
        **kwargs: arguments of `keras.metrics.Metric`.

    Call arguments:
        y_true: token ids `(...)`.
        y_pred: float tensor `(..., V)`.
        sample_weight: float or bool tensor `(...)`, or of fewer dimensions, such as one weight for
            each row, or `None` for 1. It is multiplied by the mask that Keras attached to the
            predictions.

    Example:
    >>> metric = Perplexity(from_logits=False)
    >>> metric.update_state([[1, 0]], [[[0.5, 0.5], [0.9, 0.1]]], sample_weight=[[1, 0]])
    >>> float(metric.result())
    2.0
    """

    def __init__(self, from_logits=True, name="perplexity", **kwargs):
        super().__init__(name=name, **kwargs)
        self.from_logits = from_logits
        self.total = self.add_variable((), "zeros", name="total")
        self.events = self.add_variable((), "zeros", name="events")

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Add the tokens of a batch."""
        mask = getattr(y_pred, "_keras_mask", None)
        y_true = tf.cast(y_true, tf.int32)
        y_pred = tf.cast(y_pred, tf.float32)
        if y_true.shape.rank == y_pred.shape.rank:
            y_true = tf.squeeze(y_true, -1)
        logits = y_pred if self.from_logits else tf.math.log(y_pred)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y_true, logits)
        weights = multiply_weights(tf.ones_like(losses), mask, sample_weight)
        # Losses at padding may be infinite.
        self.total.assign_add(tf.reduce_sum(tf.where(weights > 0, weights * losses, 0.0)))
        self.events.assign_add(tf.reduce_sum(weights))

    def result(self):
        """Return the perplexity of all tokens so far; 1 without any."""
        return tf.exp(tf.math.divide_no_nan(tf.convert_to_tensor(self.total), self.events))

    def get_config(self):
        """Return the constructor arguments."""
        return {**super().get_config(), "from_logits": self.from_logits}
