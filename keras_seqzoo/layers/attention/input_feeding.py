"""Input feeding with a hand-written gradient: each output is an input of the next step."""

import dataclasses
from typing import ClassVar

import tensorflow as tf

from keras_seqzoo.layers.attention.luong import LuongAttention
from keras_seqzoo.layers.recurrence.affine import AffineCell
from keras_seqzoo.layers.recurrence.kernel_loop import Recurrence, run_kernel_loop
from keras_seqzoo.layers.recurrence.kernels import Kernel, sum_over_steps
from keras_seqzoo.layers.recurrence.normalization import NormalizedCell
from keras_seqzoo.layers.recurrence.shared_loop import is_compiled, zero_padding
from keras_seqzoo.tensors import dimension, loop_dtype


@dataclasses.dataclass(frozen=True)
class InputFeedingKernel(Kernel):
    """A recurrent step, dot-product attention, and the output that is fed back.

    `s' = cell(p + o·F, s)`, `w = softmax(keys·h')` over the valid steps of the memory,
    `c = Σ_s w_s · memory_s`, `o' = tanh([c; h']·J + b)`, where p is the projected input and h' the
    first of the cell's states s' (Luong et al. 2015, section 3.3). The states are o and the
    cell's.

    Weights: `[F (O, P), J (M + U, O), b (O), keys (B, S, U), memory (B, S, M), valid (B, 1, S)]`
    and the weights of the cell. `valid` is 1 or 0; a row without a valid step has weights and
    context 0.

    Attributes:
        cell: the `Kernel` of the recurrent step.
    """

    cell: Kernel
    outputs: ClassVar[int] = 2  # o, and h for the attention weights

    def saved_sizes(self, states, weights):
        """Return the sizes of the attention weights, the context, and what the cell saves."""
        keys, memory = weights[3:5]
        return [
            dimension(keys, 1),
            memory.shape[2],
            *self.cell.saved_sizes(states[1:], weights[6:]),
        ]

    def kept_sizes(self, states, weights):
        """Return the sizes of the gradients of o', the scores and c, and what the cell keeps."""
        keys, memory = weights[3:5]
        sizes = [states[0].shape[-1], dimension(keys, 1), memory.shape[2]]
        return [*sizes, *self.cell.kept_sizes(states[1:], weights[6:])]

    def split(self, projected):
        """Split as the cell does."""
        return self.cell.split(projected)

    def forward(self, inputs, seen, states, weights):
        """Run one step."""
        feed, join, bias, keys, memory, valid = weights[:6]
        fed = tf.split(tf.matmul(seen, feed), [tensor.shape[-1] for tensor in inputs], -1)
        inputs = [own + more for own, more in zip(inputs, fed, strict=True)]
        new, saved = self.cell.forward(inputs, states[1], states[1:], weights[6:])
        scores = tf.matmul(new[0][:, tf.newaxis], keys, transpose_b=True)  # (B, 1, S)
        attended = tf.nn.softmax(tf.where(valid > 0, scores, scores.dtype.min)) * valid
        context = tf.matmul(attended, memory)[:, 0]
        output = tf.tanh(tf.matmul(tf.concat([context, new[0]], -1), join) + bias)
        return [output, *new], [attended[:, 0], context, *saved]

    def coefficients(self, new, previous, saved):
        """Compute 1 - o'², the attention weights, and the factors of the cell."""
        cell = self.cell.coefficients(new[1:], previous[1:], saved[2:])
        return [1.0 - tf.square(new[0]), saved[0], *cell]

    def backward(self, coefficients, gradients, weights):
        """Run one step back."""
        feed, join, _, keys, memory, _ = weights[:6]
        by_join, attended, *cell = coefficients
        output = gradients[0] * by_join
        context, state = tf.split(tf.matmul(output, join), (memory.shape[-1], keys.shape[-1]), -1)
        by_weight = tf.matmul(context[:, tf.newaxis], memory, transpose_b=True)[:, 0]  # (B, S)
        mean = tf.reduce_sum(attended * by_weight, -1, keepdims=True)
        scores = attended * (by_weight - mean)
        state += gradients[1] + tf.matmul(scores[:, tf.newaxis], keys)[:, 0]
        kept, by_seen, direct = self.cell.backward(cell, [state, *gradients[2:]], weights[6:])
        fed = tf.matmul(
            self.cell.projected_gradient(self.cell.activation_gradients(cell, kept)), feed
        )
        return [output, scores, context, *kept], fed, [0.0, direct[0] + by_seen, *direct[1:]]

    def activation_gradients(self, coefficients, kept):
        """Return what was kept for o', the scores and c, and the gradients of the cell."""
        return [*kept[:3], *self.cell.activation_gradients(coefficients[2:], kept[3:])]

    def projected_gradient(self, inner):
        """Return the gradient of `projected`."""
        return self.cell.projected_gradient(inner[3:])

    def weight_gradients(self, inner, saved, new, previous):
        """Compute the gradients of the weights, zero for `valid`."""
        output, scores, context = inner[:3]
        attended, seen_context = (tf.cast(tensor, output.dtype) for tensor in saved[:2])
        state = tf.cast(new[1], output.dtype)
        return [
            sum_over_steps(previous[0], self.projected_gradient(inner)),
            tf.concat([sum_over_steps(seen_context, output), sum_over_steps(state, output)], 0),
            tf.reduce_sum(output, (0, 1)),
            tf.einsum("tbs,tbu->bsu", scores, state),
            tf.einsum("tbs,tbm->bsm", attended, context),
            tf.zeros_like(tf.reduce_sum(scores, 0))[:, tf.newaxis],
            *self.cell.weight_gradients(inner[3:], saved[2:], new[1:], previous[1:]),
        ]


def has_kernel(decoder):
    """Return whether `InputFeedingKernel` computes the equations of a decoder's step."""
    if len(decoder.layers) > 1 or decoder.residual or decoder.attend != "after":
        return False
    if not decoder.input_feeding or decoder.context_feeding or decoder.readout != "tanh":
        return False
    (layer,), attention = decoder.layers, decoder.attention
    return (
        isinstance(layer.cell, AffineCell)
        and type(layer.cell).project is AffineCell.project
        and type(layer.cell).multiply in (AffineCell.multiply, NormalizedCell.multiply)
        and layer.cell.get_kernel_step() is not None
        and not layer.cell.layer_normalization  # of the whole input, which the kernel splits
        and decoder.join.quantization_mode is None
        and not (layer.dropout or layer.recurrent_dropout or layer.zoneout)
        and type(attention) is LuongAttention
        and attention.score != "concat"
        and not attention.parts
    )


def run_kernel(decoder, steps, mask, state, memory, memory_mask, keys, training):
    """Run an `AttentionDecoder` that `has_kernel`; see `run_decoder_loop`."""
    (layer,) = decoder.layers
    cell, join = layer.cell, decoder.join
    features = steps.shape[-1]
    kernel = cell.cast_weight(cell.kernel)
    memory, keys = (tf.cast(tensor, decoder.compute_dtype) for tensor in (memory, keys))
    valid = tf.ones(tf.shape(memory)[:2]) if memory_mask is None else memory_mask
    valid = tf.cast(valid, loop_dtype(steps.dtype))[:, tf.newaxis]  # (B, 1, S)
    output = tf.cast(state["output"], decoder.compute_dtype)
    states = [output, *layer.prepare_states(state["layers"][0], dimension(steps, 1))]
    keep = None
    if mask is not None:
        keep = [1.0 - tf.cast(mask, valid.dtype)[..., tf.newaxis]] * len(states)  # (T, B, 1)
    joint = [cell.cast_weight(join.kernel), cell.cast_weight(join.bias)]
    recurrence = Recurrence(
        InputFeedingKernel(cell.get_kernel_step()),
        cell.project(steps, kernel=kernel[:features]),
        states,
        [kernel[features:], *joint, keys, memory, valid, *layer.kernel_weights(bool(training))],
        keep=keep,
    )
    [((outputs, queries), last)] = run_kernel_loop(
        [recurrence], training=bool(training), compiled=is_compiled(layer, training)
    )
    outputs = tf.transpose(zero_padding(outputs, mask), (1, 0, 2))  # (B, T, U)
    # Computed again for all steps, so that the weights have a gradient; graphs prune it if unused.
    queries = tf.transpose(queries, (1, 0, 2))
    weights = decoder.attention(queries, memory, mask=memory_mask, keys=keys)[1]
    return outputs, weights, {"layers": [last[1:]], "output": last[0]}
