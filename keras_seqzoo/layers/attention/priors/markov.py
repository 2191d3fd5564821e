"""Scores that see the last attention weights."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.layers.attention.priors.windows import values_around
from keras_seqzoo.layers.attention.score_term import ScoreTerm
from keras_seqzoo.tensors import loop_dtype


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class MarkovCondition(ScoreTerm):
    """Score term that sees the last attention weights around each step of the memory.

    ```
    f(j, i) = [a_{j-1,i-k}, …, a_{j-1,i+k}]              (filters=None)
    f(j, i) = Fᵀ [a_{j-1,i-k}, …, a_{j-1,i+k}]           (filters: the columns of F)
    ```

    with a_0 = 0 (Cohn et al. 2016, "Incorporating structural alignment biases into an attentional
    neural translation model", section 3.2). It can learn that the next word comes after the last
    one. With `filters` it is the convolution of Chorowski et al. (2015, "Attention-based models for
    speech recognition", section 2.2), for wide windows. Each target step needs the weights of the
    step before, so the attention runs in a loop.

    Padding between valid steps of the memory counts as a step with weight 0.

    Args:
        window: int, k, at least 0.
        filters: int, the number of filters, or `None` for the weights themselves.
        **kwargs: arguments of `keras.layers.Layer`, such as `name` and `dtype`.

    Raises:
        ValueError: if `window` or `filters` is out of range.

    Example:
    >>> attention = BahdanauAttention(8, terms=[MarkovCondition(window=2)])
    >>> context, weights, state = attention(tf.ones((2, 3, 4)), tf.ones((2, 5, 6)))
    >>> weights.shape, attention.is_sequential
    (TensorShape([2, 3, 5]), True)
    """

    is_sequential = True

    def __init__(self, window=1, filters=None, **kwargs):
        super().__init__(**kwargs)
        self.window = check_integer("window", window, minimum=0)
        self.filters = None if filters is None else check_integer("filters", filters, minimum=1)

    @property
    def feature_size(self):
        """The number of features."""
        return self.filters or 2 * self.window + 1

    def build(self, query_shape, memory_shape, units):
        """Create the weights."""
        super().build(query_shape, memory_shape, units)
        if self.filters is not None:
            shape = (2 * self.window + 1, self.filters)
            self.convolution = self.add_weight(name="convolution", shape=shape)

    def get_initial_state(self, memory, mask):
        """Return the weights before the first step, zero."""
        return tf.zeros(tf.shape(memory)[:2], loop_dtype(memory.dtype))

    def features(self, inputs, state):
        """Return the weights around each step; see the class."""
        around = values_around(state, self.window)
        if self.filters is None:
            return around
        return tf.einsum("bqsw,wf->bqsf", around, tf.cast(self.convolution, around.dtype))

    def next_state(self, state, weights):
        """Return the weights of this step."""
        return weights

    def get_config(self):
        """Return the constructor arguments."""
        return {**super().get_config(), "window": self.window, "filters": self.filters}
