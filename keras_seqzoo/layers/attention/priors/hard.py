"""Attention to one step of the memory."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_choice, check_positive
from keras_seqzoo.layers.attention.weighting import Weighting, masked_softmax
from keras_seqzoo.tensors import loop_dtype
from keras_seqzoo.time_arrays import padded


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class HardWeighting(Weighting):
    """Hard attention: weight 1 at one step of the memory.

    ```
    training:  s* ~ softmax(score),   by   s* = argmax_s (score_s + g_s),   g_s ~ Gumbel(0, 1)
    decoding:  s* = argmax_s score_s
    ```

    Stochastic hard attention (Xu et al. 2015, "Show, attend and tell", section 4.1). `estimator`
    selects the gradient of the scores:

    - "straight-through": the gradient of softmax((score + g) / τ) with temperature τ (Jang et al.
      2017, "Categorical reparameterization with Gumbel-softmax", section 2.2). It is biased but has
      a small variance. All steps are computed at once.
    - "reinforce": no gradient by itself. In training, the state of the attention sums log π(s*) and
      the entropy of π over the steps, with π = softmax(score). `ReinforcedAttention` of
      `keras_seqzoo.models` turns the sums into the gradient of Xu et al. The attention runs in a
      loop.

    Args:
        temperature: number above 0, τ; 1 with "reinforce".
        seed: int or `None`, the seed of the samples.
        estimator: `"straight-through"` or `"reinforce"`.
        **kwargs: arguments of `keras.layers.Layer`, such as `name` and `dtype`.

    Raises:
        ValueError: if an argument is out of range.

    Example:
    >>> attention = LuongAttention("dot", weighting=HardWeighting())
    >>> memory = tf.constant([[[1.0, 0.0], [0.0, 1.0]]])
    >>> attention(tf.constant([[0.2, 0.1]]), memory)[1].numpy()
    array([[1., 0.]], dtype=float32)
    """

    def __init__(self, temperature=1.0, seed=None, estimator="straight-through", **kwargs):
        super().__init__(**kwargs)
        check_positive("temperature", temperature)
        check_choice("estimator", estimator, ("straight-through", "reinforce"))
        if estimator == "reinforce" and temperature != 1:
            raise ValueError(
                f'`temperature` must be 1 with `estimator="reinforce"`, got {temperature!r}.'
            )
        self.temperature = temperature
        self.estimator = estimator
        self.is_sequential = estimator == "reinforce"
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)

    def get_initial_state(self, memory, mask):
        """Return zero log probabilities and entropies with "reinforce"."""
        if not self.is_sequential:
            return ()
        zeros = tf.zeros(tf.shape(memory)[:1], loop_dtype(memory.dtype))
        return {"log_probability": zeros, "entropy": zeros}

    def weigh(self, scores, inputs, state):
        """Compute the weights; see the class."""
        noisy = scores + self.noise(scores) if inputs.training else scores
        soft = masked_softmax(noisy / self.temperature, inputs.mask)
        best = tf.argmax(padded(soft, -1), axis=-1, output_type=tf.int32)[..., tf.newaxis]
        hard = tf.cast(tf.range(tf.shape(scores)[-1]) == best, soft.dtype)
        valid = inputs.valid()[:, tf.newaxis]  # (B, 1, S)
        hard = tf.where(valid, hard, tf.zeros((), soft.dtype))
        if not self.is_sequential:
            return soft + tf.stop_gradient(hard - soft), state
        if not inputs.training:
            return hard, state
        logs = tf.where(valid, scores, scores.dtype.min)
        logs = tf.where(valid, tf.nn.log_softmax(logs), tf.zeros((), scores.dtype))  # log π
        likely = masked_softmax(scores, inputs.mask)
        return hard, {
            "log_probability": state["log_probability"] + tf.reduce_sum(hard * logs, axis=-1),
            "entropy": state["entropy"] - tf.reduce_sum(likely * logs, axis=-1),
        }

    def noise(self, scores):
        """Return Gumbel noise of the shape and dtype of scores."""
        drawn = keras.random.uniform(
            tf.shape(scores), minval=1e-6, maxval=1.0, seed=self.seed_generator
        )
        return -tf.cast(tf.math.log(-tf.math.log(drawn)), scores.dtype)

    def get_config(self):
        """Return the constructor arguments."""
        names = ("temperature", "seed", "estimator")
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}
