"""Pooling of a sequence to one vector."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_choice
from keras_seqzoo.layers.masks import check_sequence_shape, valid_steps

MODES = ("last", "ends", "mean", "max")
# Poolings with weights or options of their own.
OWN_LAYERS = {"attention": "AttentionPooling", "k-max": "KMaxPooling"}


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class SequencePooling(keras.layers.Layer):
    """Pooling of the valid steps of a sequence to one vector.

    - "last": the last valid step;
    - "ends": the first half of the features at the last valid step and the second half at the
      first one, which are the final outputs of both directions of a `Bidirectional`;
    - "mean": the mean over the valid steps, computed in float32;
    - "max": the maximum over the valid steps, for each feature.

    Padding may be anywhere. Rows that are all padding give zeros.

    Args:
        mode: "last", "ends", "mean" or "max".
        **kwargs: arguments of `keras.layers.Layer`, such as `name` and `dtype`.

    Call arguments:
        sequence: float tensor `(batch, time, features)`.
        mask: bool tensor `(batch, time)`, true at valid steps. `None` uses the mask that Keras
            attached to `sequence`; without one, all steps are valid.

    Returns:
        A float tensor `(batch, features)` in the compute dtype.

    Raises:
        ValueError: if `mode` is unknown, shapes do not match, or "ends" gets an odd number of
            features.

    Example:
    >>> sequence = keras.ops.array([[[1.0], [3.0], [100.0]]])
    >>> mask = keras.ops.array([[True, True, False]])
    >>> float(SequencePooling("mean")(sequence, mask=mask)[0, 0])
    2.0
    """

    def __init__(self, mode="last", **kwargs):
        if isinstance(mode, str) and mode in OWN_LAYERS:
            raise ValueError(
                f"`mode` must be one of {', '.join(MODES)}, got {mode!r}, which is the layer "
                f"`{OWN_LAYERS[mode]}`."
            )
        check_choice("mode", mode, MODES)
        super().__init__(**kwargs)
        self.mode = mode
        self.supports_masking = True

    def call(self, sequence, mask=None):
        """Pool the sequence; see the class."""
        check_sequence_shape(sequence.shape)
        if self.mode == "ends" and sequence.shape[2] % 2:
            raise ValueError(
                '`sequence` must have an even number of features for "ends", '
                f"got {sequence.shape[2]}."
            )
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
        """Return no mask: the output has no time dimension."""
        return None

    def compute_output_shape(self, sequence_shape):
        """Return the shape without the time dimension."""
        return (sequence_shape[0], sequence_shape[2])

    def get_config(self):
        """Return the constructor arguments."""
        return {**super().get_config(), "mode": self.mode}


def _is_last(valid):
    """Return a bool tensor `(batch, time)` that is true at the last valid step of each row."""
    after = tf.cumsum(tf.cast(valid, tf.int32), axis=1, exclusive=True, reverse=True)
    return valid & (after == 0)


def _step(sequence, chosen):
    """Return the chosen step of each row, or zeros where none is chosen."""
    return tf.reduce_sum(tf.where(chosen[:, :, tf.newaxis], sequence, 0), axis=1)
