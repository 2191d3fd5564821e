"""How many target words a source word makes."""

import keras
import tensorflow as tf

from keras_seqzoo.tensors import loop_dtype


class Fertility(keras.layers.Layer):
    """Expected fertility of each step of a memory.

    `Φ_i = N·σ(uᵀ memory_i + b)`, between 0 and the largest fertility N (Tu et al. 2016, "Modeling
    coverage for neural machine translation", section 3.1, without b).

    Args:
        most: number, N.
        **kwargs: arguments of `keras.layers.Layer`.

    Call arguments:
        memory: float tensor `(B, S, depth)`.

    Returns:
        Tensor `(B, S)`, float32 (or float64).
    """

    def __init__(self, most, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.supports_masking = True
        self.most = most

    def build(self, memory_shape):
        """Create u and b."""
        self.kernel = self.add_weight(name="kernel", shape=(memory_shape[-1], 1))
        self.bias = self.add_weight(name="bias", shape=(1,), initializer="zeros")

    def call(self, memory):
        """Compute the fertilities; see the class."""
        dtype = loop_dtype(memory.dtype)
        memory = tf.cast(memory, dtype)
        kernel, bias = tf.cast(self.kernel, dtype), tf.cast(self.bias, dtype)
        return self.most * tf.sigmoid(tf.einsum("bsm,m->bs", memory, kernel[:, 0]) + bias)
