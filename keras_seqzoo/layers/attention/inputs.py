"""The inputs of the parts of an attention layer."""

import dataclasses

import tensorflow as tf

from keras_seqzoo.layers.masks import valid_steps


@dataclasses.dataclass(frozen=True)
class AttentionInputs:
    """The queries and the memory of a call, as score terms and weightings read them.

    The Q queries of a row of the memory are the steps of a sequence, or hypotheses at one step.

    Attributes:
        query: float tensor `(B, Q, query depth)`.
        memory: float tensor `(B, S, memory depth)`.
        mask: bool tensor `(B, S)`, true at the valid steps of the memory, or `None`.
        position: int32 tensor `(B, Q)`, the number of valid steps before each query; `None` unless
            a part of the layer has `uses_position`.
        training: bool.
    """

    query: tf.Tensor
    memory: tf.Tensor
    mask: tf.Tensor | None
    position: tf.Tensor | None
    training: bool

    def valid(self):
        """Return the valid steps of the memory, bool `(B, S)`."""
        return valid_steps(self.mask, self.memory, "memory")

    def memory_positions(self):
        """Return the position of each valid step among the valid ones, int32 `(B, S)`, from 0."""
        return tf.cumsum(tf.cast(self.valid(), tf.int32), axis=1, exclusive=True)

    def memory_lengths(self):
        """Return the number of valid steps of the memory, int32 `(B,)`."""
        return tf.reduce_sum(tf.cast(self.valid(), tf.int32), axis=1)
