"""The loop over time with hand-written gradients."""

import dataclasses
import functools
from typing import NamedTuple

import tensorflow as tf

from keras_seqzoo._compat import is_compiled_by_xla
from keras_seqzoo.layers.recurrence.cell_loop import blend_states
from keras_seqzoo.tensors import dimension, loop_dtype
from keras_seqzoo.time_arrays import (
    at_least_one,
    read_array,
    stacked,
    write_array,
)


@dataclasses.dataclass
class Recurrence:
    """A kernel and the time-major tensors it runs over.

    Attributes:
        kernel: a `Kernel`.
        projected: tensor `(T, B, P)`, the part that depends on the input alone.
        states: list of tensors `(B, U)`, the state before the first step; the weights see the first
            tensor.
        weights: list of tensors, the weights of the kernel.
        keep: None, or a list with one tensor `(T, B, 1)` or `(T, B, U)` for each state: the rate at
            which the old state is kept, 1 at padding.
        seen_scale: None or tensor `(B, U)`, a factor of the state as the weights see it.
        reverse: bool, whether to run from the last step to the first.
    """

    kernel: object
    projected: tf.Tensor
    states: list
    weights: list
    keep: list | None = None
    seen_scale: tf.Tensor | None = None
    reverse: bool = False

    def spec(self):
        """Return everything but the tensors."""
        return RecurrenceSpec(
            self.kernel,
            len(self.states),
            len(self.weights),
            0 if self.keep is None else len(self.keep),
            0 if self.seen_scale is None else 1,
            self.reverse,
        )

    def tensors(self):
        """Return the list of the tensors, in the order that `unpack` reads."""
        scale = [] if self.seen_scale is None else [self.seen_scale]
        return [self.projected, *self.states, *self.weights, *(self.keep or []), *scale]


class RecurrenceSpec(NamedTuple):
    """The kernel of a `Recurrence` and how many tensors of each kind it has."""

    kernel: object
    states: int
    weights: int
    keep: int
    seen_scale: int
    reverse: bool


def unpack(specs, tensors):
    """Create recurrences from their specs and the tensors of all of them."""
    tensors = iter(tensors)

    def take(count):
        return [next(tensors) for _ in range(count)]

    return [
        Recurrence(
            spec.kernel,
            next(tensors),
            take(spec.states),
            take(spec.weights),
            take(spec.keep) or None,
            next(tensors) if spec.seen_scale else None,
            spec.reverse,
        )
        for spec in specs
    ]


def run_kernel_loop(recurrences, return_sequences=True, training=False, compiled=False):
    """Run recurrences of the same length in one loop, with hand-written gradients.

    The forward loop saves what the backward loop needs. Without `training` it saves nothing, and a
    gradient runs it again. The backward loop carries only what is sequential. After it, one matmul
    over all steps computes the gradient of each weight.

    States and activations inside the loop are float32 under half precision; the matmuls over all
    steps are in the dtype of `projected`.

    Args:
        recurrences: list of `Recurrence`s with the same T.
        return_sequences: bool, whether to return the first `Kernel.outputs` states of all steps.
        training: bool, whether a gradient is expected.
        compiled: bool, whether XLA compiles the two loops, once for each shape. The matmuls over
            all steps stay outside.

    Returns:
        A list with `(sequences, states)` for each recurrence: the list of the states of all steps
        `(T, B, U)` in the order of time, empty without `return_sequences`, and the list of states
        after the last step.

    Raises:
        NotImplementedError: if a gradient of the gradient is taken.
    """
    specs = tuple(recurrence.spec() for recurrence in recurrences)
    sequences = return_sequences

    @tf.custom_gradient
    def run(*tensors):
        # Stopped, so that no tape records the loops: their gradient is defined here.
        inputs = [tf.stop_gradient(tensor) for tensor in tensors]
        outputs, states, history = _loop(_forward, specs, training, sequences, compiled)(inputs)

        def gradient(*upstream):
            # The gradient of a gather is an `IndexedSlices`.
            upstream = [tf.convert_to_tensor(tensor) for tensor in upstream]
            stopped = [tf.stop_gradient(tensor) for tensor in upstream]
            saved = history
            if not training:
                saved = _loop(_forward, specs, True, sequences, compiled)(inputs)[2]
            results = _loop(_backward, specs, sequences, compiled)(inputs, saved, stopped)
            gradients = []
            for one, steps, result in zip(unpack(specs, inputs), saved, results, strict=True):
                gradients += _tensor_gradients(one, steps, *result)
            return _refuse_second_order(gradients, [*tensors, *upstream])

        return tf.nest.flatten([outputs, states]), gradient

    flat = iter(run(*[tensor for one in recurrences for tensor in one.tensors()]))
    outputs = [[next(flat) for _ in range(_count_outputs(one, sequences))] for one in recurrences]
    return [
        (output, [next(flat) for _ in one.states])
        for output, one in zip(outputs, recurrences, strict=True)
    ]


def _count_outputs(recurrence, sequences):
    return recurrence.kernel.outputs if sequences else 0


@functools.cache
def _loop(function, specs, *options):
    """Bind a loop to its specs; the last option tells whether XLA compiles it."""
    *options, compiled = options
    bound = functools.partial(function, specs, *options)
    bound.__name__ = function.__name__  # for compilers and profilers
    return tf.function(bound, jit_compile=True, autograph=False) if compiled else bound


def _make_arrays(sizes, like, dtype, length):
    """Create empty TensorArrays for steps of `(B, size)`."""
    batch = dimension(like, 0)
    return [write_array([batch, size], dtype, length) for size in sizes]


def _write(arrays, time, tensors):
    return [
        array.write(time, tf.cast(tensor, array.dtype))
        for array, tensor in zip(arrays, tensors, strict=True)
    ]


def _stack(arrays, length):
    return [stacked(array, length) for array in arrays]


def _cast_for_steps(one):
    """Return the weights in the loop's dtype, and the function that scales the seen state."""
    dtype = loop_dtype(one.projected.dtype)
    scale = one.seen_scale
    return (
        [tf.cast(weight, dtype) for weight in one.weights],
        (lambda state: state) if scale is None else (lambda state: state * tf.cast(scale, dtype)),
    )


def _forward(specs, training, sequences, tensors):
    """Run all recurrences; return their outputs, final states and, in training, their history."""
    recurrences = unpack(specs, tensors)
    length = dimension(recurrences[0].projected, 0)
    by_xla = is_compiled_by_xla()
    # Two recurrences run in parallel in any case, and products of one row gain nothing from it.
    rows = recurrences[0].states[0].shape[0]
    infers = len(recurrences) == 1 and rows != 1 and not (training or by_xla)
    inputs, casts = [], []
    for one in recurrences:
        weights, see = _cast_for_steps(one)
        own = [one.projected]
        if infers:
            own, weights = one.kernel.separate(one.projected, weights)
        elif by_xla and not training:
            own = one.kernel.split(one.projected)
        inputs.append([read_array(tensor) for tensor in own])
        casts.append((weights, see))
    keeps = [[read_array(keep) for keep in one.keep or ()] for one in recurrences]
    dtypes = [loop_dtype(one.projected.dtype) for one in recurrences]
    collected = []
    for one, dtype in zip(recurrences, dtypes, strict=True):
        sizes = [state.shape[-1] for state in one.states]
        if training:
            sizes = {
                "states": sizes,
                "saved": one.kernel.saved_sizes(one.states, one.weights),
                "new": sizes if one.keep else [],
            }
        else:
            sizes, dtype = {"states": sizes[: _count_outputs(one, sequences)]}, one.projected.dtype
        collected.append(
            {name: _make_arrays(size, one.states[0], dtype, length) for name, size in sizes.items()}
        )

    def body(step, states, collected):
        next_states, next_collected = [], []
        for index, one in enumerate(recurrences):
            time = length - 1 - step if one.reverse else step
            weights, see = casts[index]
            old, arrays = states[index], collected[index]
            now = [tf.cast(array.read(time), dtypes[index]) for array in inputs[index]]
            if infers:
                new, saved = one.kernel.infer(now, see(old[0]), old, weights), []
            else:
                new, saved = one.kernel.forward(now, see(old[0]), old, weights)
            blended = new
            if one.keep:
                blended = blend_states([array.read(time) for array in keeps[index]], old, new)
            if training:
                record = {"states": blended, "saved": saved, "new": new if one.keep else []}
            else:
                record = {"states": blended[: _count_outputs(one, sequences)]}
            next_states.append(
                [tf.ensure_shape(n, o.shape) for n, o in zip(blended, old, strict=True)]
            )
            next_collected.append(
                {name: _write(arrays[name], time, record[name]) for name in arrays}
            )
        return step + 1, next_states, next_collected

    first = [
        [tf.cast(state, dtype) for state in one.states]
        for one, dtype in zip(recurrences, dtypes, strict=True)
    ]
    _, states, collected = tf.while_loop(
        lambda step, *_: step < length,
        body,
        (tf.constant(0), first, collected),
        maximum_iterations=at_least_one(length),
    )
    states = [
        [tf.cast(state, old.dtype) for state, old in zip(last, one.states, strict=True)]
        for last, one in zip(states, recurrences, strict=True)
    ]
    collected = [
        {name: _stack(arrays, length) for name, arrays in each.items()} for each in collected
    ]
    outputs = [
        [
            tf.cast(state, one.projected.dtype)
            for state in history["states"][: _count_outputs(one, sequences)]
        ]
        for history, one in zip(collected, recurrences, strict=True)
    ]
    return outputs, states, collected if training else []


def _previous(one, history):
    """Shift the states of all steps to the states before each step."""
    shifted = []
    for states, first in zip(history["states"], one.states, strict=True):
        first = tf.cast(first, states.dtype)[tf.newaxis]
        # Sliced last, so that zero steps stay zero.
        if one.reverse:
            shifted.append(tf.concat([states, first], 0)[1:])
        else:
            shifted.append(tf.concat([first, states], 0)[:-1])
    return shifted


def _backward(specs, sequences, tensors, history, upstream):
    """Run all recurrences back.

    Returns:
        For each recurrence its `Kernel.activation_gradients` of all steps, and the gradients of
        its first states.
    """
    recurrences = unpack(specs, tensors)
    length = dimension(recurrences[0].projected, 0)
    upstream = iter(upstream)
    outputs = [
        [read_array(next(upstream)) for _ in range(_count_outputs(one, sequences))]
        for one in recurrences
    ]
    finals, casts, coefficients, keeps, collected = [], [], [], [], []
    for one, saved in zip(recurrences, history, strict=True):
        dtype = loop_dtype(one.projected.dtype)
        finals.append([tf.cast(next(upstream), dtype) for _ in one.states])
        weights, see = _cast_for_steps(one)
        # Transposed once instead of in each matmul.
        casts.append(([tf.transpose(w) if w.shape.rank == 2 else w for w in weights], see))
        new = saved["new"] or saved["states"]
        coefficients.append(one.kernel.coefficients(new, _previous(one, saved), saved["saved"]))
        keeps.append([read_array(keep) for keep in one.keep or ()])
        sizes = one.kernel.kept_sizes(one.states, one.weights)
        collected.append(_make_arrays(sizes, one.states[0], dtype, length))
    factors = [[read_array(tensor) for tensor in each] for each in coefficients]

    def body(step, gradients, collected):
        next_gradients, next_collected = [], []
        for index, one in enumerate(recurrences):
            time = step if one.reverse else length - 1 - step
            old = list(gradients[index])
            weights, see = casts[index]
            for state, array in enumerate(outputs[index]):
                old[state] += tf.cast(array.read(time), old[state].dtype)
            keep = [tf.cast(array.read(time), old[0].dtype) for array in keeps[index]]
            inner = [(1.0 - k) * g for k, g in zip(keep, old, strict=True)] if keep else old
            now = [array.read(time) for array in factors[index]]
            kept, by_seen, direct = one.kernel.backward(now, inner, weights)
            if keep:
                direct = [d + k * g for d, k, g in zip(direct, keep, old, strict=True)]
            direct[0] += see(by_seen)
            next_collected.append(_write(collected[index], time, kept))
            next_gradients.append(
                [tf.ensure_shape(d, o.shape) for d, o in zip(direct, old, strict=True)]
            )
        return step + 1, next_gradients, next_collected

    _, gradients, collected = tf.while_loop(
        lambda step, *_: step < length,
        body,
        (tf.constant(0), finals, collected),
        maximum_iterations=at_least_one(length),
    )
    results = []
    for one, known, arrays, first in zip(
        recurrences, coefficients, collected, gradients, strict=True
    ):
        inner = one.kernel.activation_gradients(known, _stack(arrays, length))
        results.append(([tf.cast(tensor, one.projected.dtype) for tensor in inner], first))
    return results


def _tensor_gradients(one, history, inner, states):
    """Return the gradients of a recurrence's tensors, in the order of `Recurrence.tensors`."""
    previous, see = _previous(one, history), _cast_for_steps(one)[1]
    weights = one.kernel.weight_gradients(
        inner,
        history["saved"],
        history["new"] or history["states"],
        [see(previous[0]), *previous[1:]],
    )
    own = [*states, *weights[: len(one.weights)]]
    return [
        one.kernel.projected_gradient(inner),
        *[tf.cast(x, y.dtype) for x, y in zip(own, [*one.states, *one.weights], strict=True)],
        *[tf.zeros_like(tensor) for tensor in one.keep or ()],
        *([] if one.seen_scale is None else [tf.zeros_like(one.seen_scale)]),
    ]


def _refuse_second_order(gradients, tensors):
    """Return the gradients; their own gradient raises an error instead of being wrong."""

    @tf.custom_gradient
    def identity(*values):
        def refuse(*_):
            raise NotImplementedError(
                "Recurrent layers with hand-written gradients have no second derivatives. To take "
                "the gradient of a gradient, run the cell in `keras.layers.RNN`, which "
                "differentiates it automatically."
            )

        return [tf.identity(value) for value in values[: len(gradients)]], refuse

    return list(identity(*gradients, *tensors))
