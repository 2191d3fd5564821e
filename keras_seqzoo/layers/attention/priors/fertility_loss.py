"""A loss on how many target words a source word makes."""

import math

import keras
import tensorflow as tf

from keras_seqzoo.layers.attention.loss import AttentionLoss


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class FertilityLoss(AttentionLoss):
    """Loss on the fertility of each source word, modeled by a normal distribution.

    ```
    f_s = Σ_t a_{t,s},        loss = -Σ_s log N(f_s; μ_s, σ_s²)
    ```

    with μ_s = exp(uᵀ memory_s + b) and σ_s = 0.1 + exp(wᵀ memory_s + d), learned with the model.
    This is the global fertility of Cohn et al. (2016, "Incorporating structural alignment biases
    into an attentional neural translation model", section 3.3), whose mean and variance are also
    networks of the memory. Without the 0.1 the density would be unbounded.

    Args:
        scale: number of at least 0, the factor of the loss.
        **kwargs: arguments of `keras.layers.Layer`, such as `name` and `dtype`.

    Example:
    >>> weights, valid = tf.constant([[[0.8, 0.2], [0.2, 0.8]]]), tf.ones((1, 2), tf.bool)
    >>> loss = FertilityLoss()(weights, tf.zeros((1, 2, 3)), valid, valid)
    >>> round(float(loss), 3)  # f = μ = 1, σ = 1.1: log(1.1 √(2π))
    1.014
    """

    smallest_deviation = 0.1

    def build(self, weights_shape, memory_shape):
        """Create u, w and the biases."""
        self.kernel = self.add_weight(name="kernel", shape=(memory_shape[-1], 2))
        self.bias = self.add_weight(name="bias", shape=(2,), initializer="zeros")

    def sums(self, weights, memory, memory_mask, mask):
        """Return the loss of each sequence; see the class."""
        kernel, bias = (tf.cast(x, memory.dtype) for x in (self.kernel, self.bias))
        memory = tf.where(memory_mask[..., tf.newaxis], memory, tf.zeros((), memory.dtype))
        mean, deviation = tf.unstack(tf.einsum("bsm,mk->bsk", memory, kernel) + bias, axis=-1)
        deviation = self.smallest_deviation + tf.exp(deviation)
        distance = (tf.reduce_sum(weights, axis=1) - tf.exp(mean)) / deviation
        losses = 0.5 * tf.square(distance) + tf.math.log(deviation) + 0.5 * math.log(2 * math.pi)
        return tf.reduce_sum(tf.where(memory_mask, losses, 0.0), axis=1)
