"""Training by cuDNN on NVIDIA GPUs."""

import tensorflow as tf

from keras_seqzoo.layers.recurrence.gru_kernels import ResetAfterGRUKernel
from keras_seqzoo.layers.recurrence.kernels import ElmanKernel, LSTMKernel
from keras_seqzoo.overriding import overrides_without
from keras_seqzoo.tensors import dimension, loop_dtype
from keras_seqzoo.time_arrays import padded

# cuDNN's name of the equations, and the order of its gates as indices of ours.
FORMS = {
    ElmanKernel(): ("rnn_tanh", (0,)),
    LSTMKernel(): ("lstm", (0, 1, 2, 3)),
    ResetAfterGRUKernel(): ("gru", (1, 0, 2)),
}


def has_cudnn_form(cell):
    """Return whether cuDNN computes the equations of a cell."""
    parts = ("project", "multiply", "input_bias", "constants")
    if any(overrides_without(type(cell), part, "kernel_step") for part in parts):
        return False
    return cell.get_kernel_step() in FORMS


def run_cudnn(cell, steps, mask, states, reverse=False):
    """Run a cell, with its input projection, over a sequence in one cuDNN call.

    cuDNN supports sequences of different lengths, but no other padding. So valid steps are moved to
    the front of their row, in the order in which they run, and the outputs are moved back. This
    allows any padding and either direction. As in the loop, half precision is computed in float32.

    Args:
        cell: an `AffineCell` for which `has_cudnn_form` is true.
        steps: tensor `(T, B, F)`.
        mask: boolean tensor `(T, B)` or None.
        states: list of tensors `(B, U)`, the state before the first step.
        reverse: bool, whether to run from the last step to the first.

    Returns:
        Tuple of a list with the outputs `(T, B, U)`, in the order of time and undefined at padding,
        and the list of states after the last valid step.

    Raises:
        RuntimeError: if TensorFlow sees no NVIDIA GPU.
    """
    if not (
        tf.config.list_physical_devices("GPU") and tf.sysconfig.get_build_info()["is_cuda_build"]
    ):
        raise RuntimeError(
            '`implementation` must be "auto" or "loop" to train without an NVIDIA GPU, got "cudnn".'
        )
    mode, order = FORMS[cell.get_kernel_step()]
    dtype = loop_dtype(steps.dtype)
    length = dimension(steps, 0)
    move, restore, lengths = _reordering(length, dimension(steps, 1), mask, reverse)
    first = [tf.cast(state, dtype) for state in states]
    outputs, *last = call_cudnn(
        mode,
        move(tf.cast(padded(steps), dtype)),
        [state[tf.newaxis] for state in first],  # (1, B, U): one layer
        _parameters(cell, order, dtype),
        tf.maximum(lengths, 1),
    )
    empty = (lengths == 0)[:, tf.newaxis]
    last = [
        tf.cast(tf.where(empty, old, new[0]), state.dtype)
        for old, new, state in zip(first, last, states, strict=False)
    ]
    return [tf.cast(restore(outputs)[:length], steps.dtype)], last


def call_cudnn(mode, steps, states, parameters, lengths):
    """Call the op; return outputs `(T, B, U)`, zero past the end, and final states `(1, B, U)`."""
    outputs, state, memory, *_ = tf.raw_ops.CudnnRNNV3(
        input=steps,
        input_h=states[0],
        input_c=states[1] if len(states) > 1 else tf.zeros((), steps.dtype),
        params=parameters,
        sequence_lengths=lengths,
        rnn_mode=mode,
        is_training=True,  # else the op has no gradient
        time_major=True,
    )
    return outputs, state, memory


def _parameters(cell, order, dtype):
    """Join the weights in one vector: W and U of each gate, transposed, then their biases."""
    gates = len(order)
    state_bias = None
    bias = None
    if cell.use_bias:
        bias = tf.cast(cell.cast_weight(cell.bias), dtype)
        if bias.shape.rank == 2:
            bias, state_bias = tf.unstack(bias)
    zeros = tf.zeros((gates * cell.units,), dtype)
    blocks = []
    for kernel in (cell.kernel, cell.recurrent_kernel):
        parts = tf.split(tf.cast(cell.cast_weight(kernel), dtype), gates, -1)
        blocks += [tf.reshape(tf.transpose(parts[gate]), (-1,)) for gate in order]
    for vector in (bias, state_bias):
        parts = tf.split(zeros if vector is None else vector, gates)
        blocks += [parts[gate] for gate in order]
    return tf.concat(blocks, 0)


def _reordering(length, batch, mask, reverse):
    """Return the functions that order steps for cuDNN and back, and the lengths of the rows."""
    if mask is None:
        turn = (lambda x: tf.reverse(x, (0,))) if reverse else tf.identity
        return turn, turn, tf.fill((batch,), length)
    mask = padded(mask)
    # Valid steps first, in the order in which they run: (T, B).
    rank = tf.cumsum(tf.cast(mask, tf.int32), reverse=reverse) - 1
    padding = tf.cumsum(tf.cast(~mask, tf.int32)) - 1
    lengths = tf.reduce_sum(tf.cast(mask, tf.int32), 0)
    target = tf.where(mask, rank, lengths + padding)
    columns = tf.broadcast_to(tf.range(batch), tf.shape(mask))
    sources = tf.stack([tf.argsort(target, axis=0), columns], -1)  # (T, B, 2)
    targets = tf.stack([target, columns], -1)
    return (lambda x: tf.gather_nd(x, sources)), (lambda x: tf.gather_nd(x, targets)), lengths
