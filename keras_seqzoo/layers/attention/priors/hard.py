"""Attention to one step of the memory."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_number
from keras_seqzoo.layers.attention.weighting import Weighting, masked_softmax


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class HardWeighting(Weighting):
    """Weight 1 at one step of the memory.

    ```
    training:  s* ~ softmax(score),   by   s* = argmax_s (score_s + g_s),   g_s ~ Gumbel(0, 1)
    decoding:  s* = argmax_s score_s
    ```

    Stochastic hard attention (Xu et al. 2015, "Show, attend and tell", section 4.1). The gradient
    is not their REINFORCE, but the straight-through one of Jang et al. (2017, "Categorical
    reparameterization with Gumbel-softmax", section 2.2): that of softmax((score + g) / τ), with
    temperature τ. It is biased, and has a smaller variance. All steps are computed at once.

    Args:
        temperature: number above 0, τ.
        seed: int or `None`, the seed of the samples.
        **kwargs: arguments of `keras.layers.Layer`, such as `name` and `dtype`.

    Raises:
        ValueError: if `temperature` is not above 0.

    Example:
    >>> attention = LuongAttention("dot", weighting=HardWeighting())
    >>> memory = tf.constant([[[1.0, 0.0], [0.0, 1.0]]])
    >>> attention(tf.constant([[0.2, 0.1]]), memory)[1].numpy()
    array([[1., 0.]], dtype=float32)
    """

    def __init__(self, temperature=1.0, seed=None, **kwargs):
        super().__init__(**kwargs)
        if check_number("temperature", temperature) <= 0:
            raise ValueError(f"`temperature` must be above 0, got {temperature!r}.")
        self.temperature = temperature
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)

    def weigh(self, scores, inputs, state):
        """Compute the weights; see the class."""
        if inputs.training:
            drawn = keras.random.uniform(
                tf.shape(scores), minval=1e-6, maxval=1.0, seed=self.seed_generator
            )
            scores -= tf.cast(tf.math.log(-tf.math.log(drawn)), scores.dtype)
        soft = masked_softmax(scores / self.temperature, inputs.mask)
        best = tf.argmax(soft, axis=-1, output_type=tf.int32)[..., tf.newaxis]
        hard = tf.cast(tf.range(tf.shape(scores)[-1]) == best, soft.dtype)
        hard = tf.where(inputs.valid()[:, tf.newaxis], hard, tf.zeros((), soft.dtype))
        return soft + tf.stop_gradient(hard - soft), state

    def get_config(self):
        """Return the constructor arguments."""
        return {**super().get_config(), "temperature": self.temperature, "seed": self.seed}
