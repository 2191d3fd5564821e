"""A loss on attention that returns to a word."""

import keras
import tensorflow as tf

from keras_seqzoo.layers.attention.loss import AttentionLoss


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class CoverageLoss(AttentionLoss):
    """Loss on attention to words that were attended to before.

    ```
    loss_t = Σ_s min(a_{t,s}, c_{t,s}),        c_{t,s} = Σ_{t' < t} a_{t',s}
    ```

    (See et al. 2017, "Get to the point: summarization with pointer-generator networks",
    section 2.3). They use it with a coverage term in the score, in a last phase of training.

    Args:
        scale: number of at least 0, the factor of the loss.
        **kwargs: arguments of `keras.layers.Layer`, such as `name` and `dtype`.

    Example:
    >>> weights = tf.constant([[[0.8, 0.2], [0.5, 0.5]]])
    >>> valid = tf.ones((1, 2), tf.bool)
    >>> loss = CoverageLoss()(weights, tf.zeros((1, 2, 3)), valid, valid)
    >>> round(float(loss), 2)  # (0.5 + 0.2) / 2 tokens
    0.35
    """

    def sums(self, weights, memory, memory_mask, mask):
        """Return the loss of each sequence; see the class."""
        before = tf.cumsum(weights, axis=1, exclusive=True)
        return tf.reduce_sum(tf.minimum(weights, before), axis=(1, 2))
