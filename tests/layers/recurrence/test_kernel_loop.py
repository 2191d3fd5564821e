"""The loop with hand-written gradients against automatic differentiation of the equations."""

import functools

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from keras_seqzoo.layers.recurrence.gru_kernels import ResetAfterGRUKernel, ResetBeforeGRUKernel
from keras_seqzoo.layers.recurrence.kernel_loop import Recurrence, run_kernel_loop
from keras_seqzoo.layers.recurrence.kernels import ElmanKernel, LSTMKernel
from keras_seqzoo.layers.recurrence.normalized_kernels import (
    NormalizedGRUKernel,
    NormalizedLSTMKernel,
)
from tests.layer_checks import assert_equal, leaves
from tests.properties import examples
from tests.tiers import mostly_slow, slow

# name: the kernel, its equations, gates, states and the shapes of its weights over U
KERNELS = {}


def equations(name, kernel, gates, states, *weights):
    def register(step):
        KERNELS[name] = (kernel, step, gates, states, weights)
        return step

    return register


@equations("elman", ElmanKernel(), 1, 1, (1, 1))
def elman(p, seen, states, weights):
    return [tf.tanh(p + seen @ weights[0])]


@equations("lstm", LSTMKernel(), 4, 2, (1, 4))
def lstm(p, seen, states, weights):
    i, f, g, o = tf.split(p + seen @ weights[0], 4, -1)
    memory = tf.sigmoid(f) * states[1] + tf.sigmoid(i) * tf.tanh(g)
    return [tf.sigmoid(o) * tf.tanh(memory), memory]


@equations("lstm without forget gate", LSTMKernel(forget_gate=False), 3, 2, (1, 3))
def lstm_without_forget_gate(p, seen, states, weights):
    i, g, o = tf.split(p + seen @ weights[0], 3, -1)
    memory = states[1] + tf.sigmoid(i) * tf.tanh(g)
    return [tf.sigmoid(o) * tf.tanh(memory), memory]


@equations("gru reset after", ResetAfterGRUKernel(), 3, 1, (1, 3), (3,))
@equations("gru reset after without bias", ResetAfterGRUKernel(), 3, 1, (1, 3))
def gru_reset_after(p, seen, states, weights):
    inner = seen @ weights[0] + (weights[1] if len(weights) > 1 else 0.0)
    (pz, pr, ph), (z, r, h) = tf.split(p, 3, -1), tf.split(inner, 3, -1)
    z, r = tf.sigmoid(pz + z), tf.sigmoid(pr + r)
    return [z * states[0] + (1.0 - z) * tf.tanh(ph + r * h)]


@equations("gru reset before", ResetBeforeGRUKernel(), 3, 1, (1, 2), (1, 1))
def gru_reset_before(p, seen, states, weights):
    pz, pr, ph = tf.split(p, 3, -1)
    z, r = tf.split(seen @ weights[0], 2, -1)
    z, r = tf.sigmoid(pz + z), tf.sigmoid(pr + r)
    return [z * states[0] + (1.0 - z) * tf.tanh(ph + (r * seen) @ weights[1])]


def normalized(x):
    mean, variance = tf.nn.moments(x, -1, keepdims=True)
    return (x - mean) / tf.sqrt(variance + 0.001)


@equations("normalized lstm", NormalizedLSTMKernel(), 4, 2, (1, 4), (4,), (1,), (1,))
def normalized_lstm(p, seen, states, weights):
    kernel, gamma, memory_gamma, memory_beta = weights
    i, f, g, o = tf.split(p + gamma * normalized(seen @ kernel), 4, -1)
    memory = tf.sigmoid(f) * states[1] + tf.sigmoid(i) * tf.tanh(g)
    return [tf.sigmoid(o) * tf.tanh(memory_gamma * normalized(memory) + memory_beta), memory]


@equations(
    "normalized lstm without forget gate",
    NormalizedLSTMKernel(forget_gate=False),
    *(3, 2, (1, 3), (3,), (1,), (1,)),
)
def normalized_lstm_without_forget_gate(p, seen, states, weights):
    kernel, gamma, memory_gamma, memory_beta = weights
    i, g, o = tf.split(p + gamma * normalized(seen @ kernel), 3, -1)
    memory = states[1] + tf.sigmoid(i) * tf.tanh(g)
    return [tf.sigmoid(o) * tf.tanh(memory_gamma * normalized(memory) + memory_beta), memory]


@equations("normalized gru", NormalizedGRUKernel(), 3, 1, (1, 3), (3,), (3,))
@equations("normalized gru without bias", NormalizedGRUKernel(), 3, 1, (1, 3), (3,))
def normalized_gru(p, seen, states, weights):
    kernel, gamma, *bias = weights
    inner, size = seen @ kernel, 2 * states[0].shape[-1]
    inner = gamma * tf.concat([normalized(inner[:, :size]), normalized(inner[:, size:])], -1)
    (pz, pr, ph), (z, r, h) = tf.split(p, 3, -1), tf.split(inner + sum(bias), 3, -1)
    z, r = tf.sigmoid(pz + z), tf.sigmoid(pr + r)
    return [z * states[0] + (1.0 - z) * tf.tanh(ph + r * h)]


RARE = ("normalized lstm without forget gate", "normalized gru without bias")
every_kernel = pytest.mark.parametrize(
    "name", [slow(name) if name in RARE else name for name in KERNELS]
)


def make_data(name, units, mask, zoneout, dropout, seed):
    """Create the tensors of a recurrence, without keys for optional ones that it lacks."""
    _, _, gates, states, weights = KERNELS[name]
    random = np.random.default_rng(seed)
    length, batch = mask.shape
    # rounded to float32, so that both precisions start from the same numbers
    data = {
        "projected": random.normal(size=(length, batch, gates * units)),
        "states": [random.normal(size=(batch, units)) for _ in range(states)],
        "weights": [random.normal(size=[n * units for n in shape]) for shape in weights],
    }
    padding = 1.0 - mask[..., np.newaxis]
    if zoneout:
        rates = [random.random(size=(length, batch, units)) for _ in range(states)]
        data["keep"] = [np.maximum(padding, rate) for rate in rates]
    elif not mask.all():
        data["keep"] = [padding] * states
    if dropout:
        data["seen_scale"] = 1.5 * (random.random(size=(batch, units)) < 0.7)
    return tf.nest.map_structure(lambda x: x.astype("float32").astype("float64"), data)


@st.composite
def cases(draw, name):
    """One recurrence of a kernel and, sometimes, a second of any: `[(name, reverse, data)]`."""
    shape = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    case = []
    for kernel in [name, *draw(st.lists(st.sampled_from(list(KERNELS)), max_size=1))]:
        mask = draw(st.just(np.ones(shape, bool)) | arrays(bool, shape))
        units, seed = draw(st.integers(1, 5)), draw(st.integers(0, 2**32 - 1))
        zoneout, dropout, reverse = (draw(st.booleans()) for _ in range(3))
        case.append((kernel, reverse, make_data(kernel, units, mask, zoneout, dropout, seed)))
    return case


MASK = np.array([[0, 1, 1, 0], [0, 0, 1, 1], [0, 1, 0, 0]], bool)  # (T, B)


def two_recurrences(name, mask=MASK, zoneout=True):
    """A fixed case with everything in it, and a second of another size and direction."""
    other = make_data("gru reset before", 3, mask, False, True, 1)
    return [
        (name, False, make_data(name, 2, mask, zoneout, True, 0)),
        ("gru reset before", True, other),
    ]


def unrolled(case):
    """The equations, step by step."""
    results = []
    for name, reverse, data in case:
        step, states, outputs = KERNELS[name][1], data["states"], []
        length = data["projected"].shape[0]
        for time in reversed(range(length)) if reverse else range(length):
            seen = states[0] * data.get("seen_scale", 1.0)
            new = step(data["projected"][time], seen, states, data["weights"])
            if "keep" in data:
                rates = [keep[time] for keep in data["keep"]]
                new = [k * o + (1.0 - k) * n for k, o, n in zip(rates, states, new, strict=True)]
            states = new
            outputs.append(states[0])
        results.append(([tf.stack(outputs[::-1] if reverse else outputs)], states))
    return results


def looped(case, **options):
    recurrences = [
        Recurrence(KERNELS[name][0], reverse=reverse, **data) for name, reverse, data in case
    ]
    return run_kernel_loop(recurrences, **options)


def differentiate(run, case, return_sequences=True):
    """Return outputs, states and the gradients of projected inputs, first states and weights."""
    by = [[data[key] for key in ("projected", "states", "weights")] for _, _, data in case]
    by = tf.nest.flatten(by)
    with tf.GradientTape() as tape:
        tape.watch(by)
        results = run(case)
        if not return_sequences:
            results = [([], states) for _, states in results]
        loss = 0.0
        for index, tensor in enumerate(leaves(results)):
            weights = tf.sin(1.0 + index + tf.range(tf.size(tensor), dtype=tf.float64))
            weights = tf.cast(tf.reshape(weights, tf.shape(tensor)), tensor.dtype)
            # not linear, so that the upstream gradient depends on the result
            loss += tf.cast(tf.reduce_sum(weights * tf.sin(tensor)), tf.float64)
    return leaves(results), tape.gradient(loss, by)


def as_tensors(case, dtype="float64"):
    cast = functools.partial(tf.cast, dtype=dtype)
    return [(name, reverse, tf.nest.map_structure(cast, data)) for name, reverse, data in case]


def assert_equals_equations(case, sequences, training, dtype, tolerance):
    """Compare the loop in `dtype` with the equations in float64."""
    expected = differentiate(unrolled, as_tensors(case), sequences)
    run = functools.partial(looped, return_sequences=sequences, training=training)
    actual = differentiate(run, as_tensors(case, dtype), sequences)
    assert {tensor.dtype for tensor in leaves(actual)} == {tf.as_dtype(dtype)}
    assert_equal(actual, expected, tolerance)


@pytest.mark.hypothesis
@pytest.mark.parametrize("name", mostly_slow(list(KERNELS), "lstm"))
def test_equals_differentiation_of_the_equations(name):
    @examples(6)
    @example(case=two_recurrences(name), sequences=False, training=False)
    @example(case=two_recurrences(name), sequences=True, training=True)
    @given(case=cases(name), sequences=st.booleans(), training=st.booleans())
    def check(case, sequences, training):
        assert_equals_equations(case, sequences, training, "float64", 1e-10)
        # where a variance is near 0, normalization magnifies the rounding of float32
        if not any(kernel.startswith("normalized") for kernel, *_ in case):
            assert_equals_equations(case, sequences, training, "float32", 1e-5)

    check()


@pytest.mark.parametrize("sequences", [False, True])
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", [name for name in KERNELS if name.startswith("normalized")])
def test_normalized_kernels_in_float32(name, training, sequences):
    assert_equals_equations(two_recurrences(name), sequences, training, "float32", 1e-5)


def open_signature(data):
    """The specs of a recurrence's tensors, with T and B unknown."""
    leading = {"projected": 2, "keep": 2, "states": 1, "seen_scale": 1, "weights": 0}

    def spec(key, tensor):
        unknown = leading[key]
        return tf.TensorSpec([None] * unknown + tensor.shape[unknown:], tensor.dtype)

    return {
        key: tf.nest.map_structure(functools.partial(spec, key), tensors)
        for key, tensors in data.items()
    }


def traced(case, jit_compile=None, **options):
    """A `tf.function` of such cases, with T and B unknown, to gradients."""

    def run(data):
        same = [(name, reverse, d) for (name, reverse, _), d in zip(case, data, strict=True)]
        return differentiate(functools.partial(looped, **options), same)

    signature = [open_signature(data) for _, _, data in as_tensors(case)]
    function = tf.function(
        run, input_signature=[signature], jit_compile=jit_compile, autograph=False
    )
    return lambda case: function([data for _, _, data in as_tensors(case)])


@pytest.mark.parametrize("name", mostly_slow(list(KERNELS), "lstm"))
def test_graphs_with_unknown_shapes(name):
    training = name != "lstm"  # without, the gradient runs the forward loop again
    run = traced(two_recurrences(name), training=training)
    for mask in (MASK, MASK[:1, :2], np.concatenate((MASK, ~MASK))):
        case = two_recurrences(name, mask)
        assert_equal(run(case), differentiate(unrolled, as_tensors(case)), 1e-10)


@pytest.mark.parametrize("name", mostly_slow(list(KERNELS), "lstm"))
@pytest.mark.parametrize("where", [slow("loops alone"), "all around them"])
def test_compiled_equals_not_compiled(name, where):
    around = True if where == "all around them" else None
    compiled = traced(two_recurrences(name), jit_compile=around, training=True, compiled=True)
    case = two_recurrences(name)
    assert_equal(compiled(case), differentiate(unrolled, as_tensors(case)), 1e-10)


@pytest.mark.slow
def test_compiled_in_eager_calls_and_for_a_second_shape():
    inside = traced(two_recurrences("elman"), training=True, compiled=True)
    eager = functools.partial(looped, training=True, compiled=True)
    for mask in (MASK, MASK[:2, :3]):
        case = two_recurrences("elman", mask)
        expected = differentiate(unrolled, as_tensors(case))
        assert_equal(inside(case), expected, 1e-10)
        assert_equal(differentiate(eager, as_tensors(case)), expected, 1e-10)


def test_a_loss_of_one_recurrence_or_of_the_last_state_only():
    case = as_tensors(two_recurrences("lstm"))
    everything = [leaf for _, _, data in case for leaf in tf.nest.flatten(data["states"])]
    for index, tensor in ((0, "output"), (0, "memory"), (1, "output")):
        gradients = []
        for run in (unrolled, looped):
            with tf.GradientTape() as tape:
                tape.watch(everything)
                [output], states = run(case)[index]
                loss = tf.reduce_sum(tf.sin(output if tensor == "output" else states[1]))
            gradients.append(
                tape.gradient(loss, everything, unconnected_gradients=tf.UnconnectedGradients.ZERO)
            )
        assert_equal(gradients[1], gradients[0], 1e-10)


@pytest.mark.slow
@every_kernel
@pytest.mark.parametrize("training", [True, False])
def test_second_derivatives_are_refused(name, training):
    case = as_tensors(two_recurrences(name))

    def second(by):
        with tf.GradientTape() as outer:
            outer.watch(by)
            with tf.GradientTape() as inner:
                inner.watch(by)
                [outputs], _ = looped(case, training=training)[0]
                loss = tf.reduce_sum(outputs**2)
            gradient = inner.gradient(loss, by)
        return outer.gradient(gradient, by)

    data = case[0][2]
    for by in (data["projected"], data["states"][0], data["weights"][0]):
        with pytest.raises(NotImplementedError, match="second derivatives"):
            second(by)
        with pytest.raises(NotImplementedError, match="second derivatives"):
            tf.function(lambda: second(by), autograph=False)()  # noqa: B023


@every_kernel
@pytest.mark.parametrize("training", [True, False])
def test_half_precision(name, training):
    """Projected inputs, h and weights are in half precision, other states in float32."""
    kernel, reverse, data = two_recurrences(name)[0]
    exact = as_tensors([(kernel, reverse, data)], "float32")
    half = tf.nest.map_structure(lambda x: tf.cast(x, tf.float32), data)
    for key in ("projected", "weights"):
        half[key] = tf.nest.map_structure(lambda x: tf.cast(x, tf.bfloat16), half[key])
    half["states"] = [tf.cast(half["states"][0], tf.bfloat16), *half["states"][1:]]
    run = functools.partial(looped, training=training)
    expected = differentiate(run, exact)
    outputs, gradients = differentiate(run, [(kernel, reverse, half)])
    states = [tf.bfloat16, tf.float32][: len(half["states"])]
    assert [tensor.dtype for tensor in outputs] == [tf.bfloat16, *states]
    dtypes = [tf.bfloat16, *states, *[tf.bfloat16] * len(half["weights"])]
    assert [gradient.dtype for gradient in gradients] == dtypes
    assert all(np.isfinite(tf.cast(tensor, tf.float32)).all() for tensor in gradients)
    assert_equal((outputs, gradients), expected, 0.05)
