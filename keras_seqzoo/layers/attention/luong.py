"""Attention with a multiplicative score."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_choice, check_integer
from keras_seqzoo.layers.attention.bahdanau import BahdanauAttention
from keras_seqzoo.layers.attention.base import Attention


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class LuongAttention(Attention):
    """Attention with one of the three scores of Luong et al.

    ```
    dot:      score(query, memory_s) = queryᵀ memory_s
    general:  score(query, memory_s) = queryᵀ W memory_s
    concat:   score(query, memory_s) = vᵀ tanh(W [query; memory_s])
    ```

    Luong, Pham and Manning 2015, "Effective approaches to attention-based neural machine
    translation", equation 8. With W split in two halves, "concat" is the score of
    `BahdanauAttention`; the papers differ in which decoder state is the query.

    Args:
        score: "dot" (query and memory have the same depth), "general" or "concat".
        units: int, rows of W in "concat", or `None` for the depth of the query. Only for "concat".
        scale: bool, whether to divide "dot" and "general" by the square root of the memory depth
            (Vaswani et al. 2017, "Attention is all you need", equation 1). With deep memories this
            keeps the softmax from saturating.
        **kwargs: `terms` and `weighting`, see `Attention`, and arguments of `keras.layers.Layer`,
            such as `name` and `dtype`.

    Call arguments and returns: see `Attention`.

    Raises:
        ValueError: if an argument is invalid, or with "dot" if the depths of query and memory
            differ.

    Example:
    >>> attention = LuongAttention("dot", scale=True)
    >>> query, memory = keras.ops.ones((2, 7, 4)), keras.ops.ones((2, 5, 4))
    >>> context, weights, _ = attention(query, memory)  # all 7 queries in one matmul
    >>> context.shape, weights.shape
    (TensorShape([2, 7, 4]), TensorShape([2, 7, 5]))
    """

    def __init__(self, score="dot", units=None, scale=False, **kwargs):
        check_choice("score", score, ("dot", "general", "concat"))
        if units is not None:
            if score != "concat":
                raise ValueError(f'`units` must be None for `score="{score}"`, got {units!r}.')
            units = check_integer("units", units, minimum=1)
        if score == "concat" and scale:
            raise ValueError(f'`scale` must be False for `score="concat"`, got {scale!r}.')
        super().__init__(**kwargs)
        self.score = score
        self.units = units
        self.scale = scale

    def build(self, query_shape, memory_shape):
        """Create W (and v)."""
        query_depth, memory_depth = query_shape[-1], memory_shape[-1]
        if self.score == "dot" and query_depth != memory_depth:
            raise ValueError(
                '`query` and `memory` must have the same depth for `score="dot"`, '
                f"got {query_depth} and {memory_depth}."
            )
        if self.score == "general":
            self.kernel = self.add_weight(name="kernel", shape=(query_depth, memory_depth))
        if self.score == "concat":
            self.network = BahdanauAttention(
                self.units or query_depth, **self.part_options("network")
            )
            self.network.build(query_shape, memory_shape)
        super().build(query_shape, memory_shape)

    @property
    def hidden_units(self):
        """The size of the hidden layer of "concat", else `None`."""
        return self.network.units if self.score == "concat" else None

    def project_memory(self, memory):
        """Compute the keys: W·memory, or the memory for "dot"; `scale` divides them by the root.

        Raises:
            ValueError: for "general" and "concat", before `build` or the first call.
        """
        if self.score != "dot" and not self.built:
            raise ValueError(
                "The layer must be built for `project_memory`, got one without weights. Call it, "
                "or `build(query_shape, memory_shape)`, first."
            )
        if self.score == "concat":
            return self.network.project_memory(memory)
        keys = super().project_memory(memory)
        if self.scale:
            keys *= tf.cast(keys.shape[-1] ** -0.5, keys.dtype)  # before float16 can overflow
        if self.score == "general":
            keys = tf.einsum("bsm,qm->bsq", keys, tf.cast(self.kernel, keys.dtype))
        return keys

    def scores(self, query, keys, added=None):
        """Compute the scores `(batch, time, steps)` of `query` `(batch, time, depth)`.

        `added` `(batch, time, steps, units)` is added in the hidden layer of "concat".
        """
        if self.score == "concat":
            return self.network.scores(query, keys, added)
        if query.shape[-1] != keys.shape[-1]:
            raise ValueError(
                f"`keys` must have {query.shape[-1]} features, the depth of `query`, "
                f"got the shape {tuple(keys.shape)}."
            )
        return tf.matmul(query, keys, transpose_b=True)

    def get_config(self):
        """Return the constructor arguments."""
        config = {"score": self.score, "units": self.units, "scale": self.scale}
        return {**super().get_config(), **config}
