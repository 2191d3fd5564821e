"""A dense output layer over a vocabulary."""

import keras
import tensorflow as tf


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class VocabularyProjection(keras.layers.Dense):
    """Dense output layer with a matmul in the compute dtype and float32 logits.

    `logits = h·W + b`, with a float32 bias. A `keras.layers.Dense` of dtype float32 would also run
    its matmul, the largest in many models, in float32. The weights are the same as in `Dense`. See
    `TiedSoftmax` for an output layer that shares the embedding.

    Args:
        units: int, the size of the vocabulary.
        **kwargs: other arguments of `keras.layers.Dense`.

    Call arguments:
        hidden: float tensor `(..., features)`.

    Returns:
        A float32 tensor `(..., units)`.

    Example:
    >>> layer = VocabularyProjection(100, dtype="mixed_bfloat16")
    >>> layer(keras.ops.ones((2, 5, 16))).dtype
    tf.float32
    """

    def build(self, input_shape):
        """Create W, and the bias in the variable dtype."""
        use_bias, self.use_bias = self.use_bias, False
        rank, self.lora_rank = self.lora_rank, None  # it would end the building
        super().build(input_shape)
        self.use_bias, self.lora_rank = use_bias, rank
        if use_bias:
            self.bias = self.add_weight(
                name="bias",
                shape=(self.units,),
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
                autocast=False,  # added to the float32 logits
            )
        if rank is not None:
            self.enable_lora(rank, self.lora_alpha)

    def call(self, hidden):
        """Compute the logits; see the class."""
        logits = tf.cast(keras.ops.matmul(hidden, self.kernel), tf.float32)
        if self.use_bias:
            logits += tf.cast(self.bias, tf.float32)
        return logits if self.activation is None else self.activation(logits)

    def compute_output_spec(self, hidden):
        """Return the shape and dtype of the logits."""
        return keras.KerasTensor(self.compute_output_shape(hidden.shape), dtype="float32")
