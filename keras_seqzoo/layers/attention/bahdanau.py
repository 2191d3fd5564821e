"""Attention with an additive score."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.layers.attention.base import Attention


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class BahdanauAttention(Attention):
    """Attention whose score is a network with one hidden layer.

    ```
    score(query, memory_s) = vᵀ tanh(W·query + U·memory_s)
    ```

    Bahdanau, Cho and Bengio 2015, "Neural machine translation by jointly learning to align and
    translate", appendix A.1.2. `U·memory_s` is the same for all queries: pass it as `keys` to
    attend to one memory many times.

    Args:
        units: int, size of the hidden layer.
        **kwargs: `terms` and `weighting`, see `Attention`, and arguments of `keras.layers.Layer`,
            such as `name` and `dtype`.

    Call arguments and returns: see `Attention`.

    Raises:
        ValueError: if `units` is not a positive integer.

    Example:
    >>> attention = BahdanauAttention(units=8)
    >>> context, weights, _ = attention(keras.ops.ones((2, 3)), keras.ops.ones((2, 5, 4)))
    >>> context.shape, weights.shape
    (TensorShape([2, 4]), TensorShape([2, 5]))
    """

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = check_integer("units", units, minimum=1)
        self.query_projection, self.memory_projection = (
            keras.layers.Dense(self.units, use_bias=False, **self.part_options(name))
            for name in ("query_projection", "memory_projection")
        )

    def build(self, query_shape, memory_shape):
        """Create W, U and v."""
        self.query_projection.build(query_shape)
        if not self.memory_projection.built:  # `project_memory` may come first
            self.memory_projection.build(memory_shape)
        self.vector = self.add_weight(name="vector", shape=(self.units, 1))
        super().build(query_shape, memory_shape)

    @property
    def hidden_units(self):
        """The size of the hidden layer."""
        return self.units

    def project_memory(self, memory):
        """Compute U·memory, `(batch, steps, units)`."""
        return self.memory_projection(memory)

    def scores(self, query, keys, added=None):
        """Compute the scores `(batch, time, steps)` of `query` `(batch, time, depth)`.

        `added` `(batch, time, steps, units)` is added in the hidden layer.
        """
        if keys.shape[-1] != self.units:
            raise ValueError(
                f"`keys` must have {self.units} features, the `units` of the layer, "
                f"got the shape {tuple(keys.shape)}."
            )
        query = self._project_query(query)[:, :, tf.newaxis]
        hidden = query + keys[:, tf.newaxis]  # (batch, time, steps, units)
        hidden = tf.tanh(hidden if added is None else hidden + added)
        vector = tf.cast(self.vector[:, 0], hidden.dtype)
        return tf.einsum("btsu,u->bts", hidden, vector)

    def _project_query(self, query):
        if self.query_projection.quantization_mode is not None:
            return self.query_projection(query)
        # Not Dense, which calls tensordot: XLA cannot compile its gradient in a loop with unknown
        # shapes.
        kernel = tf.cast(self.query_projection.kernel, query.dtype)
        return tf.einsum("btq,qu->btu", query, kernel)

    def get_config(self):
        """Return the constructor arguments."""
        return {**super().get_config(), "units": self.units}
