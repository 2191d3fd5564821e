"""One step of a decoder with attention and input feeding, and its gradient, written by hand."""

import dataclasses
from typing import ClassVar

import tensorflow as tf

from keras_seqzoo.layers.recurrence_kernels import Kernel, all_steps
from keras_seqzoo.shapes import dimension


@dataclasses.dataclass(frozen=True)
class InputFeedingKernel(Kernel):
    """A recurrent step, attention by a product with keys, and the vector that is fed back.

    `s' = cell(p + o·F, s)`, `w = softmax(keys·h')` over the valid steps of the memory,
    `c = Σ_s w_s · memory_s`, `o' = tanh([c; h']·J + b)`, where p is the projected input and h' the
    first of the cell's states s' (Luong et al. 2015, section 3.3). The states are o and s.

    Weights: `[F (O, P), J (M + U, O), b (O), keys (B, S, U), memory (B, S, M), valid (B, 1, S)]`
    and those of the cell. `valid` is 1 or 0; a row without a valid step has weights and context 0.

    Attributes:
        cell: the `Kernel` of the recurrent step.
    """

    cell: Kernel
    outputs: ClassVar[int] = 2  # o, and h for the attention weights

    def saved_sizes(self, states, weights):
        """The weights, the context, and what the cell saves."""
        keys, memory = weights[3:5]
        return [
            dimension(keys, 1),
            memory.shape[2],
            *self.cell.saved_sizes(states[1:], weights[6:]),
        ]

    def kept_sizes(self, states, weights):
        """The gradients of what tanh takes, of the scores and of c, and what the cell keeps."""
        keys, memory = weights[3:5]
        sizes = [states[0].shape[-1], dimension(keys, 1), memory.shape[2]]
        return [*sizes, *self.cell.kept_sizes(states[1:], weights[6:])]

    def forward(self, projected, seen, states, weights):
        """Does one step."""
        feed, join, bias, keys, memory, valid = weights[:6]
        projected = projected + tf.matmul(seen, feed)
        new, saved = self.cell.forward(projected, states[1], states[1:], weights[6:])
        scores = tf.matmul(new[0][:, tf.newaxis], keys, transpose_b=True)  # (B, 1, S)
        attended = tf.nn.softmax(tf.where(valid > 0, scores, scores.dtype.min)) * valid
        context = tf.matmul(attended, memory)[:, 0]
        output = tf.tanh(tf.matmul(tf.concat([context, new[0]], -1), join) + bias)
        return [output, *new], [attended[:, 0], context, *saved]

    def coefficients(self, new, previous, saved):
        """Gives 1 - o'², the weights, and what the cell gives."""
        cell = self.cell.coefficients(new[1:], previous[1:], saved[2:])
        return [1.0 - tf.square(new[0]), saved[0], *cell]

    def backward(self, coefficients, gradients, weights):
        """Does one step back."""
        feed, join, _, keys, memory, _ = weights[:6]
        by_join, attended, *cell = coefficients
        output = gradients[0] * by_join
        context, state = tf.split(tf.matmul(output, join), (memory.shape[-1], keys.shape[-1]), -1)
        by_weight = tf.matmul(context[:, tf.newaxis], memory, transpose_b=True)[:, 0]  # (B, S)
        mean = tf.reduce_sum(attended * by_weight, -1, keepdims=True)
        scores = attended * (by_weight - mean)
        state += gradients[1] + tf.matmul(scores[:, tf.newaxis], keys)[:, 0]
        kept, by_seen, direct = self.cell.backward(cell, [state, *gradients[2:]], weights[6:])
        fed = tf.matmul(self.cell.by_projected(self.cell.inner(cell, kept)), feed)
        return [output, scores, context, *kept], fed, [0.0, direct[0] + by_seen, *direct[1:]]

    def inner(self, coefficients, kept):
        """Gives what was kept, and what the cell gives of it."""
        return [*kept[:3], *self.cell.inner(coefficients[2:], kept[3:])]

    def by_projected(self, inner):
        """Gives the gradient of `projected`."""
        return self.cell.by_projected(inner[3:])

    def by_weights(self, inner, saved, new, previous):
        """Gives the gradients of all weights; that of `valid` is zero."""
        output, scores, context = inner[:3]
        attended, seen_context = (tf.cast(tensor, output.dtype) for tensor in saved[:2])
        state = tf.cast(new[1], output.dtype)
        return [
            all_steps(previous[0], self.by_projected(inner)),
            tf.concat([all_steps(seen_context, output), all_steps(state, output)], 0),
            tf.reduce_sum(output, (0, 1)),
            tf.einsum("tbs,tbu->bsu", scores, state),
            tf.einsum("tbs,tbm->bsm", attended, context),
            tf.zeros_like(tf.reduce_sum(scores, 0))[:, tf.newaxis],
            *self.cell.by_weights(inner[3:], saved[2:], new[1:], previous[1:]),
        ]
