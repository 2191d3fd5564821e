"""The loop over time."""

import tensorflow as tf

from keras_seqzoo.layers.recurrence.state_noise import blend
from keras_seqzoo.layers.recurrence.time_arrays import (
    at_least_one,
    padded,
    read_array,
    stacked,
    write_array,
)
from keras_seqzoo.tensors import dimension


def recurrence(
    advance,
    projected,
    states,
    output,
    mask=None,
    zoneout=None,
    reverse=False,
    return_sequences=False,
):
    """Runs any recurrent step over all time steps, time-major; its gradient is differentiation's.

    Everything that depends on the input alone is in `projected` already, computed for all steps
    at once; only what depends on the state is left for the loop. The loop is one `tf.while_loop`
    over TensorArrays whose elements have a static rank and size, so it is differentiable and XLA
    compiles both directions, with a static or a dynamic number of steps.

    Args:
        advance: function `(projected, states) -> (output, states)` of one step.
        projected: tensor or nest of tensors `(T, B, ...)`.
        states: list of tensors `(B, ...)`, the state before the first step.
        output: tensor `(B, U)`, the output where no step is valid; it also gives the loop the
            output's shape and dtype.
        mask: None or boolean tensor `(T, B)`. Steps where it is False leave the state of their row
            as it was.
        zoneout: None or a list with one tensor `(T, B, 1 or size)` for each state, the share of the
            old state that stays. The output is then the first state.
        reverse: whether to run from the last step to the first.
        return_sequences: whether to collect the output of each step.

    Returns:
        Tuple `(outputs, states)`. `outputs` has shape `(T, B, U)`, in the order of time and
        zero at masked steps, or without `return_sequences` `(B, U)`: the output of the last valid
        step. `states` is the list of states after the last valid step.
    """
    flat = tf.nest.flatten(projected)
    length = dimension(flat[0], 0)
    inputs = [read_array(tensor) for tensor in flat]
    # (T, B) -> (T, B, 1): one decision for a whole row
    rows = None if mask is None else padded(mask)[..., tf.newaxis]
    shares = None if zoneout is None else [padded(share) for share in zoneout]

    def body(step, collected, states):
        time = length - 1 - step if reverse else step
        now = tf.nest.pack_sequence_as(projected, [array.read(time) for array in inputs])
        new_output, new_states = advance(now, states)
        new_states = list(new_states)
        if shares is not None:
            new_states = blend([share[time] for share in shares], states, new_states)
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
