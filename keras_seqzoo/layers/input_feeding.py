"""The loop of a decoder whose last output is an input of the next step."""

import tensorflow as tf

from keras_seqzoo.layers.affine import AffineCell
from keras_seqzoo.layers.attention import check_keys
from keras_seqzoo.layers.input_feeding_kernel import InputFeedingKernel
from keras_seqzoo.layers.kernel_recurrence import kernel_recurrence
from keras_seqzoo.layers.lane import Lane
from keras_seqzoo.layers.luong_attention import LuongAttention
from keras_seqzoo.layers.masks import valid_steps
from keras_seqzoo.layers.scan import compiles, time_major, zero_padding
from keras_seqzoo.layers.time_arrays import (
    at_least_one,
    padded,
    read_array,
    stacked,
    write_array,
)
from keras_seqzoo.precision import loop_dtype
from keras_seqzoo.shapes import dimension


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
