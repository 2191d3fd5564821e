"""Pooling to the k largest values over time."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.layers.masks import check_sequence_shape, valid_steps


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class KMaxPooling(keras.layers.Layer):
    """The k largest values of each feature over time, in their original order.

    Kalchbrenner, Grefenstette and Blunsom 2014, "A convolutional neural network for modelling
    sentences", section 3.2. Of equal values, the earlier one is kept. If fewer than k steps are
    valid, zeros fill the rest.

    Args:
        k: int, the number of values to keep.
        **kwargs: arguments of `keras.layers.Layer`, such as `name` and `dtype`.

    Call arguments:
        sequence: float tensor `(batch, time, features)`.
        mask: bool tensor `(batch, time)`, true at valid steps. `None` uses the mask that Keras
            attached to `sequence`; without one, all steps are valid.

    Returns:
        A float tensor `(batch, k, features)`.

    Raises:
        ValueError: if `k` is not a positive int, or shapes do not match.

    Example:
    >>> KMaxPooling(2)(keras.ops.array([[[3.0], [1.0], [2.0]]])).numpy().ravel().tolist()
    [3.0, 2.0]
    """

    def __init__(self, k, **kwargs):
        super().__init__(**kwargs)
        self.k = check_integer("k", k, minimum=1)
        self.supports_masking = True

    def call(self, sequence, mask=None):
        """Pool the sequence; see the class."""
        check_sequence_shape(sequence.shape)
        valid = valid_steps(mask, sequence)[:, tf.newaxis]  # (batch, 1, time)
        sequence = tf.transpose(sequence, (0, 2, 1))  # (batch, features, time)
        time = tf.shape(sequence)[2]
        # Pad with k steps: there may be fewer than k steps.
        padding = [[0, 0], [0, 0], [0, self.k]]
        values = tf.where(valid, sequence, sequence.dtype.min)
        values = tf.pad(values, padding, constant_values=sequence.dtype.min)
        indices = tf.math.top_k(values, self.k).indices  # (batch, features, k)
        valid = tf.broadcast_to(valid, tf.shape(sequence))
        kept = tf.gather(tf.pad(valid, padding), indices, batch_dims=2)
        indices = tf.sort(tf.where(kept, indices, time), axis=-1)
        values = tf.pad(tf.where(valid, sequence, tf.zeros((), sequence.dtype)), padding)
        return tf.transpose(tf.gather(values, indices, batch_dims=2), (0, 2, 1))

    def compute_mask(self, sequence, previous_mask=None):
        """Return no mask: the steps of the output are not the steps of the input."""
        return None

    def compute_output_shape(self, sequence_shape):
        """Return the shape with k steps."""
        return (sequence_shape[0], self.k, sequence_shape[2])

    def get_config(self):
        """Return the constructor arguments."""
        return {**super().get_config(), "k": self.k}
