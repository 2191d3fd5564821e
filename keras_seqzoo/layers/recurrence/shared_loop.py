"""Recurrent layers over a time-major sequence, in one loop if possible."""

import tensorflow as tf

from keras_seqzoo.layers.recurrence.cell_loop import run_cell_loop
from keras_seqzoo.layers.recurrence.cudnn import run_cudnn
from keras_seqzoo.layers.recurrence.kernel_loop import Recurrence, run_kernel_loop
from keras_seqzoo.tensors import dimension, loop_dtype


def to_time_major(sequence, mask):
    """Transpose `(B, T, F)` and its mask `(B, T)` to `(T, B, F)` and `(T, B)`.

    Inputs at padding become zero: NaN or infinity there must not reach a gradient.
    """
    if mask is not None:
        sequence = tf.where(mask[..., tf.newaxis], sequence, tf.zeros((), sequence.dtype))
        mask = tf.transpose(mask)
    return tf.transpose(sequence, (1, 0, 2)), mask


def run_layers(layers, steps, mask, initial_states, training):
    """Run recurrent layers of either direction over the same sequence.

    If the cells of all layers have a hand-written gradient (`RecurrentCell.kernel_step`), the
    layers run in one loop, where the small ops of one run in parallel with the matmuls of the
    other. Otherwise each runs in its own loop and is differentiated automatically.

    Args:
        layers: list of `Recurrent` layers with the same `return_sequences` and `implementation`.
        steps: tensor `(T, B, F)`, zero at padding.
        mask: boolean tensor `(T, B)` or None.
        initial_states: list with the initial states of each layer, or None for the layer's own.
        training: bool.

    Returns:
        List with `(output, states)` of each layer. `output` is `(T, B, U)` in the order of time
        and zero at padding, or `(B, U)` without `return_sequences`.
    """
    training = bool(training)
    states = [
        layer.prepare_states(initial, dimension(steps, 1))
        for layer, initial in zip(layers, initial_states, strict=True)
    ]
    inputs = [layer.drop_inputs(steps, training) for layer in layers]
    each = list(zip(layers, inputs, states, strict=True))
    if any(layer.cell.get_kernel_step() is None for layer in layers):
        return [_run_cell(layer, own, mask, first, training) for layer, own, first in each]
    sequences = layers[0].return_sequences
    if training and layers[0].implementation == "cudnn":
        results = [
            run_cudnn(layer.cell, own, mask, first, layer.go_backwards)
            for layer, own, first in each
        ]
    else:
        results = run_kernel_loop(
            [_make_recurrence(layer, own, mask, first, training) for layer, own, first in each],
            return_sequences=sequences,
            training=training,
            compiled=is_compiled(layers[0], training),
        )
    if sequences:
        return [(zero_padding(outputs[0], mask), last) for outputs, last in results]
    any_step = dimension(steps, 0) > 0 if mask is None else tf.reduce_any(mask, 0)  # (B,)
    return [(zero_padding(last[0], any_step), last) for _, last in results]


def is_compiled(layer, training):
    """Return whether XLA compiles the loop of a layer.

    XLA compiles once for each shape. So eager calls, which may have any shapes, and inference,
    which is exported, run the same loop op by op.
    """
    return bool(layer.implementation == "auto" and training and not tf.executing_eagerly())


def _make_recurrence(layer, steps, mask, states, training):
    cell = layer.cell
    steps = tf.cast(steps, layer.compute_dtype)
    return Recurrence(
        cell.get_kernel_step(),
        cell.project(steps, training=training),
        states,
        layer.kernel_weights(training),
        keep=_keep_rates(layer, steps, mask, states, training),
        seen_scale=layer.draw_seen_scale(states[0], training),
        reverse=layer.go_backwards,
    )


def _keep_rates(layer, steps, mask, states, training):
    """Return the rates at which old states are kept: 1 at padding, else by zoneout."""
    zoneout = layer.draw_zoneout(states, training, leading=[dimension(steps, 0)])
    if mask is None:
        return zoneout
    padding = 1.0 - tf.cast(mask, loop_dtype(steps.dtype))[..., tf.newaxis]  # (T, B, 1)
    if zoneout is None:
        return [padding] * len(states)
    return [tf.maximum(padding, rate) for rate in zoneout]


def zero_padding(output, valid):
    """Return outputs `(..., U)`, zero where `valid` is False.

    Args:
        output: tensor `(T, B, U)` or `(B, U)`.
        valid: bool tensor `(T, B)` or `(B,)`; a bool for all; or None for True.
    """
    if valid is None or valid is True:
        return output
    valid = tf.convert_to_tensor(valid)
    return tf.where(valid[..., tf.newaxis], output, tf.zeros((), output.dtype))


def _run_cell(layer, steps, mask, states, training):
    steps = tf.cast(steps, layer.compute_dtype)
    seen_scale = layer.draw_seen_scale(states[0], training)
    return run_cell_loop(
        layer.make_step(training, seen_scale),
        layer.cell.project(steps, training=training),
        states,
        output=tf.zeros((tf.shape(states[0])[0], layer.output_size), layer.compute_dtype),
        mask=mask,
        zoneout=layer.draw_zoneout(states, training, leading=[dimension(steps, 0)]),
        reverse=layer.go_backwards,
        return_sequences=layer.return_sequences,
    )
