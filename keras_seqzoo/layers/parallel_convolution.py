"""Convolutions of several widths beside each other."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.layers.masks import valid_steps
from keras_seqzoo.layers.recurrence.time_arrays import padded
from keras_seqzoo.tensors import dimension


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class ParallelConvolution(keras.layers.Layer):
    """Runs convolutions of several widths over the same sequence and joins their features.

        y_t = f(Σ_k W_k x_{t+k} + b),    k from -⌊(w - 1) / 2⌋ to ⌊w / 2⌋

    for each width w (Kim 2014, "Convolutional neural networks for sentence classification",
    equation 2). Beyond the ends of a sentence there are zeros, and so at padding.

    Args:
        filters: int, the features of each width.
        widths: list of ints, how many steps each convolution sees.
        activation: the f, as Keras knows it.
        **kwargs: arguments of `keras.layers.Layer`, such as `name` and `dtype`.

    Call arguments:
        sequence: float tensor `(batch, time, features)`.
        mask: bool tensor `(batch, time)`, true at valid steps, which must follow each other
            without gaps. `None` takes the mask that Keras attached to `sequence`, if there is one,
            or else makes all steps valid.

    Returns:
        A float tensor `(batch, time, filters * len(widths))`, zero at padding.

    Raises:
        ValueError: if an argument is no positive int, there is no width, or shapes do not fit.

    Example:
    >>> ParallelConvolution(4, widths=[2, 3])(keras.ops.ones((2, 5, 3))).shape
    TensorShape([2, 5, 8])
    """

    def __init__(self, filters=100, widths=(3, 4, 5), activation="relu", **kwargs):
        super().__init__(**kwargs)
        self.filters = check_integer("filters", filters, minimum=1)
        self.widths = [check_integer("widths", width, minimum=1) for width in widths]
        if not self.widths:
            raise ValueError("`widths` needs at least one width, got none.")
        self.activation = keras.activations.get(activation)
        self.supports_masking = True
        self.convolutions = [
            keras.layers.Conv1D(
                self.filters,
                width,
                padding="same",
                activation=self.activation,
                dtype=self.dtype_policy,
                name=f"width_{width}_{place}",
            )
            for place, width in enumerate(self.widths)
        ]

    def build(self, sequence_shape):
        """Makes the W and b of each width."""
        if len(sequence_shape) != 3:
            raise ValueError(
                f"`sequence` needs the shape (batch, time, features), got {tuple(sequence_shape)}"
            )
        for convolution in self.convolutions:
            convolution.build(sequence_shape)

    def call(self, sequence, mask=None):
        """Convolves; see the class."""
        if mask is None:
            return self._convolve(sequence)
        valid = valid_steps(mask, sequence)[:, :, tf.newaxis]  # (batch, time, 1)
        zero = tf.zeros((), sequence.dtype)
        return tf.where(valid, self._convolve(tf.where(valid, sequence, zero)), zero)

    def _convolve(self, sequence):
        steps = padded(sequence, axis=1)  # Keras convolves no sequence without a step
        features = tf.concat([layer(steps) for layer in self.convolutions], axis=-1)
        return features[:, : dimension(sequence, 1)]

    def compute_output_shape(self, sequence_shape):
        """Gives as many steps."""
        return (*sequence_shape[:2], self.filters * len(self.widths))

    def get_config(self):
        """Gives the constructor arguments."""
        return {
            **super().get_config(),
            "filters": self.filters,
            "widths": self.widths,
            "activation": keras.activations.serialize(self.activation),
        }
