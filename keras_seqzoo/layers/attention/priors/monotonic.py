"""Attention that moves over the memory from left to right."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_choice, check_number
from keras_seqzoo.layers.attention.weighting import Weighting
from keras_seqzoo.tensors import loop_dtype


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class MonotonicWeighting(Weighting):
    """Weights of an attention that never goes back.

    Starting at the step it chose last, the attention looks at one step after the other and chooses
    each with probability p = σ(score + r). In training the weights are the probabilities of
    choosing each step,

    ```
    a_{t,s} = p_{t,s} Σ_{k ≤ s} a_{t-1,k} Π_{l=k}^{s-1} (1 - p_{t,l}),        a_0 = [1, 0, …]
    ```

    (Raffel et al. 2017, "Online and linear-time attention by enforcing monotonic alignments",
    section 2.3). Normal noise is added to the scores so that p becomes 0 or 1. The weights sum to
    less than 1 where the attention may choose no step. In decoding they are the same without noise
    (`"soft"`), or 1 at the first step with p > 0.5 (`"hard"`). If there is none, the weights of
    this and all later target steps are zero.

    The paper adds a bias r < 0 so that the attention first looks at the whole memory; choose r by
    the length of the memory. Each target step needs the weights of the step before, so the
    attention runs in a loop. A step takes S² operations for S steps of the memory.

    Args:
        decoding: `"soft"` or `"hard"`.
        noise: number, the standard deviation of the noise.
        bias: number, the initial value of r.
        seed: int or `None`, the seed of the noise.
        **kwargs: arguments of `keras.layers.Layer`, such as `name` and `dtype`.

    Raises:
        ValueError: if an argument is out of range.

    Example:
    >>> attention = BahdanauAttention(4, weighting=MonotonicWeighting("hard", bias=1.0))
    >>> _, weights, _ = attention(tf.zeros((1, 2, 4)), tf.zeros((1, 3, 4)))
    >>> weights.numpy()  # σ(1) > 0.5: it stays where it is
    array([[[1., 0., 0.],
            [1., 0., 0.]]], dtype=float32)
    """

    is_sequential = True

    def __init__(self, decoding="soft", noise=1.0, bias=-1.0, seed=None, **kwargs):
        super().__init__(**kwargs)
        check_choice("decoding", decoding, ("soft", "hard"))
        self.decoding = decoding
        self.noise = check_number("noise", noise, minimum=0.0)
        self.initial_bias = check_number("bias", bias)
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)

    def build(self, query_shape, memory_shape):
        """Create r."""
        initializer = keras.initializers.Constant(self.initial_bias)
        self.bias = self.add_weight(name="bias", shape=(), initializer=initializer, autocast=False)

    def get_initial_state(self, memory, mask):
        """Return a_0: 1 at the first valid step."""
        if mask is None:
            first = tf.zeros(tf.shape(memory)[:2], tf.int32)
            first += tf.range(tf.shape(memory)[1])
        else:
            first = tf.cumsum(tf.cast(mask, tf.int32), axis=1)
            first = tf.where(mask, first - 1, -1)
        return tf.cast(first == 0, loop_dtype(memory.dtype))

    def weigh(self, scores, inputs, state):
        """Compute the weights; see the class."""
        scores += tf.cast(self.bias, scores.dtype)
        valid = inputs.valid()[:, tf.newaxis]  # (B, 1, S)
        if self.decoding == "hard" and not inputs.training:
            weights = self._choose(scores, valid, state)
        else:
            if inputs.training and self.noise:
                drawn = keras.random.normal(
                    tf.shape(scores), dtype=scores.dtype.name, seed=self.seed_generator
                )
                scores += self.noise * drawn
            weights = _expect(scores, valid, state)
        return weights, weights

    @staticmethod
    def _choose(scores, valid, last):
        """Return 1 at the first step with a score above 0, from the last chosen step on."""
        reached = tf.cumsum(last, axis=-1) > 0.5
        chosen = tf.cast(reached & valid & (scores > 0), tf.int32)
        return tf.cast(tf.cumsum(chosen, axis=-1) * chosen == 1, scores.dtype)

    def get_config(self):
        """Return the constructor arguments."""
        return {
            **super().get_config(),
            "decoding": self.decoding,
            "noise": self.noise,
            "bias": self.initial_bias,
            "seed": self.seed,
        }


def _expect(scores, valid, last):
    """Return the probability of choosing each step, given those of the last target step."""
    # Sums of logarithms: products of 1 - p underflow in long memories. Padding is never chosen.
    go_on = tf.where(valid, -tf.nn.softplus(scores), tf.zeros((), scores.dtype))  # log(1 - p)
    passed = tf.cumsum(go_on, axis=-1, exclusive=True)
    # (B, Q, S from, S to): log Π (1 - p) from one step to the one before the other.
    between = passed[..., tf.newaxis, :] - passed[..., tf.newaxis]
    forwards = tf.linalg.band_part(tf.ones_like(between), 0, -1)
    reach = tf.exp(tf.minimum(between, 0.0)) * forwards
    chosen = tf.where(valid, tf.sigmoid(scores), tf.zeros((), scores.dtype))
    return chosen * tf.einsum("bqs,bqst->bqt", last, reach)
