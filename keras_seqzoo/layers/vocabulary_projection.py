"""The output layer of a model with a vocabulary, with weights of its own."""

import keras
import tensorflow as tf


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class VocabularyProjection(keras.layers.Dense):
    """Computes logits `h·W + b`: the matmul in the compute dtype, the logits float32.

    A `keras.layers.Dense` gives logits in the compute dtype, too coarse in half precision for a
    softmax over thousands of words; one of dtype float32 pays for that with a float32 matmul,
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

    def call(self, hidden):
        """Compute the logits; see the class."""
        return tf.cast(super().call(hidden), tf.float32)

    def compute_output_spec(self, hidden):
        """Give shape and dtype of the logits."""
        return keras.KerasTensor(self.compute_output_shape(hidden.shape), dtype="float32")
