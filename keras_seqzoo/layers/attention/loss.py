"""Base class of losses on attention weights."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_number
from keras_seqzoo.tensors import loop_dtype


class AttentionLoss(keras.layers.Layer):
    """A loss on all attention weights of a sequence, added to the training loss.

    In training, `AttentionDecoder` calls it after the loop, on the weights of all steps, and passes
    the result to `add_loss`, so `fit` adds it to the loss of the model. Validation losses do not
    include it. A subclass defines `sums(weights, memory, memory_mask, mask)`.

    Args:
        scale: number of at least 0, the factor of the loss.
        **kwargs: arguments of `keras.layers.Layer`, such as `name` and `dtype`.

    Call arguments:
        weights: float32 tensor `(B, T, S)`.
        memory: float tensor `(B, S, depth)`.
        memory_mask: bool tensor `(B, S)`, true at valid steps.
        mask: bool tensor `(B, T)`, true at the valid steps of the target.

    Returns:
        A float32 scalar: the sum over the batch divided by the number of valid target steps, like
        the loss per token, times `scale`. Sequences without valid target steps do not count.

    Raises:
        ValueError: if `scale` is below 0.
    """

    def __init__(self, scale=1.0, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.scale = check_number("scale", scale, minimum=0.0)

    def build(self, weights_shape, memory_shape):
        """Create the weights, if any."""

    def call(self, weights, memory, memory_mask, mask):
        """Compute the loss; see the class."""
        dtype = loop_dtype(weights.dtype)
        mask = tf.cast(mask, dtype)
        weights = tf.where(mask[..., tf.newaxis] > 0, tf.cast(weights, dtype), 0.0)
        sums = self.sums(weights, tf.cast(memory, dtype), memory_mask, mask)
        total = tf.reduce_sum(tf.where(tf.reduce_any(mask > 0, axis=1), sums, 0.0))
        return self.scale * total / tf.maximum(tf.reduce_sum(mask), 1.0)

    def compute_mask(self, weights, previous_mask=None):
        """Return `None`: a scalar has no mask."""
        return None

    def sums(self, weights, memory, memory_mask, mask):
        """Return the loss of each sequence, `(B,)`.

        Args:
            weights: tensor `(B, T, S)`, zero at padding of either side.
            memory: tensor `(B, S, depth)`.
            memory_mask: bool tensor `(B, S)`.
            mask: tensor `(B, T)`, 1 at valid steps and 0 at padding.
        """
        raise NotImplementedError(f"{type(self).__name__} must define `sums`.")

    def get_config(self):
        """Return the constructor arguments."""
        return {**super().get_config(), "scale": self.scale}
