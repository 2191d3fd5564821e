"""Recurrent layers over a time-major sequence: in one loop where they can share it."""

import tensorflow as tf

from keras_seqzoo.layers.recurrence.cell_loop import recurrence
from keras_seqzoo.layers.recurrence.cudnn import cudnn_recurrence
from keras_seqzoo.layers.recurrence.kernel_loop import Lane, kernel_recurrence
from keras_seqzoo.tensors import dimension, loop_dtype


def time_major(sequence, mask):
    """Turns `(B, T, F)` and its mask `(B, T)` to `(T, B, F)` and `(T, B)`.

    Inputs at padding become zero: not even NaN or infinity there may reach a gradient.
    """
    if mask is not None:
        sequence = tf.where(mask[..., tf.newaxis], sequence, tf.zeros((), sequence.dtype))
        mask = tf.transpose(mask)
    return tf.transpose(sequence, (1, 0, 2)), mask


def run_layers(layers, steps, mask, initial_states, training):
    """Runs recurrent layers of either direction over the same sequence.

    If the cells of all layers have a hand-written gradient (`RecurrentCell.kernel_step`) the layers
    share one loop: the small operations of one then run beside the matmuls of the other. Else each
    runs in a loop of its own, which is differentiated.

    Args:
        layers: list of `Recurrent` layers with the same `return_sequences` and `implementation`.
        steps: tensor `(T, B, F)`, zero at padding.
        mask: boolean tensor `(T, B)` or None.
        initial_states: list with the initial states of each layer, or None, for each.
        training: bool.

    Returns:
        List with `(output, states)` of each layer. `output` is `(T, B, U)` in the order of time
        and zero at padding, or `(B, U)` without `return_sequences`.
    """
    training = bool(training)
    states = [
        layer.first_states(initial, dimension(steps, 1))
        for layer, initial in zip(layers, initial_states, strict=True)
    ]
    inputs = [layer.drop_inputs(steps, training) for layer in layers]
    each = list(zip(layers, inputs, states, strict=True))
    if any(layer.cell.own_kernel_step() is None for layer in layers):
        return [_differentiated(layer, own, mask, first, training) for layer, own, first in each]
    sequences = layers[0].return_sequences
    if training and layers[0].implementation == "cudnn":
        results = [
            cudnn_recurrence(layer.cell, own, mask, first, layer.go_backwards)
            for layer, own, first in each
        ]
    else:
        lanes = [_lane(layer, own, mask, first, training) for layer, own, first in each]
        results = kernel_recurrence(
            lanes,
            return_sequences=sequences,
            training=training,
            compiled=compiles(layers[0], training),
        )
    if sequences:
        return [(zero_padding(outputs[0], mask), last) for outputs, last in results]
    any_step = dimension(steps, 0) > 0 if mask is None else tf.reduce_any(mask, 0)  # (B,)
    return [(zero_padding(last[0], any_step), last) for _, last in results]


def compiles(layer, training):
    """Tells whether XLA compiles the loop of a layer.

    Compiled loops are made once for each shape. Eager calls, whose shapes nobody plans, and
    inference, which is exported, run the same loop op by op.
    """
    return bool(layer.implementation == "auto" and training and not tf.executing_eagerly())


def _lane(layer, steps, mask, states, training):
    cell = layer.cell
    steps = tf.cast(steps, layer.compute_dtype)
    return Lane(
        cell.own_kernel_step(),
        cell.project(steps, training=training),
        states,
        layer.weights_of_state(training),
        keep=_keep_shares(layer, steps, mask, states, training),
        seen_scale=layer.draw_seen_scale(states[0], training),
        reverse=layer.go_backwards,
    )


def _keep_shares(layer, steps, mask, states, training):
    """Joins padding, where all of the old state stays, and zoneout."""
    zoneout = layer.draw_zoneout(states, training, leading=[dimension(steps, 0)])
    if mask is None:
        return zoneout
    padding = 1.0 - tf.cast(mask, loop_dtype(steps.dtype))[..., tf.newaxis]  # (T, B, 1)
    if zoneout is None:
        return [padding] * len(states)
    return [tf.maximum(padding, share) for share in zoneout]


def zero_padding(output, valid):
    """Return outputs `(..., U)`, zero where `valid` is not true.

    Args:
        output: tensor `(T, B, U)`, or `(B, U)`.
        valid: bool tensor `(T, B)`, or `(B,)` or a bool of all rows; or None where all is valid.
    """
    if valid is None or valid is True:
        return output
    valid = tf.convert_to_tensor(valid)
    return tf.where(valid[..., tf.newaxis], output, tf.zeros((), output.dtype))


def _differentiated(layer, steps, mask, states, training):
    seen_scale = layer.draw_seen_scale(states[0], training)
    return recurrence(
        layer.step_function(training, seen_scale),
        layer.cell.project(steps, training=training),
        states,
        output=tf.zeros((tf.shape(states[0])[0], layer.output_size), layer.compute_dtype),
        mask=mask,
        zoneout=layer.draw_zoneout(states, training, leading=[dimension(steps, 0)]),
        reverse=layer.go_backwards,
        return_sequences=layer.return_sequences,
    )
