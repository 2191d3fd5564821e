"""The loss of models that predict the next token."""

import keras
import tensorflow as tf


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class SequenceCrossentropy(keras.losses.Loss):
    """Cross-entropy of token ids under logits, the mean over valid tokens.

    With p = softmax(logits) over the V tokens of the vocabulary, a token y has the loss

    ```
    (1 - ε)·(-log p_y) + ε·(1/V) Σ_v (-log p_v)
    ```

    that is, ε of the target's probability is spread over all tokens: label smoothing, Szegedy
    et al. 2016, "Rethinking the Inception architecture", section 7. It equals
    `logsumexp(z) - (1 - ε)·z_y - ε·mean(z)` of the logits z and is computed so, in float32: no
    one-hot target is made, and the softmax appears in the gradient alone.

    Padding is what `sample_weight` (or the mask that Keras attached to the logits) sets to zero.
    With the default reduction the loss is the sum of weighted losses by the sum of the weights;
    with none valid it is 0.

    Args:
        label_smoothing: ε, at least 0 and less than 1.
        reduction: how losses become one, as in `keras.losses.Loss`.
        name: name of the loss.

    Call arguments:
        y_true: token ids `(...)`. All must be in [0, V), at padding too: an id outside raises
            an error where TensorFlow checks it, and gives an unspecified loss where it does not
            (on a GPU, under XLA).
        y_pred: logits `(..., V)`.
        sample_weight: float or bool tensor `(...)`, or `None`.

    Returns:
        A float32 scalar; with `reduction=None`, the weighted losses `(...)`.

    Raises:
        ValueError: if `label_smoothing` is out of range, or the shapes do not fit.

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
        if not 0 <= label_smoothing < 1:
            raise ValueError(f"`label_smoothing` needs to be in [0, 1), but is {label_smoothing}")
        super().__init__(name=name, reduction=reduction, dtype="float32")
        self.label_smoothing = label_smoothing

    def call(self, y_true, y_pred):
        """Compute the losses of all tokens; `(...)`."""
        if y_true.shape.rank == y_pred.shape.rank and y_true.shape[-1] == 1:
            y_true = tf.squeeze(y_true, -1)
        if not y_true.shape.is_compatible_with(y_pred.shape[:-1]):
            raise ValueError(
                f"`y_true` needs the shape {tuple(y_pred.shape[:-1])}, that of `y_pred` without "
                f"its last dimension, but has the shape {tuple(y_true.shape)}"
            )
        ids = tf.cast(y_true, tf.int32)
        target = tf.gather(y_pred, ids, batch_dims=ids.shape.rank)
        loss = tf.reduce_logsumexp(y_pred, axis=-1) - (1.0 - self.label_smoothing) * target
        if self.label_smoothing:
            loss -= self.label_smoothing * tf.reduce_mean(y_pred, axis=-1)
        return loss

    def get_config(self):
        """Give the constructor arguments."""
        return {**super().get_config(), "label_smoothing": self.label_smoothing}
