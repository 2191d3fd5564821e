"""From a sequence to one vector."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_choice
from keras_seqzoo.layers.masks import valid_steps

MODES = ("last", "ends", "mean", "max")


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class SequencePooling(keras.layers.Layer):
    """Pools the valid steps of a sequence into one vector.

    - "last": the vector of the last valid step, wherever padding stands;
    - "ends": the first half of the last valid step's vector and the second half of the first
      one's: where the outputs of a `Bidirectional` have read everything, each in its direction;
    - "mean": the mean over the valid steps, computed in float32;
    - "max": the maximum over the valid steps, feature by feature.

    Rows that are all padding give zeros.

    Args:
        mode: "last", "ends", "mean" or "max".
        **kwargs: arguments of `keras.layers.Layer`, such as `name` and `dtype`.

    Call arguments:
        sequence: float tensor `(batch, time, features)`.
        mask: bool tensor `(batch, time)`, true at valid steps. `None` takes the mask that Keras
            attached to `sequence`, if there is one, or else makes all steps valid.

    Returns:
        A float tensor `(batch, features)` in the compute dtype.

    Raises:
        ValueError: if `mode` is none of the above, shapes do not fit, or there are no two halves.

    Example:
    >>> sequence = keras.ops.array([[[1.0], [3.0], [100.0]]])
    >>> mask = keras.ops.array([[True, True, False]])
    >>> float(SequencePooling("mean")(sequence, mask=mask)[0, 0])
    2.0
    """

    def __init__(self, mode="last", **kwargs):
        check_choice("mode", mode, MODES)
        super().__init__(**kwargs)
        self.mode = mode
        self.supports_masking = True

    def call(self, sequence, mask=None):
        """Pool; see the class."""
        if sequence.shape.rank != 3:
            raise ValueError(
                "`sequence` needs the shape (batch, time, features), "
                f"but has the shape {tuple(sequence.shape)}"
            )
        if self.mode == "ends" and sequence.shape[2] % 2:
            raise ValueError(f'"ends" needs an even number of features, got {sequence.shape[2]}')
        valid = valid_steps(mask, sequence)
        kept = valid[:, :, tf.newaxis]  # (batch, time, 1)
        if self.mode == "mean":
            total = tf.reduce_sum(tf.where(kept, tf.cast(sequence, tf.float32), 0.0), axis=1)
            count = tf.reduce_sum(tf.cast(kept, tf.float32), axis=1)  # (batch, 1)
            return tf.cast(tf.math.divide_no_nan(total, count), sequence.dtype)
        if self.mode == "max":
            pooled = tf.reduce_max(tf.where(kept, sequence, sequence.dtype.min), axis=1)
            return tf.where(tf.reduce_any(kept, axis=1), pooled, tf.zeros_like(pooled))
        last = _step(sequence, _is_last(valid))
        if self.mode == "last":
            return last
        first = _step(sequence, _is_last(valid[:, ::-1])[:, ::-1])
        half = sequence.shape[2] // 2
        return tf.concat([last[:, :half], first[:, half:]], axis=1)

    def compute_mask(self, sequence, previous_mask=None):
        """Give no mask: the time dimension is gone."""
        return None

    def compute_output_shape(self, sequence_shape):
        """Drop the time dimension."""
        return (sequence_shape[0], sequence_shape[2])

    def get_config(self):
        """Give the constructor arguments."""
        return {**super().get_config(), "mode": self.mode}


def _is_last(valid):
    """Marks the last valid step of each row, if there is one: bool `(batch, time)`."""
    after = tf.cumsum(tf.cast(valid, tf.int32), axis=1, exclusive=True, reverse=True)
    return valid & (after == 0)


def _step(sequence, chosen):
    """Gives the step that a mask marks in each row: a sum, zero where it marks none."""
    return tf.reduce_sum(tf.where(chosen[:, :, tf.newaxis], sequence, 0), axis=1)
