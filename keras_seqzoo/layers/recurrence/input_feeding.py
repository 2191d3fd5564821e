"""The loop of a decoder whose last output is an input of the next step."""

import dataclasses
from typing import ClassVar

import tensorflow as tf

from keras_seqzoo.layers.attention.base import check_keys
from keras_seqzoo.layers.attention.luong import LuongAttention
from keras_seqzoo.layers.masks import valid_steps
from keras_seqzoo.layers.recurrence.affine import AffineCell
from keras_seqzoo.layers.recurrence.kernel_loop import Lane, kernel_recurrence
from keras_seqzoo.layers.recurrence.kernels import Kernel, all_steps
from keras_seqzoo.layers.recurrence.shared_loop import compiles, time_major, zero_padding
from keras_seqzoo.layers.recurrence.time_arrays import (
    at_least_one,
    padded,
    read_array,
    stacked,
    write_array,
)
from keras_seqzoo.tensors import dimension, loop_dtype


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


def run_fed(decoder, sequence, mask, state, memory, memory_mask, keys, scale, training):
    """Runs an `AttentionDecoder` with input feeding over a sequence.

    Args:
        decoder: the layer, built.
        sequence: tensor `(B, T, F)` in the compute dtype.
        mask: boolean tensor `(B, T)` or None.
        state: the decoder's state before the first step.
        memory: tensor `(B, S, M)`.
        memory_mask: boolean tensor `(B, S)` or None.
        keys: what the attention made of the memory.
        scale: None or tensor `(B, 1, size)`, dropout on the input of the upper layers.
        training: bool.

    Returns:
        Tuple of the outputs `(B, T, units)`, the attention weights `(B, T, S)` and the last state.
    """
    steps, mask = time_major(sequence, mask)
    if memory_mask is not None:
        memory_mask = valid_steps(memory_mask, memory, "memory")
    check_keys(keys, memory)
    if _has_kernel(decoder):
        return _by_kernel(decoder, steps, mask, state, memory, memory_mask, keys, training)
    return _differentiated(decoder, steps, mask, state, memory, memory_mask, keys, scale, training)


def _has_kernel(decoder):
    """Tells whether all that a step does is what `InputFeedingKernel` does."""
    if len(decoder.layers) > 1 or decoder.residual:
        return False
    (layer,), attention = decoder.layers, decoder.attention
    return (
        isinstance(layer.cell, AffineCell)
        and type(layer.cell).project is AffineCell.project
        and layer.cell.own_kernel_step() is not None
        and decoder.join.quantization_mode is None
        and not (layer.dropout or layer.recurrent_dropout or layer.zoneout)
        and type(attention) is LuongAttention
        and attention.score != "concat"
    )


def _by_kernel(decoder, steps, mask, state, memory, memory_mask, keys, training):
    (layer,) = decoder.layers
    cell, join = layer.cell, decoder.join
    features = steps.shape[-1]
    kernel = cell.ready(cell.kernel)
    memory, keys = (tf.cast(tensor, decoder.compute_dtype) for tensor in (memory, keys))
    valid = tf.ones(tf.shape(memory)[:2]) if memory_mask is None else memory_mask
    valid = tf.cast(valid, loop_dtype(steps.dtype))[:, tf.newaxis]  # (B, 1, S)
    output = tf.cast(state["output"], decoder.compute_dtype)
    states = [output, *layer.first_states(state["layers"][0], dimension(steps, 1))]
    keep = None
    if mask is not None:
        keep = [1.0 - tf.cast(mask, valid.dtype)[..., tf.newaxis]] * len(states)  # (T, B, 1)
    lane = Lane(
        InputFeedingKernel(cell.own_kernel_step()),
        cell.project(steps, kernel=kernel[:features]),
        states,
        [kernel[features:], cell.ready(join.kernel), cell.ready(join.bias), keys, memory, valid]
        + layer.weights_of_state(bool(training)),
        keep=keep,
    )
    [((outputs, queries), last)] = kernel_recurrence(
        [lane], training=bool(training), compiled=compiles(layer, training)
    )
    outputs = tf.transpose(zero_padding(outputs, mask), (1, 0, 2))  # (B, T, U)
    # Once more for all steps, so that their gradient is right too; unused, graphs drop it.
    queries = tf.transpose(queries, (1, 0, 2))
    weights = decoder.attention(queries, memory, mask=memory_mask, keys=keys)[1]
    return outputs, weights, {"layers": [last[1:]], "output": last[0]}


def _differentiated(decoder, steps, mask, state, memory, memory_mask, keys, scale, training):
    length = dimension(steps, 0)
    inputs = read_array(steps)
    rows = None if mask is None else padded(mask)
    batch, width = dimension(memory, 0), dimension(memory, 1)
    outputs = write_array([batch, decoder.units], steps.dtype, length)
    weights = write_array([batch, width], loop_dtype(steps.dtype), length)
    scale = None if scale is None else scale[:, 0]  # (B, upper input)

    def body(time, state, outputs, weights):
        output, attended, new_state = decoder.feed(
            inputs.read(time), state, memory, memory_mask, keys, scale, training
        )
        if rows is not None:
            valid = rows[time, :, tf.newaxis]  # (B, 1)
            new_state = tf.nest.map_structure(
                lambda new, old: tf.where(valid, new, old), new_state, state
            )
            output = tf.where(valid, output, tf.zeros((), output.dtype))
        outputs = outputs.write(time, output)
        return time + 1, new_state, outputs, weights.write(time, attended)

    _, state, outputs, weights = tf.while_loop(
        lambda time, *_: time < length,
        body,
        (tf.constant(0), state, outputs, weights),
        maximum_iterations=at_least_one(length),
    )
    outputs = tf.transpose(stacked(outputs, length), (1, 0, 2))  # (T, B, U) -> (B, T, U)
    return outputs, tf.transpose(stacked(weights, length), (1, 0, 2)), state
