"""The loop over time for any cell, differentiated automatically."""

import tensorflow as tf

from keras_seqzoo.tensors import dimension
from keras_seqzoo.time_arrays import (
    at_least_one,
    padded,
    read_array,
    stacked,
    write_array,
)


def run_cell_loop(
    advance,
    projected,
    states,
    output,
    mask=None,
    zoneout=None,
    reverse=False,
    return_sequences=False,
):
    """Run a recurrent step over all time steps of a time-major sequence.

    The loop is one `tf.while_loop` over TensorArrays whose elements have a static rank and size:
    XLA compiles it and its gradient, with a static or a dynamic number of steps.

    Args:
        advance: function `(projected, states) -> (output, states)` of one step.
        projected: tensor or nest of tensors `(T, B, ...)`, computed from the input alone.
        states: list of tensors `(B, ...)`, the state before the first step.
        output: tensor `(B, U)`, the output of rows without a valid step, with the shape and dtype
            of all outputs.
        mask: boolean tensor `(T, B)` or None. Where it is False, the state does not change.
        zoneout: None or a list with one tensor `(T, B, 1 or size)` for each state, the rate at
            which the old state is kept. The output is then the first state.
        reverse: bool, whether to run from the last step to the first.
        return_sequences: bool, whether to collect the output of each step.

    Returns:
        Tuple `(outputs, states)`. `outputs` is `(T, B, U)`, in the order of time and zero at masked
        steps; without `return_sequences` it is the output of the last valid step, `(B, U)`.
        `states` is the list of states after the last valid step.
    """
    flat = tf.nest.flatten(projected)
    length = dimension(flat[0], 0)
    inputs = [read_array(tensor) for tensor in flat]
    rows = None if mask is None else padded(mask)[..., tf.newaxis]  # (T, B, 1)
    rates = None if zoneout is None else [padded(rate) for rate in zoneout]

    def body(step, collected, states):
        time = length - 1 - step if reverse else step
        now = tf.nest.pack_sequence_as(projected, [array.read(time) for array in inputs])
        new_output, new_states = advance(now, states)
        new_states = list(new_states)
        if rates is not None:
            new_states = blend_states([rate[time] for rate in rates], states, new_states)
            new_output = tf.cast(new_states[0], output.dtype)
        if rows is not None:
            valid = rows[time]
            new_states = [
                tf.where(valid, new, old) for new, old in zip(new_states, states, strict=True)
            ]
            if not return_sequences:
                new_output = tf.where(valid, new_output, collected)
        for new, old in zip(new_states, states, strict=True):
            new.set_shape(old.shape)
        new_output.set_shape(output.shape)
        if return_sequences:
            new_output = collected.write(time, new_output)
        return step + 1, new_output, new_states

    if return_sequences:
        shape = [dimension(output, 0), *output.shape[1:]]
        collected = write_array(shape, output.dtype, length)
    else:
        collected = output
    _, outputs, states = tf.while_loop(
        lambda step, *_: step < length,
        body,
        (tf.constant(0), collected, list(states)),
        parallel_iterations=32,
        maximum_iterations=at_least_one(length),
    )
    if return_sequences:
        outputs = stacked(outputs, length)  # (T, B, U)
        if mask is not None:
            outputs = tf.where(mask[..., tf.newaxis], outputs, tf.zeros((), outputs.dtype))
    return outputs, list(states)


def blend_states(rates, old, new):
    """Return the list of `rate·old + (1 - rate)·new`."""
    return [
        tf.cast(rate, n.dtype) * o + tf.cast(1.0 - rate, n.dtype) * n
        for rate, o, n in zip(rates, old, new, strict=True)
    ]
