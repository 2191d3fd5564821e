"""The loss of models that predict the next token."""

import functools

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_rate
from keras_seqzoo.replicas import part_of_mean, replica_count


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class SequenceCrossentropy(keras.losses.Loss):
    """Cross-entropy of token ids and logits, the mean over valid tokens.

    With p = softmax(logits) over the V tokens of the vocabulary, a token y has the loss

    ```
    (1 - ε)·(-log p_y) + ε·(1/V) Σ_v (-log p_v)
    ```

    with label smoothing ε (Szegedy et al. 2016, "Rethinking the Inception architecture", section
    7). It is computed as `logsumexp(z) - (1 - ε)·z_y - ε·mean(z)` of the logits z, in float32 and
    without one-hot targets.

    Tokens are padding where `sample_weight` (or the mask that Keras attached to the logits) is
    zero. With the default reduction the loss is the sum of the weighted losses divided by the sum
    of the weights; without a valid token it is 0. With several replicas (`tf.distribute`), each
    computes its part of the mean over all of them.

    Args:
        label_smoothing: ε, at least 0 and less than 1.
        reduction: string, the reduction of `keras.losses.Loss`.
        name: string, the name of the loss.

    Call arguments:
        y_true: token ids `(...)`. All must be in [0, V), at padding too: other ids raise an error
            where TensorFlow checks them; elsewhere (on a GPU, under XLA) the loss is unspecified.
        y_pred: logits `(..., V)`.
        sample_weight: float or bool tensor `(...)`, or `None`.

    Returns:
        A float32 scalar; with `reduction=None`, the weighted losses `(...)`.

    Raises:
        ValueError: if `label_smoothing` is out of range, or shapes do not match.

    Example:
    >>> loss = SequenceCrossentropy(label_smoothing=0.1)
    >>> ids = keras.ops.array([[3, 1, 0]])
    >>> logits = keras.ops.zeros((1, 3, 8))
    >>> round(float(loss(ids, logits, sample_weight=keras.ops.array([[1.0, 1.0, 0.0]]))), 4)
    2.0794
    """

    def __init__(
        self,
        label_smoothing=0.0,
        reduction="mean_with_sample_weight",
        name="sequence_crossentropy",
    ):
        super().__init__(name=name, reduction=reduction, dtype="float32")
        self.label_smoothing = check_rate("label_smoothing", label_smoothing)

    def __call__(self, y_true, y_pred, sample_weight=None):
        """Compute the loss; see the class."""
        loss = super().__call__(y_true, y_pred, sample_weight)
        if replica_count() == 1 or self.reduction != "mean_with_sample_weight":
            return loss
        # Keras has divided by the weights of this replica, and by the number of replicas.
        weight = _total_weight(y_true, getattr(y_pred, "_keras_mask", None), sample_weight)
        return part_of_mean(loss * weight * replica_count(), weight)

    def call(self, y_true, y_pred):
        """Compute the losses `(...)` of all tokens."""
        if y_true.shape.rank == y_pred.shape.rank and y_true.shape[-1] == 1:
            y_true = tf.squeeze(y_true, -1)
        if not y_true.shape.is_compatible_with(y_pred.shape[:-1]):
            raise ValueError(
                f"`y_true` must have the shape {tuple(y_pred.shape[:-1])} of `y_pred` without the "
                f"last dimension, got {tuple(y_true.shape)}."
            )
        ids = tf.cast(y_true, tf.int32)
        target = tf.gather(y_pred, ids, batch_dims=ids.shape.rank)
        loss = tf.reduce_logsumexp(y_pred, axis=-1) - (1.0 - self.label_smoothing) * target
        if self.label_smoothing:
            loss -= self.label_smoothing * tf.reduce_mean(y_pred, axis=-1)
        return loss

    def get_config(self):
        """Return the constructor arguments."""
        return {**super().get_config(), "label_smoothing": self.label_smoothing}


def _total_weight(y_true, mask, sample_weight):
    """Return the sum of weights by which Keras divides."""
    if mask is None and sample_weight is None:
        return tf.cast(tf.size(y_true), tf.float32)
    weights = [tf.cast(x, tf.float32) for x in (mask, sample_weight) if x is not None]
    rank = min(weight.shape.rank for weight in weights)
    weights = [x if x.shape.rank == rank else tf.squeeze(x, -1) for x in weights]
    return tf.reduce_sum(functools.reduce(tf.multiply, weights))
