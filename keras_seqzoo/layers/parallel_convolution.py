"""Parallel convolutions of several widths."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.layers.masks import check_sequence_shape, valid_steps
from keras_seqzoo.tensors import dimension
from keras_seqzoo.time_arrays import padded


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class ParallelConvolution(keras.layers.Layer):
    """Convolutions of several widths over one sequence, with their features concatenated.

        y_t = f(Σ_k W_k x_{t+k} + b),    k from -⌊(w - 1) / 2⌋ to ⌊w / 2⌋

    for each width w (Kim 2014, "Convolutional neural networks for sentence classification",
    equation 2). Padding and positions beyond the ends of a sequence count as zeros.

    Args:
        filters: int, the number of features of each width.
        widths: list of ints, the number of steps that each convolution covers.
        activation: f, a Keras activation or its name.
        **kwargs: arguments of `keras.layers.Layer`, such as `name` and `dtype`.

    Call arguments:
        sequence: float tensor `(batch, time, features)`.
        mask: bool tensor `(batch, time)`, true at valid steps, which must be contiguous. `None`
            uses the mask that Keras attached to `sequence`; without one, all steps are valid.

    Returns:
        A float tensor `(batch, time, filters * len(widths))`, zero at padding.

    Raises:
        ValueError: if an argument is out of range, or shapes do not match.

    Example:
    >>> ParallelConvolution(4, widths=[2, 3])(keras.ops.ones((2, 5, 3))).shape
    TensorShape([2, 5, 8])
    """

    def __init__(self, filters=100, widths=(3, 4, 5), activation="relu", **kwargs):
        super().__init__(**kwargs)
        self.filters = check_integer("filters", filters, minimum=1)
        self.widths = [check_integer("widths", width, minimum=1) for width in widths]
        if not self.widths:
            raise ValueError("`widths` must have at least one width, got none.")
        self.activation = keras.activations.get(activation)
        self.supports_masking = True
        self.convolutions = [
            keras.layers.Conv1D(
                self.filters,
                width,
                padding="same",
                activation=self.activation,
                dtype=self.dtype_policy,
                trainable=self.trainable,
                name=f"width_{width}_{index}",
            )
            for index, width in enumerate(self.widths)
        ]

    def build(self, sequence_shape):
        """Create the W and b of each width."""
        check_sequence_shape(sequence_shape)
        for convolution in self.convolutions:
            convolution.build(sequence_shape)

    def call(self, sequence, mask=None):
        """Compute the features; see the class."""
        if mask is None:
            return self._convolve(sequence)
        valid = valid_steps(mask, sequence)[:, :, tf.newaxis]  # (batch, time, 1)
        zero = tf.zeros((), sequence.dtype)
        return tf.where(valid, self._convolve(tf.where(valid, sequence, zero)), zero)

    def _convolve(self, sequence):
        steps = padded(sequence, axis=1)  # Keras cannot convolve a sequence without a step
        features = tf.concat([layer(steps) for layer in self.convolutions], axis=-1)
        return features[:, : dimension(sequence, 1)]

    def compute_output_shape(self, sequence_shape):
        """Return the shape of the features."""
        return (*sequence_shape[:2], self.filters * len(self.widths))

    def get_config(self):
        """Return the constructor arguments."""
        return {
            **super().get_config(),
            "filters": self.filters,
            "widths": self.widths,
            "activation": keras.activations.serialize(self.activation),
        }
