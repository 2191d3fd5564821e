"""The loop of a decoder whose queries depend on earlier contexts."""

import tensorflow as tf

from keras_seqzoo.layers.attention.base import check_keys
from keras_seqzoo.layers.attention.input_feeding import has_kernel, run_kernel
from keras_seqzoo.layers.attention.steps import keep_at_padding
from keras_seqzoo.layers.recurrence.shared_loop import to_time_major
from keras_seqzoo.tensors import dimension, loop_dtype
from keras_seqzoo.time_arrays import (
    at_least_one,
    padded,
    read_array,
    stacked,
    write_array,
)


def run_decoder_loop(decoder, sequence, mask, state, memory, memory_mask, keys, scale, training):
    """Run an `AttentionDecoder` over a sequence, one step after the other.

    Args:
        decoder: the layer, built.
        sequence: tensor `(B, T, F)` in the compute dtype.
        mask: boolean tensor `(B, T)` or None.
        state: the decoder's state before the first step.
        memory: tensor `(B, S, M)`.
        memory_mask: boolean tensor `(B, S)` or None.
        keys: the attention's keys of the memory.
        scale: None or tensor `(B, 1, size)`, the dropout of the input of the upper layers.
        training: bool.

    Returns:
        Tuple of the outputs `(B, T, output_size)`, the attention weights `(B, T, S)` and the last
        state.
    """
    steps, mask = to_time_major(sequence, mask)
    check_keys(keys, memory)
    if has_kernel(decoder):
        return run_kernel(decoder, steps, mask, state, memory, memory_mask, keys, training)
    length = dimension(steps, 0)
    inputs = read_array(steps)
    rows = None if mask is None else padded(mask)
    batch, width = dimension(memory, 0), dimension(memory, 1)
    outputs = write_array([batch, decoder.output_size], steps.dtype, length)
    weights = write_array([batch, width], loop_dtype(steps.dtype), length)
    scale = None if scale is None else scale[:, 0]  # (B, upper input)

    def body(time, state, outputs, weights):
        output, attended, new_state = decoder.step_in_loop(
            inputs.read(time), state, memory, memory_mask, keys, scale, training
        )
        if rows is not None:
            new_state = keep_at_padding(rows[time], new_state, state)
            output = tf.where(rows[time, :, tf.newaxis], output, tf.zeros((), output.dtype))
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
