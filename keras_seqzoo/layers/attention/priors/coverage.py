"""Scores that see which words have been translated."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_integer, check_positive
from keras_seqzoo.layers.attention.priors.fertility import Fertility
from keras_seqzoo.layers.attention.priors.windows import values_around
from keras_seqzoo.layers.attention.score_term import ScoreTerm
from keras_seqzoo.tensors import loop_dtype

LEAST = 0.01  # smallest fertility, to divide by


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class Coverage(ScoreTerm):
    """Score term that sees the coverage: the sum of the earlier weights.

    ```
    C_{j,i} = Σ_{j' < j} a_{j',i} / Φ_i
    f(j, i) = [C_{j,i-k}, …, C_{j,i+k}]
    ```

    It can learn to translate no word twice and to leave none out. Without `fertility`, Φ is 1: the
    coverage vector of See et al. (2017, "Get to the point", section 2.3) and, with a window, the
    local fertility of Cohn et al. (2016, section 3.3). With `fertility`, Φ_i = N·σ(uᵀ memory_i + b)
    is the expected number of target words for source word i: the linguistic coverage of Tu et al.
    (2016, "Modeling coverage for neural machine translation", section 3.1). Here Φ is at least
    0.01. Each target step needs the weights of earlier steps, so the attention runs in a loop.

    Padding between valid steps of the memory counts as a step with coverage 0.

    Args:
        fertility: number, the largest fertility N (Tu et al. have 2), or `None` for Φ = 1.
        window: int, k, at least 0.
        **kwargs: arguments of `keras.layers.Layer`, such as `name` and `dtype`.

    Raises:
        ValueError: if `window` or `fertility` is out of range.

    Example:
    >>> attention = BahdanauAttention(8, terms=[Coverage(fertility=2)])
    >>> context, weights, state = attention(tf.ones((2, 3, 4)), tf.ones((2, 5, 6)))
    >>> state["terms"][0].numpy().round(1)  # 3 words, shared by 5
    array([[0.6, 0.6, 0.6, 0.6, 0.6],
           [0.6, 0.6, 0.6, 0.6, 0.6]], dtype=float32)
    """

    is_sequential = True

    def __init__(self, fertility=None, window=0, **kwargs):
        super().__init__(**kwargs)
        self.window = check_integer("window", window, minimum=0)
        self.fertility = None
        if fertility is not None:
            fertility = check_positive("fertility", fertility, " or None")
            self.fertility = Fertility(
                fertility, dtype=self.dtype_policy, trainable=self.trainable, name="fertility"
            )

    @property
    def feature_size(self):
        """The number of features."""
        return 2 * self.window + 1

    def build(self, query_shape, memory_shape, units):
        """Create the weights."""
        super().build(query_shape, memory_shape, units)
        if self.fertility is not None:
            self.fertility.build(memory_shape)

    def get_initial_state(self, memory, mask):
        """Return the sum of the weights before the first step, zero."""
        return tf.zeros(tf.shape(memory)[:2], loop_dtype(memory.dtype))

    def features(self, inputs, state):
        """Return the coverage around each step; see the class."""
        if self.fertility is not None:
            fertility = tf.maximum(self.fertility(inputs.memory), LEAST)
            state /= tf.where(inputs.valid(), fertility, tf.ones_like(fertility))[:, tf.newaxis]
        return values_around(state, self.window)

    def next_state(self, state, weights):
        """Return the sum of the weights up to this step."""
        return state + weights

    def get_config(self):
        """Return the constructor arguments."""
        fertility = None if self.fertility is None else self.fertility.most
        return {**super().get_config(), "fertility": fertility, "window": self.window}
