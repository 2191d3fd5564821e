"""Calls of cuDNN, against the equations that NVIDIA documents, and on a GPU cuDNN itself."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from keras_seqzoo.layers import GRU, LSTM, Bidirectional, Elman, LSTMCell, Recurrent, Stack
from keras_seqzoo.layers.recurrence import cudnn as module
from tests.layer_checks import assert_close, check_serialisation
from tests.layers.recurrence.test_recurrent import Averages
from tests.properties import examples
from tests.tiers import mostly_slow

UNITS = 3
MASK = np.array([[0, 0, 1, 1, 1], [1, 1, 0, 0, 0], [0, 1, 0, 1, 0], [0, 0, 0, 0, 0]], bool)
LAYERS = {"elman": Elman, "lstm": LSTM, "gru": GRU}
ON_GPU = bool(tf.config.list_physical_devices("GPU"))
on_gpu = pytest.mark.skipif(not ON_GPU, reason="needs a GPU")
every_layer = pytest.mark.parametrize("name", list(LAYERS))


def documented(mode, steps, states, parameters, lengths):
    """The equations of the cuDNN manual, over its vector of weights: all W, all R, all biases."""
    gates = {"rnn_tanh": 1, "lstm": 4, "gru": 3}[mode]
    units, features = states[0].shape[-1], steps.shape[-1]
    matrices, biases = tf.split(parameters, [gates * units * (features + units), -1])
    inputs, recurrent = tf.split(matrices, [gates * units * features, -1])
    inputs = tf.unstack(tf.reshape(inputs, (gates, units, features)))
    recurrent = tf.unstack(tf.reshape(recurrent, (gates, units, units)))
    input_biases, state_biases = map(tf.unstack, tf.unstack(tf.reshape(biases, (2, gates, units))))
    states, outputs = [state[0] for state in states], []
    for time in range(steps.shape[0]):
        by_input = [
            tf.matmul(steps[time], w, transpose_b=True) + b
            for w, b in zip(inputs, input_biases, strict=True)
        ]
        by_state = [
            tf.matmul(states[0], r, transpose_b=True) + b
            for r, b in zip(recurrent, state_biases, strict=True)
        ]
        if mode == "gru":
            r, z = (tf.sigmoid(x + h) for x, h in zip(by_input[:2], by_state[:2], strict=True))
            candidate = tf.tanh(by_input[2] + r * by_state[2])
            new = [(1.0 - z) * candidate + z * states[0]]
        else:
            sums = [x + h for x, h in zip(by_input, by_state, strict=True)]
            if mode == "lstm":
                i, f, c, o = sums
                memory = tf.sigmoid(f) * states[1] + tf.sigmoid(i) * tf.tanh(c)
                new = [tf.sigmoid(o) * tf.tanh(memory), memory]
            else:
                new = [tf.tanh(sums[0])]
        valid = (time < lengths)[:, tf.newaxis]
        states = [tf.where(valid, n, o) for n, o in zip(new, states, strict=True)]
        outputs.append(tf.where(valid, states[0], 0.0))
    tf.debugging.assert_positive(lengths)  # as the operation demands
    return tf.stack(outputs), *[state[tf.newaxis] for state in states]


@pytest.fixture
def as_documented(monkeypatch):
    monkeypatch.setattr(module, "call_cudnn", documented)
    gpu = tf.config.PhysicalDevice("/physical_device:GPU:0", "GPU")
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda *_: [gpu])
    monkeypatch.setattr(tf.sysconfig, "get_build_info", lambda: {"is_cuda_build": True})


def twins(name, **options):
    """The same layer, with the same random weights, by the loop and by cuDNN."""
    pair = [
        LAYERS[name](UNITS, return_state=True, implementation=implementation, **options)
        for implementation in ("loop", "cudnn")
    ]
    random = np.random.default_rng(7)
    for layer in pair:
        layer.build((None, None, 2))
    weights = [random.normal(scale=0.7, size=w.shape) for w in pair[0].weights]
    for layer in pair:
        layer.set_weights(weights)
    return pair


def trained(layer, sequence, mask, states, upstream):
    """Outputs of a training call, and the gradients by weights, sequence and first states."""
    sequence, states = tf.constant(sequence), [tf.constant(state) for state in states]
    with tf.GradientTape() as tape:
        tape.watch([sequence, states])
        output, *final = layer(sequence, mask=mask, initial_state=states, training=True)
        total = tf.reduce_sum(output * upstream[: output.shape[0]]) + tf.add_n(
            [tf.reduce_sum(tf.sin(tf.cast(state, output.dtype))) for state in final]
        )
    variables = [weight.value for weight in layer.trainable_weights]
    return output, final, tape.gradient(total, [variables, sequence, states])


def check_against_loop(name, backwards, sequences, use_bias, mask, rtol):
    random = np.random.default_rng(5)
    options = {"go_backwards": backwards, "return_sequences": sequences, "use_bias": use_bias}
    loop, cudnn = twins(name, **options)
    sequence = random.normal(size=(4, 5, 2)).astype("float32")
    if mask is not None:
        sequence = np.where(mask[..., None], sequence, 0).astype("float32")
    states = [random.normal(size=(4, UNITS)).astype("float32") for _ in loop.cell.state_sizes]
    upstream = random.normal(size=(4, 5, UNITS) if sequences else (4, UNITS)).astype("float32")
    expected = trained(loop, sequence, mask, states, upstream)
    assert_close(trained(cudnn, sequence, mask, states, upstream), expected, rtol)


@pytest.mark.parametrize("name", mostly_slow(list(LAYERS), "lstm"))
@examples(12)
@given(
    mask=st.none() | arrays(bool, (4, 5)),
    backwards=st.booleans(),
    sequences=st.booleans(),
    use_bias=st.booleans(),
)
def test_equals_the_loop_as_documented(name, mask, backwards, sequences, use_bias):
    # It is the arithmetic that is compared, and on a CPU it is exact to 1e-5.
    with pytest.MonkeyPatch.context() as patch, tf.device("CPU"):
        as_documented.__wrapped__(patch)
        check_against_loop(name, backwards, sequences, use_bias, mask, 1e-5)


@on_gpu
@every_layer
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("mask", [None, MASK])
def test_equals_the_loop_on_a_gpu(name, backwards, mask):
    tf.config.experimental.enable_tensor_float_32_execution(False)
    check_against_loop(name, backwards, True, True, mask, 1e-4)


def test_bidirectional_stack_trains_in_a_function(as_documented):
    layers = [
        Bidirectional(GRU(UNITS, return_sequences=True, implementation=implementation))
        for implementation in ("loop", "cudnn")
    ]
    sequence = tf.random.normal((4, 5, 2))
    stacks = [Stack([layer], return_sequences=True) for layer in layers]
    for stack in stacks:
        stack.build((None, None, 2))
    stacks[1].set_weights(stacks[0].get_weights())
    run = [
        tf.function(lambda x, s=stack: s(x, mask=MASK, training=True), autograph=False)
        for stack in stacks
    ]
    assert_close(run[1](sequence), run[0](sequence), 1e-5)


@pytest.mark.slow
def test_fit_leaves_xla_out(as_documented):
    model = keras.Sequential([LSTM(UNITS, implementation="auto"), keras.layers.Dense(1)])
    model.compile(loss="mse")
    assert model.jit_compile
    model = keras.Sequential([LSTM(UNITS, implementation="cudnn"), keras.layers.Dense(1)])
    model.compile(loss="mse")
    assert not model.jit_compile
    history = model.fit(np.ones((4, 5, 2)), np.zeros((4, 1)), epochs=2, verbose=0)
    assert history.history["loss"][1] < history.history["loss"][0]


def test_inference_and_steps_need_no_gpu():
    loop, cudnn = twins("gru")
    sequence = np.random.default_rng(1).normal(size=(4, 5, 2)).astype("float32")
    assert_close(cudnn(sequence, mask=MASK), loop(sequence, mask=MASK), 0)
    state = [tf.ones((4, UNITS))]
    assert_close(cudnn.step(sequence[:, 0], state), loop.step(sequence[:, 0], state), 0)


@pytest.mark.skipif(ON_GPU, reason="needs to see no GPU")
def test_training_without_a_gpu_says_what_to_do():
    with pytest.raises(RuntimeError, match='`implementation` must be "auto" or "loop"'):
        GRU(UNITS, implementation="cudnn")(tf.ones((1, 2, 3)), training=True)


def test_serialisation():
    check_serialisation(GRU(UNITS, implementation="cudnn"), np.ones((1, 2, 3), "float32"))


@pytest.mark.parametrize(
    "make",
    [
        lambda **k: GRU(2, reset_after=False, **k),
        lambda **k: LSTM(2, forget_gate=False, **k),
        lambda **k: Elman(2, activation="relu", **k),
        lambda **k: GRU(2, zoneout=0.1, **k),
        lambda **k: LSTM(2, recurrent_dropout=0.1, **k),
    ],
)
def test_what_cudnn_does_not_support_is_refused(make):
    with pytest.raises(ValueError, match="`cell` must be an Elman, LSTM or GRU cell"):
        make(implementation="cudnn")


def test_a_cell_with_another_projection_is_refused():
    class Doubled(LSTMCell):
        def project(self, inputs, training=False, kernel=None):
            return super().project(2.0 * inputs, training, kernel)

    assert Recurrent(Doubled(2)).cell.get_kernel_step() is not None
    with pytest.raises(ValueError, match="`cell` must be an Elman, LSTM or GRU cell"):
        Recurrent(Doubled(2), implementation="cudnn")


def test_a_cell_without_hand_written_gradient_is_refused():
    with pytest.raises(ValueError, match='`cell` must be .* for `implementation="cudnn"`'):
        Recurrent(Averages(), implementation="cudnn")
