"""The output layer of a model with a vocabulary, with weights of its own."""

import keras
import tensorflow as tf


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class VocabularyProjection(keras.layers.Dense):
    """Computes logits `h·W + b`: the matmul in the compute dtype, the bias and the logits float32.

    A `keras.layers.Dense` of dtype float32 would be exact and pay for it with a float32 matmul,
    the largest of many models. The weights are those of `Dense`. See `TiedSoftmax` for an output
    layer that shares the embedding.

    Args:
        units: int, the size of the vocabulary.
        **kwargs: other arguments of `keras.layers.Dense`.

    Call arguments:
        hidden: float tensor `(..., features)`.

    Returns:
        float32 tensor `(..., units)`.

    Example:
    >>> layer = VocabularyProjection(100, dtype="mixed_bfloat16")
    >>> layer(keras.ops.ones((2, 5, 16))).dtype
    tf.float32
    """

    def build(self, input_shape):
        """Make W, and the bias in the dtype of the variables."""
        wanted, self.use_bias = self.use_bias, False
        super().build(input_shape)
        self.use_bias = wanted
        if wanted:
            self.bias = self.add_weight(
                name="bias",
                shape=(self.units,),
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
                autocast=False,  # added to the float32 logits
            )

    def call(self, hidden):
        """Compute the logits; see the class."""
        logits = tf.cast(keras.ops.matmul(hidden, self.kernel), tf.float32)
        if self.use_bias:
            logits += tf.cast(self.bias, tf.float32)
        return logits if self.activation is None else self.activation(logits)

    def compute_output_spec(self, hidden):
        """Give shape and dtype of the logits."""
        return keras.KerasTensor(self.compute_output_shape(hidden.shape), dtype="float32")
