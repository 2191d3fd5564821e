"""Pooling of a sequence by attention."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.layers.attention.weighting import masked_softmax
from keras_seqzoo.layers.masks import check_sequence_shape, valid_steps
from keras_seqzoo.layers.serialization import QuantizedParts
from keras_seqzoo.tensors import loop_dtype


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class AttentionPooling(QuantizedParts, keras.layers.Layer):
    """Pooling of the valid steps of a sequence, with learned weights.

        a_t    = softmax_t(vᵀ tanh(W h_t + b))
        pooled = Σ_t a_t h_t

    (Yang et al. 2016, "Hierarchical attention networks for document classification", equations 5
    to 7). The softmax is computed in float32. Rows that are all padding are zero.

    Args:
        units: int, rows of W, or `None` for the number of features.
        **kwargs: arguments of `keras.layers.Layer`, such as `name` and `dtype`.

    Call arguments:
        sequence: float tensor `(batch, time, features)`.
        mask: bool tensor `(batch, time)`, true at valid steps, or `None` for the mask that Keras
            attached to `sequence`, if any.
        return_weights: bool, whether to also return the weights a.

    Returns:
        A float tensor `(batch, features)`, or a tuple of it and the weights, `(batch, time)`.

    Raises:
        ValueError: if `units` is not a positive integer, or a shape is wrong.

    Example:
    >>> pooled, weights = AttentionPooling(4)(keras.ops.ones((2, 5, 3)), return_weights=True)
    >>> pooled.shape, weights.shape
    (TensorShape([2, 3]), TensorShape([2, 5]))
    """

    def __init__(self, units=None, **kwargs):
        super().__init__(**kwargs)
        self.units = None if units is None else check_integer("units", units, minimum=1)
        self.supports_masking = True

    def build(self, sequence_shape):
        """Create W, b and v."""
        check_sequence_shape(sequence_shape)
        self.hidden = keras.layers.Dense(
            self.units or sequence_shape[-1],
            "tanh",
            **self.part_options("hidden"),
        )
        self.hidden.build(sequence_shape)
        self.vector = self.add_weight(name="vector", shape=(self.hidden.units, 1))

    def call(self, sequence, mask=None, return_weights=False):
        """Pool; see the class."""
        if mask is not None:
            mask = valid_steps(mask, sequence)
            sequence = tf.where(mask[:, :, tf.newaxis], sequence, 0)  # 0 times NaN is NaN
        scores = tf.matmul(self.hidden(sequence), self.vector)  # (batch, time, 1)
        scores = tf.cast(tf.transpose(scores, (0, 2, 1)), loop_dtype(sequence.dtype))
        weights = masked_softmax(scores, mask)  # (batch, 1, time)
        pooled = tf.matmul(tf.cast(weights, sequence.dtype), sequence)[:, 0]
        return (pooled, weights[:, 0]) if return_weights else pooled

    def compute_mask(self, sequence, previous_mask=None):
        """Return None: there is no time dimension."""
        return None

    def get_config(self):
        """Return the constructor arguments."""
        return {**super().get_config(), "units": self.units}
