"""The largest values of a sequence, in their order."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.layers.masks import valid_steps


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class KMaxPooling(keras.layers.Layer):
    """Keeps the k largest values of each feature over time, in the order of time.

    Kalchbrenner, Grefenstette and Blunsom 2014, "A convolutional neural network for modelling
    sentences", section 3.2. Of equal ones the earlier is kept. Where fewer than k steps are valid,
    zeros follow.

    Args:
        k: int.
        **kwargs: arguments of `keras.layers.Layer`, such as `name` and `dtype`.

    Call arguments:
        sequence: float tensor `(batch, time, features)`.
        mask: bool tensor `(batch, time)`, true at valid steps. `None` takes the mask that Keras
            attached to `sequence`, if there is one, or else makes all steps valid.

    Returns:
        A float tensor `(batch, k, features)`.

    Raises:
        ValueError: if `k` is no positive int, or shapes do not fit.

    Example:
    >>> KMaxPooling(2)(keras.ops.array([[[3.0], [1.0], [2.0]]])).numpy().ravel().tolist()
    [3.0, 2.0]
    """

    def __init__(self, k, **kwargs):
        super().__init__(**kwargs)
        self.k = check_integer("k", k, minimum=1)
        self.supports_masking = True

    def call(self, sequence, mask=None):
        """Pools; see the class."""
        if sequence.shape.rank != 3:
            raise ValueError(
                "`sequence` needs the shape (batch, time, features), "
                f"but has the shape {tuple(sequence.shape)}"
            )
        valid = valid_steps(mask, sequence)[:, tf.newaxis]  # (batch, 1, time)
        sequence = tf.transpose(sequence, (0, 2, 1))  # (batch, features, time)
        time = tf.shape(sequence)[2]
        # There may be fewer than k steps at all.
        more = [[0, 0], [0, 0], [0, self.k]]
        lowest = tf.where(valid, sequence, sequence.dtype.min)
        lowest = tf.pad(lowest, more, constant_values=sequence.dtype.min)
        places = tf.math.top_k(lowest, self.k).indices  # (batch, features, k)
        valid = tf.broadcast_to(valid, tf.shape(sequence))
        kept = tf.gather(tf.pad(valid, more), places, batch_dims=2)
        places = tf.sort(tf.where(kept, places, time), axis=-1)
        zeroed = tf.pad(tf.where(valid, sequence, tf.zeros((), sequence.dtype)), more)
        return tf.transpose(tf.gather(zeroed, places, batch_dims=2), (0, 2, 1))

    def compute_mask(self, sequence, previous_mask=None):
        """Gives no mask: the steps are those of the pool."""
        return None

    def compute_output_shape(self, sequence_shape):
        """Gives k steps."""
        return (sequence_shape[0], self.k, sequence_shape[2])

    def get_config(self):
        """Gives the constructor arguments."""
        return {**super().get_config(), "k": self.k}
