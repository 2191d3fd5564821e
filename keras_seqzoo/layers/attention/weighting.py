"""Base class of weightings, which turn attention scores into weights, and a masked softmax."""

import tensorflow as tf

from keras_seqzoo.layers.attention.part import AttentionPart


class Weighting(AttentionPart):
    """A replacement for the softmax that turns attention scores into weights.

    A subclass defines `weigh`. If the weights depend on earlier ones, it sets
    `is_sequential = True` and defines `get_initial_state`; see `AttentionPart`.

    Args:
        **kwargs: arguments of `keras.layers.Layer`, such as `name` and `dtype`. `dtype` must be
            that of the attention layer.
    """

    def build(self, query_shape, memory_shape):
        """Create the weights, if any."""

    def weigh(self, scores, inputs, state):
        """Compute the weights of a step.

        Args:
            scores: tensor `(B, Q, S)`, float32 or float64.
            inputs: `AttentionInputs`.
            state: the state before the step, with the leading dimensions (B, Q).

        Returns:
            A tuple of the weights `(B, Q, S)`, zero at padding, in the dtype of the scores, and the
            state after the step.
        """
        raise NotImplementedError(f"{type(self).__name__} must define `weigh`.")


def masked_softmax(scores, mask):
    """Compute the softmax over the steps that `mask` marks as valid.

    Args:
        scores: float tensor `(batch, time, steps)`.
        mask: bool tensor `(batch, steps)` or `(batch, time, steps)`, or None.

    Returns:
        Tensor `(batch, time, steps)`, zero at other steps. A row without a valid step is all zero,
        and so is its gradient.
    """
    if mask is None:
        return tf.nn.softmax(scores)
    mask = mask[:, tf.newaxis] if mask.shape.rank == 2 else mask  # (batch, 1 or time, steps)
    weights = tf.nn.softmax(tf.where(mask, scores, scores.dtype.min))
    return tf.where(mask, weights, tf.zeros((), weights.dtype))
