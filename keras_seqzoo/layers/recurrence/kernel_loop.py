"""The loop over time with hand-written gradients."""

import dataclasses
import functools
from typing import NamedTuple

import tensorflow as tf

from keras_seqzoo.layers.recurrence.state_noise import blend
from keras_seqzoo.layers.recurrence.time_arrays import (
    at_least_one,
    read_array,
    stacked,
    write_array,
)
from keras_seqzoo.tensors import dimension, loop_dtype


@dataclasses.dataclass
class Lane:
    """One recurrence of those that share a loop, time-major.

    Attributes:
        kernel: a `Kernel`, see `recurrence_kernels`.
        projected: tensor `(T, B, P)`, what depends on the input alone.
        states: list of tensors `(B, U)`, the state before the first step; the one that the weights
            see comes first.
        weights: list of tensors, the weights that the kernel takes.
        keep: None, or a list with one tensor `(T, B, 1)` or `(T, B, U)` for each state: the share
            of the old state that stays, 1 at padding.
        seen_scale: None or tensor `(B, U)`, what multiplies the state that the weights see.
        reverse: whether to run from the last step to the first.
    """

    kernel: object
    projected: tf.Tensor
    states: list
    weights: list
    keep: list | None = None
    seen_scale: tf.Tensor | None = None
    reverse: bool = False

    def spec(self):
        """Gives all of the lane that is no tensor."""
        return LaneSpec(
            self.kernel,
            len(self.states),
            len(self.weights),
            0 if self.keep is None else len(self.keep),
            0 if self.seen_scale is None else 1,
            self.reverse,
        )

    def tensors(self):
        """Lists the lane's tensors in the order of `unpack`."""
        scale = [] if self.seen_scale is None else [self.seen_scale]
        return [self.projected, *self.states, *self.weights, *(self.keep or []), *scale]


class LaneSpec(NamedTuple):
    """What a compiled loop is made for: the kernel, and how many tensors of each kind there are."""

    kernel: object
    states: int
    weights: int
    keep: int
    seen_scale: int
    reverse: bool


def unpack(specs, tensors):
    """Makes lanes of their specs and of the tensors of all of them."""
    tensors = iter(tensors)

    def take(count):
        return [next(tensors) for _ in range(count)]

    return [
        Lane(
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


def kernel_recurrence(lanes, return_sequences=True, training=False, compiled=False):
    """Runs recurrences of one length in one loop, with gradients written by hand.

    The forward loop keeps what the backward one needs (without `training` it keeps nothing, and
    the gradient, if there is one after all, runs it again). The backward loop carries only what
    is sequential; the gradients of the weights are one matmul each over all steps after it.

    States and activations inside the loop are float32 under half precision; the matmuls over all
    steps are in the dtype of `projected`.

    Args:
        lanes: list of `Lane`s with the same T.
        return_sequences: whether to give the states of all steps, as many as `Kernel.outputs`.
        training: whether a gradient is expected.
        compiled: whether XLA compiles the two loops, once for each shape. The matmuls over all
            steps stay outside.

    Returns:
        A list with `(sequences, states)` for each lane: the list of the states of all steps
        `(T, B, U)` in the order of time, empty without `return_sequences`, and the list of states
        after the last step.

    Raises:
        NotImplementedError: when a gradient of the gradient is taken.
    """
    specs = tuple(lane.spec() for lane in lanes)
    sequences = return_sequences

    @tf.custom_gradient
    def run(*tensors):
        # Stopped, so that no tape looks into the loops: what is inside has its gradient here.
        inputs = [tf.stop_gradient(tensor) for tensor in tensors]
        outputs, states, history = _loop(_forward, specs, training, sequences, compiled)(inputs)

        def gradient(*upstream):
            # Of a gather, the gradient comes as slices.
            upstream = [tf.convert_to_tensor(tensor) for tensor in upstream]
            stopped = [tf.stop_gradient(tensor) for tensor in upstream]
            kept = history
            if not training:
                kept = _loop(_forward, specs, True, sequences, compiled)(inputs)[2]
            swept = _loop(_backward, specs, sequences, compiled)(inputs, kept, stopped)
            gradients = []
            for lane, saved, results in zip(unpack(specs, inputs), kept, swept, strict=True):
                gradients += _lane_gradients(lane, saved, *results)
            return _refuse_second_order(gradients, [*tensors, *upstream])

        return tf.nest.flatten([outputs, states]), gradient

    flat = iter(run(*[tensor for lane in lanes for tensor in lane.tensors()]))
    outputs = [[next(flat) for _ in range(_outputs(lane, sequences))] for lane in lanes]
    return [
        (output, [next(flat) for _ in lane.states])
        for output, lane in zip(outputs, lanes, strict=True)
    ]


def _outputs(lane, sequences):
    return lane.kernel.outputs if sequences else 0


@functools.cache
def _loop(function, specs, *options):
    """Binds a loop to its specs and, where wanted, lets XLA compile it."""
    *options, compiled = options
    bound = functools.partial(function, specs, *options)
    bound.__name__ = function.__name__  # what compilers and profilers show
    return tf.function(bound, jit_compile=True, autograph=False) if compiled else bound


def _collectors(sizes, like, dtype, length):
    """Makes empty TensorArrays for steps of `(B, size)`."""
    batch = dimension(like, 0)
    return [write_array([batch, size], dtype, length) for size in sizes]


def _write(arrays, time, tensors):
    return [
        array.write(time, tf.cast(tensor, array.dtype))
        for array, tensor in zip(arrays, tensors, strict=True)
    ]


def _stack(arrays, length):
    return [stacked(array, length) for array in arrays]


def _ready(lane):
    """Casts to the dtype of the loop what each of its steps needs."""
    dtype = loop_dtype(lane.projected.dtype)
    scale = lane.seen_scale
    return (
        [tf.cast(weight, dtype) for weight in lane.weights],
        (lambda state: state) if scale is None else (lambda state: state * tf.cast(scale, dtype)),
    )


def _forward(specs, training, sequences, tensors):
    """Runs all lanes; gives their outputs, final states and, in training, their history."""
    lanes = unpack(specs, tensors)
    length = dimension(lanes[0].projected, 0)
    inputs = [read_array(lane.projected) for lane in lanes]
    keeps = [[read_array(keep) for keep in lane.keep or ()] for lane in lanes]
    ready = [_ready(lane) for lane in lanes]
    kinds = [loop_dtype(lane.projected.dtype) for lane in lanes]
    collected = []
    for lane, dtype in zip(lanes, kinds, strict=True):
        sizes = [state.shape[-1] for state in lane.states]
        if training:
            sizes = {
                "states": sizes,
                "saved": lane.kernel.saved_sizes(lane.states, lane.weights),
                "new": sizes if lane.keep else [],
            }
        else:
            sizes, dtype = {"states": sizes[: _outputs(lane, sequences)]}, lane.projected.dtype
        collected.append(
            {name: _collectors(size, lane.states[0], dtype, length) for name, size in sizes.items()}
        )

    def body(step, states, collected):
        next_states, next_collected = [], []
        for index, lane in enumerate(lanes):
            time = length - 1 - step if lane.reverse else step
            weights, see = ready[index]
            old, arrays = states[index], collected[index]
            projected = tf.cast(inputs[index].read(time), kinds[index])
            new, saved = lane.kernel.forward(projected, see(old[0]), old, weights)
            kept = new
            if lane.keep:
                kept = blend([array.read(time) for array in keeps[index]], old, new)
            if training:
                record = {"states": kept, "saved": saved, "new": new if lane.keep else []}
            else:
                record = {"states": kept[: _outputs(lane, sequences)]}
            next_states.append(
                [tf.ensure_shape(n, o.shape) for n, o in zip(kept, old, strict=True)]
            )
            next_collected.append(
                {name: _write(arrays[name], time, record[name]) for name in arrays}
            )
        return step + 1, next_states, next_collected

    first = [
        [tf.cast(state, dtype) for state in lane.states]
        for lane, dtype in zip(lanes, kinds, strict=True)
    ]
    _, states, collected = tf.while_loop(
        lambda step, *_: step < length,
        body,
        (tf.constant(0), first, collected),
        maximum_iterations=at_least_one(length),
    )
    states = [
        [tf.cast(state, old.dtype) for state, old in zip(lane_states, lane.states, strict=True)]
        for lane_states, lane in zip(states, lanes, strict=True)
    ]
    collected = [
        {name: _stack(arrays, length) for name, arrays in lane.items()} for lane in collected
    ]
    outputs = [
        [
            tf.cast(state, lane.projected.dtype)
            for state in history["states"][: _outputs(lane, sequences)]
        ]
        for history, lane in zip(collected, lanes, strict=True)
    ]
    return outputs, states, collected if training else []


def _previous(lane, history):
    """Shifts the states of all steps to those before each step."""
    shifted = []
    for states, first in zip(history["states"], lane.states, strict=True):
        first = tf.cast(first, states.dtype)[tf.newaxis]
        # Sliced last, so that no step at all stays none.
        if lane.reverse:
            shifted.append(tf.concat([states, first], 0)[1:])
        else:
            shifted.append(tf.concat([first, states], 0)[:-1])
    return shifted


def _backward(specs, sequences, tensors, history, upstream):
    """Runs all lanes back; gives their `Kernel.inner` and the gradients of their first states."""
    lanes = unpack(specs, tensors)
    length = dimension(lanes[0].projected, 0)
    upstream = iter(upstream)
    outputs = [
        [read_array(next(upstream)) for _ in range(_outputs(lane, sequences))] for lane in lanes
    ]
    finals, ready, coefficients, keeps, collected = [], [], [], [], []
    for lane, kept in zip(lanes, history, strict=True):
        dtype = loop_dtype(lane.projected.dtype)
        finals.append([tf.cast(next(upstream), dtype) for _ in lane.states])
        weights, see = _ready(lane)
        # Once here instead of in each matmul.
        ready.append(([tf.transpose(w) if w.shape.rank == 2 else w for w in weights], see))
        new = kept["new"] or kept["states"]
        coefficients.append(lane.kernel.coefficients(new, _previous(lane, kept), kept["saved"]))
        keeps.append([read_array(keep) for keep in lane.keep or ()])
        sizes = lane.kernel.kept_sizes(lane.states, lane.weights)
        collected.append(_collectors(sizes, lane.states[0], dtype, length))
    factors = [[read_array(tensor) for tensor in lane] for lane in coefficients]

    def body(step, gradients, collected):
        next_gradients, next_collected = [], []
        for index, lane in enumerate(lanes):
            time = step if lane.reverse else length - 1 - step
            old = list(gradients[index])
            weights, see = ready[index]
            for state, array in enumerate(outputs[index]):
                old[state] += tf.cast(array.read(time), old[state].dtype)
            keep = [tf.cast(array.read(time), old[0].dtype) for array in keeps[index]]
            inner = [(1.0 - k) * g for k, g in zip(keep, old, strict=True)] if keep else old
            now = [array.read(time) for array in factors[index]]
            collect, by_seen, direct = lane.kernel.backward(now, inner, weights)
            if keep:
                direct = [d + k * g for d, k, g in zip(direct, keep, old, strict=True)]
            direct[0] += see(by_seen)
            next_collected.append(_write(collected[index], time, collect))
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
    for lane, known, arrays, first in zip(lanes, coefficients, collected, gradients, strict=True):
        inner = lane.kernel.inner(known, _stack(arrays, length))
        results.append(([tf.cast(tensor, lane.projected.dtype) for tensor in inner], first))
    return results


def _lane_gradients(lane, history, inner, states):
    """Gives the gradients of a lane's tensors, in the order of `Lane.tensors`."""
    previous, see = _previous(lane, history), _ready(lane)[1]
    weights = lane.kernel.by_weights(
        inner,
        history["saved"],
        history["new"] or history["states"],
        [see(previous[0]), *previous[1:]],
    )
    own = [*states, *weights[: len(lane.weights)]]
    return [
        lane.kernel.by_projected(inner),
        *[tf.cast(x, y.dtype) for x, y in zip(own, [*lane.states, *lane.weights], strict=True)],
        *[tf.zeros_like(tensor) for tensor in lane.keep or ()],
        *([] if lane.seen_scale is None else [tf.zeros_like(lane.seen_scale)]),
    ]


def _refuse_second_order(gradients, tensors):
    """Passes gradients on; taking their gradient is an error instead of a wrong number."""

    @tf.custom_gradient
    def identity(*values):
        def refuse(*_):
            raise NotImplementedError(
                "Recurrent layers with hand-written gradients have no second derivatives. Run the "
                "cell in `keras.layers.RNN`, which differentiates its equations, to take the "
                "gradient of a gradient."
            )

        return [tf.identity(value) for value in values[: len(gradients)]], refuse

    return list(identity(*gradients, *tensors))
