"""Attention by a small network, the additive score."""

import keras
import tensorflow as tf

from keras_seqzoo.layers.attention.base import Attention, check_units


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class BahdanauAttention(Attention):
    """Attention whose score is a network with one hidden layer.

    ```
    score(query, memory_s) = vᵀ tanh(W·query + U·memory_s)
    ```

    Bahdanau, Cho and Bengio 2015, "Neural machine translation by jointly learning to align and
    translate", appendix A.1.2. `U·memory_s` is the same for all queries: give it as `keys` when
    one memory is read many times.

    Args:
        units: size of the hidden layer.
        **kwargs: arguments of `keras.layers.Layer`, such as `name` and `dtype`.

    Call arguments and returns: those of `Attention`.

    Raises:
        ValueError: if `units` is not a positive integer.

    Example:
    >>> attention = BahdanauAttention(units=8)
    >>> context, weights, _ = attention(keras.ops.ones((2, 3)), keras.ops.ones((2, 5, 4)))
    >>> context.shape, weights.shape
    (TensorShape([2, 4]), TensorShape([2, 5]))
    """

    def __init__(self, units, **kwargs):
        check_units(units)
        super().__init__(**kwargs)
        self.units = units
        self.query_projection, self.memory_projection = (
            keras.layers.Dense(units, use_bias=False, dtype=self.part_policy(name), name=name)
            for name in ("query_projection", "memory_projection")
        )

    def build(self, query_shape, memory_shape):
        """Make W, U and v."""
        self.query_projection.build(query_shape)
        self.memory_projection.build(memory_shape)
        self.vector = self.add_weight(name="vector", shape=(self.units, 1))

    def project_memory(self, memory):
        """Compute U·memory; `(batch, steps, units)`."""
        return self.memory_projection(memory)

    def scores(self, query, keys):
        """Score `query` `(batch, time, depth)` against `keys`; `(batch, time, steps)`."""
        if keys.shape[-1] != self.units:
            raise ValueError(
                f"`keys` needs {self.units} features, the `units` of the layer, "
                f"but has the shape {tuple(keys.shape)}"
            )
        query = self._project_query(query)[:, :, tf.newaxis]
        hidden = tf.tanh(query + keys[:, tf.newaxis])  # (batch, time, steps, units)
        vector = tf.cast(self.vector[:, 0], hidden.dtype)
        return tf.einsum("btsu,u->bts", hidden, vector)

    def _project_query(self, query):
        if self.query_projection.quantization_mode is not None:
            return self.query_projection(query)
        # Not tensordot (nor Dense, which calls it): in a loop where shapes are open, XLA refuses
        # its gradient.
        kernel = tf.cast(self.query_projection.kernel, query.dtype)
        return tf.einsum("btq,qu->btu", query, kernel)

    def get_config(self):
        """Give the constructor arguments."""
        return {**super().get_config(), "units": self.units}
