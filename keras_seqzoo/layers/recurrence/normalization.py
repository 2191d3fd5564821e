"""Layer normalization inside recurrent cells."""

import tensorflow as tf

from keras_seqzoo.layers.recurrence.affine import AffineCell
from keras_seqzoo.tensors import loop_dtype

EPSILON = 1e-3  # as in `keras.layers.LayerNormalization`


def normalize(tensor, sizes):
    """Normalize groups of the last dimension: `(x - mean) / sqrt(variance + ε)`.

    Args:
        tensor: tensor `(..., sum of sizes)`.
        sizes: sequence of G ints, the sizes of the groups.

    Returns:
        The normalized tensor, and `1 / sqrt(variance + ε)` of each group `(..., G)`.
    """
    parts, rates = [], []
    for part in tf.split(tensor, sizes, -1):
        centered = part - tf.reduce_mean(part, -1, keepdims=True)
        variance = tf.reduce_mean(tf.square(centered), -1, keepdims=True)
        rate = tf.math.rsqrt(variance + tf.constant(EPSILON, variance.dtype))
        parts.append(centered * rate)
        rates.append(rate)
    return tf.concat(parts, -1), tf.concat(rates, -1)


def normalization_gradient(gradient, normalized, rates, sizes):
    """Return the gradient of `normalize`'s argument.

    For one group, with the gradient g of the normalized tensor n and the rate r:
    `r · (g - mean(g) - n ⊙ mean(g ⊙ n))`.

    Args:
        gradient: tensor `(..., sum of sizes)`, the gradient of the normalized tensor.
        normalized: tensor of the same shape, from `normalize`.
        rates: tensor `(..., G)`, from `normalize`.
        sizes: sequence of G ints, the sizes of the groups.
    """
    parts = []
    for g, n, rate in zip(
        tf.split(gradient, sizes, -1),
        tf.split(normalized, sizes, -1),
        tf.split(rates, len(sizes), -1),
        strict=True,
    ):
        mean = tf.reduce_mean(g, -1, keepdims=True)
        parts.append(rate * (g - mean - n * tf.reduce_mean(g * n, -1, keepdims=True)))
    return tf.concat(parts, -1)


class NormalizedCell(AffineCell):
    """Affine cell with an option for layer normalization.

    With `layer_normalization`, `W·x` becomes `γ ⊙ n(W·x)` and `U·h` becomes `γ' ⊙ n(U·h)` (Ba,
    Kiros and Hinton 2016, Layer normalization, section 3.1), where n subtracts the mean over the
    units and divides by the standard deviation. The cell's own biases are added afterwards, so the
    normalization has none. The weights γ and γ' `(gates·units,)` start at 1.

    A subclass defines `normalized_sizes`.
    """

    arguments = (*AffineCell.arguments, "layer_normalization")

    def __init__(self, *args, layer_normalization=False, **kwargs):
        super().__init__(*args, **kwargs)
        self.layer_normalization = layer_normalization

    @property
    def normalized_sizes(self):
        """Sizes of the blocks of W·x and U·h that are normalized together, a tuple."""
        raise NotImplementedError(f"{type(self).__name__} must define `normalized_sizes`.")

    def build(self, input_shape):
        """Create the weights for inputs of shape `(B, F)`."""
        super().build(input_shape)
        if self.layer_normalization:
            size = (self.gates * self.units,)
            self.kernel_gamma = self.add_weight(size, "ones", name="kernel_gamma")
            self.recurrent_gamma = self.add_weight(size, "ones", name="recurrent_gamma")

    def multiply(self, inputs, kernel):
        """Compute W·x, normalized with `layer_normalization`."""
        product = super().multiply(inputs, kernel)
        if not self.layer_normalization:
            return product
        return self._normalize(product, self.kernel_gamma)

    def multiply_state(self, state, kernel, gamma=None):
        """Compute U·h, normalized if there is a γ'."""
        product = tf.matmul(state, kernel)
        return product if gamma is None else self._normalize(product, gamma)

    def _normalize(self, product, gamma):
        exact = tf.cast(product, loop_dtype(product.dtype))
        normalized, _ = normalize(exact, self.normalized_sizes)
        return tf.cast(normalized * tf.cast(gamma, exact.dtype), product.dtype)
