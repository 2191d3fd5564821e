"""The loop over time with hand-written gradients."""

import dataclasses
import functools
from typing import NamedTuple

import tensorflow as tf


@dataclasses.dataclass
class Lane:
    """One recurrence of those that share a loop, time-major.

    Attributes:
        kernel: one of `recurrence_kernels`.
        projected: tensor `(T, B, P)`, what depends on the input alone.
        states: list of tensors `(B, U)`, the state before the first step; h comes first.
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
        return _Spec(
            self.kernel,
            len(self.states),
            len(self.weights),
            0 if self.keep is None else len(self.keep),
            0 if self.seen_scale is None else 1,
            self.reverse,
        )

    def tensors(self):
        """Lists the lane's tensors in the order of `_unpack`."""
        scale = [] if self.seen_scale is None else [self.seen_scale]
        return [self.projected, *self.states, *self.weights, *(self.keep or []), *scale]


class _Spec(NamedTuple):
    kernel: object
    states: int
    weights: int
    keep: int
    seen_scale: int
    reverse: bool


def kernel_recurrence(lanes, return_sequences=True, training=False, compiled=False):
    """Runs recurrences of one length in one loop, with gradients written by hand.

    The forward loop keeps what the backward one needs (without `training` it keeps nothing, and
    the gradient, if there is one after all, runs it again). The backward loop carries only what
    is sequential; the gradients of the weights are one matmul each over all steps after it.

    States and activations inside the loop are float32 under half precision; the matmuls over all
    steps are in the dtype of `projected`.

    Args:
        lanes: list of `Lane`s with the same T.
        return_sequences: whether to give the h of all steps.
        training: whether a gradient is expected.
        compiled: whether XLA compiles the two loops, once for each shape. The matmuls over all
            steps stay outside.

    Returns:
        A list with `(outputs, states)` for each lane: h of all steps `(T, B, U)` in the order of
        time, or None, and the list of states after the last step.

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
            stopped = [tf.stop_gradient(tensor) for tensor in upstream]
            kept = history
            if not training:
                kept = _loop(_forward, specs, True, sequences, compiled)(inputs)[2]
            swept = _loop(_backward, specs, sequences, compiled)(inputs, kept, stopped)
            gradients = []
            for lane, saved, results in zip(_unpack(specs, inputs), kept, swept, strict=True):
                gradients += _lane_gradients(lane, saved["saved"], *results)
            return _refuse_second_order(gradients, [*tensors, *upstream])

        return [*outputs, *tf.nest.flatten(states)], gradient

    flat = iter(run(*[tensor for lane in lanes for tensor in lane.tensors()]))
    outputs = [next(flat) if sequences else None for _ in lanes]
    return [
        (output, [next(flat) for _ in lane.states])
        for output, lane in zip(outputs, lanes, strict=True)
    ]


@functools.cache
def _loop(function, specs, *options):
    """Binds a loop to its specs and, where wanted, lets XLA compile it."""
    *options, compiled = options
    bound = functools.partial(function, specs, *options)
    bound.__name__ = function.__name__  # what compilers and profilers show
    return tf.function(bound, jit_compile=True, autograph=False) if compiled else bound


def _unpack(specs, tensors):
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


def _inner_dtype(tensor):
    return tf.float64 if tensor.dtype == tf.float64 else tf.float32


def _length(tensor):
    return tensor.shape[0] if tensor.shape[0] is not None else tf.shape(tensor)[0]


def _array(tensor):
    """Makes a TensorArray of the steps of a tensor."""
    return tf.TensorArray(
        tensor.dtype, size=_length(tensor), element_shape=tensor.shape[1:]
    ).unstack(tensor)


def _collectors(sizes, like, dtypes, length):
    """Makes empty TensorArrays for steps of `(B, size)`."""
    batch = like.shape[0]
    return [
        tf.TensorArray(dtype, size=length, element_shape=(batch, size))
        for size, dtype in zip(sizes, dtypes, strict=True)
    ]


def _write(arrays, time, tensors):
    return [
        array.write(time, tf.cast(tensor, array.dtype))
        for array, tensor in zip(arrays, tensors, strict=True)
    ]


def _stack(arrays):
    return [array.stack() for array in arrays]


def _ready(lane):
    """Casts to the dtype of the loop what each of its steps needs."""
    dtype = _inner_dtype(lane.projected)
    scale = lane.seen_scale
    return (
        [tf.cast(weight, dtype) for weight in lane.weights],
        (lambda state: state) if scale is None else (lambda state: state * tf.cast(scale, dtype)),
    )


def _forward(specs, training, sequences, tensors):
    """Runs all lanes; gives their outputs, final states and, in training, their history."""
    lanes = _unpack(specs, tensors)
    length = _length(lanes[0].projected)
    inputs = [_array(lane.projected) for lane in lanes]
    keeps = [[_array(keep) for keep in lane.keep or ()] for lane in lanes]
    ready = [_ready(lane) for lane in lanes]
    dtypes = [_inner_dtype(lane.projected) for lane in lanes]
    collected = []
    for lane, dtype in zip(lanes, dtypes, strict=True):
        units = lane.states[0].shape[-1]
        states = [units] * len(lane.states)
        arrays = {
            "output": _collectors(
                [units] * sequences, lane.states[0], [lane.projected.dtype] * sequences, length
            )
        }
        if training:
            sizes = {"states": states, "saved": lane.kernel.saved_sizes(units)}
            sizes["new"] = states if lane.keep else []
            arrays |= {
                name: _collectors(size, lane.states[0], [dtype] * len(size), length)
                for name, size in sizes.items()
            }
        collected.append(arrays)

    def body(step, states, collected):
        next_states, next_collected = [], []
        for index, lane in enumerate(lanes):
            time = length - 1 - step if lane.reverse else step
            weights, see = ready[index]
            old, arrays = states[index], dict(collected[index])
            projected = tf.cast(inputs[index].read(time), dtypes[index])
            new, saved = lane.kernel.forward(projected, see(old[0]), old, weights)
            kept = new
            if lane.keep:
                keep = [tf.cast(array.read(time), dtypes[index]) for array in keeps[index]]
                kept = [k * o + (1.0 - k) * n for n, k, o in zip(new, keep, old, strict=True)]
            arrays["output"] = _write(arrays["output"], time, kept[:1] * sequences)
            if training:
                arrays["states"] = _write(arrays["states"], time, kept)
                arrays["saved"] = _write(arrays["saved"], time, saved)
                arrays["new"] = _write(arrays["new"], time, new if lane.keep else [])
            next_states.append(
                [tf.ensure_shape(n, o.shape) for n, o in zip(kept, old, strict=True)]
            )
            next_collected.append(arrays)
        return step + 1, next_states, next_collected

    first = [
        [tf.cast(state, dtype) for state in lane.states]
        for lane, dtype in zip(lanes, dtypes, strict=True)
    ]
    _, states, collected = tf.while_loop(
        lambda step, *_: step < length,
        body,
        (tf.constant(0), first, collected),
        maximum_iterations=length,
    )
    states = [
        [tf.cast(state, old.dtype) for state, old in zip(lane_states, lane.states, strict=True)]
        for lane_states, lane in zip(states, lanes, strict=True)
    ]
    collected = [{name: _stack(arrays) for name, arrays in lane.items()} for lane in collected]
    outputs = [arrays.pop("output")[0] for arrays in collected] if sequences else []
    return outputs, states, collected if training else []


def _previous(history, first, reverse):
    """Shifts states of all steps to those before each step."""
    first = tf.cast(first, history.dtype)[tf.newaxis]
    # Sliced last, so that no step at all stays none.
    return tf.concat([history, first], 0)[1:] if reverse else tf.concat([first, history], 0)[:-1]


def _backward(specs, sequences, tensors, history, upstream):
    """Runs all lanes back; gives what each collected, what its weights saw, its first states'."""
    lanes = _unpack(specs, tensors)
    length = _length(lanes[0].projected)
    upstream = iter(upstream)
    outputs = [_array(next(upstream)) if sequences else None for _ in lanes]
    finals, ready, factors, keeps, seen, collected = [], [], [], [], [], []
    for lane, kept in zip(lanes, history, strict=True):
        dtype, units = _inner_dtype(lane.projected), lane.states[0].shape[-1]
        finals.append([tf.cast(next(upstream), dtype) for _ in lane.states])
        ready.append(_ready(lane))
        previous = [
            _previous(states, first, lane.reverse)
            for states, first in zip(kept["states"], lane.states, strict=True)
        ]
        new = kept["new"] or kept["states"]
        factors.append([_array(x) for x in lane.kernel.coefficients(new, previous, kept["saved"])])
        keeps.append([_array(keep) for keep in lane.keep or ()])
        seen.append(tf.cast(ready[-1][1](previous[0]), lane.projected.dtype))
        sizes = lane.kernel.collected_sizes(units)
        kinds = [lane.projected.dtype] * len(sizes)
        collected.append(_collectors(sizes, lane.states[0], kinds, length))

    def body(step, gradients, collected):
        next_gradients, next_collected = [], []
        for index, lane in enumerate(lanes):
            time = step if lane.reverse else length - 1 - step
            old = list(gradients[index])
            weights, see = ready[index]
            if sequences:
                old[0] += tf.cast(outputs[index].read(time), old[0].dtype)
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
        maximum_iterations=length,
    )
    return [
        (_stack(arrays), saw, first)
        for arrays, saw, first in zip(collected, seen, gradients, strict=True)
    ]


def _lane_gradients(lane, saved, collected, seen, states):
    """Gives the gradients of a lane's tensors, in the order of `Lane.tensors`."""
    projected, weights = lane.kernel.finish(collected, saved, seen)
    return [
        projected,
        *[tf.cast(state, old.dtype) for state, old in zip(states, lane.states, strict=True)],
        *[tf.cast(weight, old.dtype) for weight, old in zip(weights, lane.weights)],  # noqa: B905
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
