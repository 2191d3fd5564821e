"""Attention to a window of the memory."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_choice, check_integer
from keras_seqzoo.layers.attention.weighting import Weighting, masked_softmax


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class LocalWeighting(Weighting):
    """Softmax over a window of the memory around a position p_t.

    ```
    monotonic (local-m):   p_t = min(t, S),             a_t(s) = softmax(score)_s
    predictive (local-p):  p_t = S·σ(vᵀ tanh(W·query_t)),
                           a_t(s) = softmax(score)_s · exp(-(s - p_t)² / (2σ²)),   σ = D/2
    ```

    Here t and s count from 1, S is the number of valid steps, and the softmax runs over the s with
    |s - p_t| <= D (Luong et al. 2015, "Effective approaches to attention-based neural machine
    translation", section 3.2). Their p_t = t has no limit, so late steps of a long target have an
    empty window. The weights of local-p sum to less than 1. All steps are computed at once,
    including the scores outside the window.

    Args:
        position: `"monotonic"` or `"predictive"`.
        window: int, D, at least 1.
        units: int, rows of W, or `None` for the depth of the query. Only for `"predictive"`.
        **kwargs: arguments of `keras.layers.Layer`, such as `name` and `dtype`.

    Raises:
        ValueError: if an argument is out of range.

    Example:
    >>> attention = LuongAttention("dot", weighting=LocalWeighting("monotonic", window=1))
    >>> _, weights, _ = attention(tf.zeros((1, 2, 4)), tf.zeros((1, 5, 4)))
    >>> weights.numpy().round(2)
    array([[[0.5 , 0.5 , 0.  , 0.  , 0.  ],
            [0.33, 0.33, 0.33, 0.  , 0.  ]]], dtype=float32)
    """

    def __init__(self, position="predictive", window=10, units=None, **kwargs):
        super().__init__(**kwargs)
        check_choice("position", position, ("monotonic", "predictive"))
        if units is not None:
            if position != "predictive":
                raise ValueError(f'`units` must be None for `position="monotonic"`, got {units!r}.')
            check_integer("units", units, minimum=1)
        self.position = position
        self.window = check_integer("window", window, minimum=1)
        self.units = units

    @property
    def uses_position(self):
        """Whether the part reads the position of the query."""
        return self.position == "monotonic"

    def build(self, query_shape, memory_shape):
        """Create W and v."""
        if self.position == "predictive":
            units = self.units or query_shape[-1]
            self.kernel = self.add_weight(name="kernel", shape=(query_shape[-1], units))
            self.vector = self.add_weight(name="vector", shape=(units, 1))

    def weigh(self, scores, inputs, state):
        """Compute the weights; see the class."""
        length = tf.cast(inputs.memory_lengths(), scores.dtype)[:, tf.newaxis]
        if self.position == "monotonic":
            center = tf.minimum(tf.cast(inputs.position + 1, scores.dtype), length)  # (B, Q)
        else:
            center = length * self._predict(tf.cast(inputs.query, scores.dtype))
        steps = tf.cast(inputs.memory_positions() + 1, scores.dtype)[:, tf.newaxis]  # (B, 1, S)
        distance = steps - center[..., tf.newaxis]
        inside = (tf.abs(distance) <= self.window) & inputs.valid()[:, tf.newaxis]
        weights = masked_softmax(scores, inside)
        if self.position == "predictive":
            weights *= tf.exp(-2.0 * tf.square(distance / self.window))
        return weights, state

    def _predict(self, query):
        """Return the fraction of the memory before the center, `(B, Q)`."""
        kernel, vector = (tf.cast(x, query.dtype) for x in (self.kernel, self.vector))
        hidden = tf.tanh(tf.einsum("bqd,du->bqu", query, kernel))
        return tf.sigmoid(tf.einsum("bqu,u->bq", hidden, vector[:, 0]))

    def get_config(self):
        """Return the constructor arguments."""
        config = {"position": self.position, "window": self.window, "units": self.units}
        return {**super().get_config(), **config}
