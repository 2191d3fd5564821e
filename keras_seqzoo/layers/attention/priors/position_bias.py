"""A bias of attention towards the diagonal."""

import keras
import tensorflow as tf

from keras_seqzoo.layers.attention.score_term import ScoreTerm
from keras_seqzoo.tensors import loop_dtype


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class PositionBias(ScoreTerm):
    """Score term that sees the positions in target and source, and the source length.

    ```
    f(j, i) = [log(1 + j), log(1 + i), log(1 + I)]
    ```

    for target position j and source position i, counted from 1, and source length I (Cohn et al.
    2016, "Incorporating structural alignment biases into an attentional neural translation model",
    section 3.1). With a hidden layer the weights can learn that words stay in order; added to a dot
    or general score, the term can only prefer the beginning or the end of the source. All steps are
    computed at once.

    Args:
        **kwargs: arguments of `keras.layers.Layer`, such as `name` and `dtype`.

    Example:
    >>> attention = BahdanauAttention(8, terms=[PositionBias()])
    >>> context, weights, state = attention(tf.ones((2, 3, 4)), tf.ones((2, 5, 6)))
    >>> weights.shape, state["position"].numpy()
    (TensorShape([2, 3, 5]), array([3, 3], dtype=int32))
    """

    feature_size = 3
    uses_position = True

    def features(self, inputs, state):
        """Compute the logarithms; see the class."""
        target = inputs.position[:, :, tf.newaxis] + 1  # (B, Q, 1)
        source = inputs.memory_positions()[:, tf.newaxis] + 1  # (B, 1, S)
        length = inputs.memory_lengths()[:, tf.newaxis, tf.newaxis]
        both = tf.zeros_like(target) + tf.zeros_like(source)  # (B, Q, S)
        stacked = tf.stack([target + both, source + both, length + both], axis=-1)
        return tf.math.log1p(tf.cast(stacked, loop_dtype(inputs.memory.dtype)))
