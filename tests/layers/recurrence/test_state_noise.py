"""Noise on states and weights, with hand-written gradients and with differentiated loops."""

import functools
import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.layers.recurrence.bidirectional import Bidirectional
from keras_seqzoo.layers.recurrence.elman import Elman
from keras_seqzoo.layers.recurrence.gru import GRU
from keras_seqzoo.layers.recurrence.lstm import LSTM
from keras_seqzoo.layers.recurrence.recurrent import Recurrent, RecurrentCell
from keras_seqzoo.layers.recurrence.stack import Stack
from tests.layer_checks import (
    assert_close,
    check_keras_saving,
    check_padding_changes_nothing,
    check_serialisation,
    leaves,
    weighted_sum,
)
from tests.layers import reference
from tests.seeds import random_generator
from tests.tiers import mostly_slow

UNITS = 3
RANDOM = random_generator(11)
SEQUENCE = RANDOM.normal(size=(4, 5, 2)).astype("float32")
MASK = np.array([[0, 0, 1, 1, 1], [1, 1, 0, 0, 0], [0, 1, 0, 1, 0], [0, 0, 0, 0, 0]], bool)
BOTH = {"return_sequences": True, "return_state": True}
NOISE = {"recurrent_dropout": 0.4, "zoneout": 0.2, "weight_drop": 0.3, "seed": 5}
MAKERS = {
    "elman": functools.partial(Elman, UNITS),
    "lstm": functools.partial(LSTM, UNITS),
    "gru": functools.partial(GRU, UNITS),
    "gru reset before": functools.partial(GRU, UNITS, reset_after=False),
    "lstm relu": functools.partial(LSTM, UNITS, activation="relu"),
    "gru relu": functools.partial(GRU, UNITS, activation="relu"),
}
STEPS = {
    "elman": reference.elman_step,
    "lstm": reference.lstm_step,
    "gru": reference.gru_reset_after_step,
    "gru reset before": reference.gru_reset_before_step,
}
every_layer = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def randomized(layer):
    layer.build(SEQUENCE.shape)
    random = np.random.default_rng(2)
    shapes = [weight.shape for weight in layer.trainable_weights]
    set_trainable(layer, [random.normal(scale=0.7, size=shape) for shape in shapes])
    return layer


def set_trainable(layer, values):
    for weight, value in zip(layer.trainable_weights, values, strict=True):
        weight.assign(value)


def random_states(layer, batch=4):
    return [RANDOM.normal(size=(batch, size)).astype("float32") for size in layer.cell.state_sizes]


def test_which_loop_the_layers_take():
    kernels = {name: make().cell.kernel_step for name, make in MAKERS.items()}
    assert [name for name, kernel in kernels.items() if kernel is None] == ["lstm relu", "gru relu"]


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_one_dropout_mask_for_all_steps_of_a_sequence(activation):
    """`h' = f(x + m h)` with positive x and h: m can be read from the outputs."""
    layer = Elman(
        40,
        activation=activation,
        kernel_initializer="identity",
        recurrent_initializer="identity",
        return_sequences=True,
        recurrent_dropout=0.25,
        dtype="float64",
    )
    inputs = np.random.default_rng(0).uniform(0.1, 0.5, size=(3, 6, 40))
    outputs = np.array(layer(inputs, training=True))
    before = np.arctanh(outputs) if activation == "tanh" else outputs
    seen = (before - inputs)[:, 1:] / outputs[:, :-1]  # (3, 5, 40)
    mask = seen[:, 0]
    np.testing.assert_allclose(seen, np.repeat(mask[:, None], 5, axis=1), atol=1e-8)
    dropped = np.abs(mask) < 1e-8
    np.testing.assert_allclose(mask[~dropped], 1 / 0.75)
    assert 0.1 < dropped.mean() < 0.4  # 120 draws at 0.25
    assert np.any(dropped[0] != dropped[1])  # each row has its own


def test_weight_drop_is_one_mask_on_the_recurrent_weights_for_a_batch():
    """`h' = f(x + m h)` with the identity as U: m, read from the outputs, is the same for all."""
    layer = Elman(
        40,
        kernel_initializer="identity",
        recurrent_initializer="identity",
        return_sequences=True,
        weight_drop=0.25,
        dtype="float64",
    )
    inputs = np.random.default_rng(0).uniform(0.1, 0.5, size=(3, 6, 40))
    outputs = np.array(layer(inputs, training=True))
    seen = (np.arctanh(outputs) - inputs)[:, 1:] / outputs[:, :-1]  # (3, 5, 40)
    mask = seen[0, 0]
    np.testing.assert_allclose(seen, np.broadcast_to(mask, seen.shape), atol=1e-8)
    dropped = np.abs(mask) < 1e-8
    np.testing.assert_allclose(mask[~dropped], 1 / 0.75)
    assert 0.05 < dropped.mean() < 0.5  # 40 draws at 0.25
    plain = Elman(40, return_sequences=True, dtype="float64")
    plain.build(inputs.shape)
    plain.set_weights([weight.numpy() for weight in layer.trainable_weights])
    assert_close(layer(inputs), plain(inputs))


@every_layer
def test_gradients_reach_the_weights_that_are_not_dropped_alone(make):
    layer = randomized(make(weight_drop=0.5, seed=4, **BOTH))
    with tf.GradientTape() as tape:
        loss = sum(weighted_sum(tensor) for tensor in leaves(layer(SEQUENCE, training=True)))
    gradient = tape.gradient(loss, layer.trainable_weights)[1].numpy()
    dropped = gradient == 0.0
    assert 0.2 < dropped.mean() < 0.9  # some units of the rectifier never fire
    # A layer without noise, with these weights zero and the others twice as large, has this loss.
    plain = make(**BOTH)
    plain.build(SEQUENCE.shape)
    kernel, recurrent, bias = (weight.numpy() for weight in layer.trainable_weights)
    set_trainable(plain, [kernel, np.where(dropped, 0.0, 2.0 * recurrent), bias])
    with tf.GradientTape() as tape:
        expected = sum(weighted_sum(tensor) for tensor in leaves(plain(SEQUENCE)))
    np.testing.assert_allclose(loss, expected, rtol=1e-5)
    expected = tape.gradient(expected, plain.trainable_weights)[1].numpy()
    np.testing.assert_allclose(gradient, np.where(dropped, 0.0, 2.0 * expected), atol=1e-4)


@pytest.mark.parametrize("make", mostly_slow(MAKERS, "lstm", "gru relu"))
def test_dropout_is_a_mask_on_the_rows_of_the_recurrent_kernel(make):
    """For one sequence, `(m h) U = h (diag(m) U)`: one of the 2^U masks explains all steps."""
    layer, plain = randomized(make(recurrent_dropout=0.5, seed=3, **BOTH)), make(**BOTH)
    plain.build(SEQUENCE.shape)
    kernel, recurrent, bias = (weight.numpy() for weight in layer.trainable_weights)
    initial = random_states(layer, batch=1)
    expected = {}
    for mask in itertools.product((0.0, 2.0), repeat=UNITS):
        set_trainable(plain, [kernel, np.array(mask)[:, None] * recurrent, bias])
        expected[mask] = plain(SEQUENCE[:1], initial_state=initial)
    seen = set()
    for _ in range(8):
        actual = layer(SEQUENCE[:1], initial_state=initial, training=True)
        matches = [mask for mask, other in expected.items() if is_close(actual, other)]
        assert len(matches) == 1
        seen.update(matches)
    assert len(seen) > 1


def is_close(nest, other):
    pairs = zip(leaves(nest), leaves(other), strict=True)
    return all(np.allclose(one, two, atol=1e-5) for one, two in pairs)


@every_layer
def test_dropout_is_inactive_in_inference(make):
    layer, plain = randomized(make(recurrent_dropout=0.5, **BOTH)), randomized(make(**BOTH))
    for arguments in ({}, {"mask": MASK}):
        assert_close(layer(SEQUENCE, **arguments), plain(SEQUENCE, **arguments))
        assert not is_close(layer(SEQUENCE, training=True, **arguments), plain(SEQUENCE))


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("name", STEPS)
def test_zoneout_in_inference_is_the_mean(name, backwards):
    layer = randomized(MAKERS[name](zoneout=0.3, go_backwards=backwards, **BOTH))

    def step(x, states, *weights):
        _, new = STEPS[name](x, states, *weights)
        states = [0.3 * o + 0.7 * n for o, n in zip(states, new, strict=True)]
        return states[0], states

    initial = random_states(layer)
    weights = [weight.numpy() for weight in layer.trainable_weights]
    for mask in (None, MASK):
        outputs, last, final = reference.unroll(step, weights, SEQUENCE, initial, mask, backwards)
        outputs = outputs[:, ::-1] if backwards else outputs
        assert_close(layer(SEQUENCE, mask=mask, initial_state=initial), (outputs, final))
        layer.return_sequences = False
        assert_close(layer(SEQUENCE, mask=mask, initial_state=initial), (last, final))
        layer.return_sequences = True


@every_layer
def test_zoneout_in_training_keeps_units_or_renews_them(make):
    layer, plain = randomized(make(zoneout=0.3, **BOTH)), randomized(make(**BOTH))
    batch = 100
    sequence = RANDOM.normal(size=(batch, 4, 2)).astype("float32")
    states, kept, told = random_states(layer, batch), [], []
    for time in range(4):
        now = sequence[:, time]
        if time % 2:
            outputs, *blended = layer(now[:, None], initial_state=states, training=True)
        else:
            outputs, blended = layer.step(now, states, training=True)
        assert_close(outputs[:, 0] if time % 2 else outputs, blended[0])
        new = plain.step(now, states)[1]
        kept.append(which_stay(blended, states, new))
        told.append(np.abs(np.subtract(states, new)) > 1e-4)  # else old and new are equal
        states = blended
    kept = np.array(kept)  # (time, states, B, U)
    assert abs(kept[np.array(told)].mean() - 0.3) < 0.05
    assert np.all(np.any(kept[0] != kept[1], axis=(1, 2)))  # new draws at each step
    if len(states) == 2:
        assert np.any(kept[:, 0] != kept[:, 1])  # and for each state


def which_stay(blended, old, new):
    """Where the old value is; everywhere else the new one must be."""
    stay = []
    for b, o, n in zip(blended, old, new, strict=True):
        is_old, is_new = np.isclose(b, o, atol=1e-7), np.isclose(b, n, atol=1e-5)
        assert np.all(is_old | is_new)
        stay.append(is_old & ~is_new)
    return stay


@pytest.mark.parametrize("name", ["elman", "gru", "gru relu"])
def test_zoneout_draws_again_at_each_step_of_a_sequence(name):
    layer = randomized(MAKERS[name](zoneout=0.5, return_sequences=True))
    plain = randomized(MAKERS[name]())
    sequence = RANDOM.normal(size=(20, 5, 2)).astype("float32")
    outputs = np.array(layer(sequence, training=True))
    stays = []
    for time in range(1, 5):
        old = outputs[:, time - 1]
        new = plain.step(sequence[:, time], [old])[0]
        stays += which_stay([outputs[:, time]], [old], [new])
    assert all(np.any(one != other) for one, other in itertools.pairwise(stays))


@pytest.mark.parametrize("make", mostly_slow(MAKERS, "elman", "lstm", "gru relu"))
def test_seeds_repeat(make):
    first, second, other = (
        randomized(make(**BOTH, **{**NOISE, "seed": seed})) for seed in (5, 5, 6)
    )
    calls = [first(SEQUENCE, training=True) for _ in range(2)]
    again = [second(SEQUENCE, training=True) for _ in range(2)]
    assert_close(calls, again)
    assert not is_close(calls[0], calls[1])
    assert not is_close(calls[0], other(SEQUENCE, training=True))


@every_layer
def test_steps_in_inference_equal_a_call(make):
    layer = randomized(make(**NOISE, **BOTH))
    states, outputs = layer.get_initial_state(4), []
    for inputs in np.swapaxes(SEQUENCE, 0, 1):
        output, states = layer.step(inputs, states)
        outputs.append(output)
    assert_close((tf.stack(outputs, 1), states), layer(SEQUENCE))


@pytest.mark.parametrize("make", mostly_slow(MAKERS, "elman", "lstm", "gru relu"))
@pytest.mark.parametrize("training", [False, True])
def test_padding_changes_nothing(make, training):
    def call(sequence, mask):  # the same draws each time
        layer = randomized(make(**NOISE, **BOTH))
        return layer(sequence, mask=mask, initial_state=initial, training=training)

    initial = random_states(make())
    check_padding_changes_nothing(call, SEQUENCE, MASK)
    outputs, *states = call(SEQUENCE, MASK)
    assert not np.any(np.array(outputs)[~MASK])
    assert_close([state[3] for state in states], [state[3] for state in initial])  # all padding
    whole = call(SEQUENCE, np.ones_like(MASK))
    if not training:
        np.testing.assert_allclose(outputs[1, :2], whole[0][1, :2], atol=1e-6)


@pytest.mark.parametrize("make", mostly_slow(MAKERS, "elman", "lstm", "gru"))
def test_config_and_saving(make):
    layer = make(**NOISE, **BOTH)
    config = layer.get_config()
    assert {name: config[name] for name in NOISE} == NOISE
    check_serialisation(layer, SEQUENCE, mask=MASK)
    loaded = check_keras_saving(make(**NOISE, **BOTH), SEQUENCE, mask=MASK)
    assert loaded.layers[-1].zoneout == 0.2


def composed():
    # With dropped weights too, no unit of the layer of two rectifiers fires.
    noisy = {"return_sequences": True, **NOISE, "weight_drop": 0.0}
    return {
        "bidirectional": Bidirectional(LSTM(UNITS, return_state=True, **noisy)),
        "bidirectional of two loops": Bidirectional(
            GRU(2, **noisy), Elman(4, activation="relu", go_backwards=True, **noisy)
        ),
        "stack": Stack(
            [Bidirectional(GRU(UNITS, **noisy)), LSTM(2, **noisy), GRU(2, "relu", **noisy)],
            residual=True,
            dropout=0.2,
            return_sequences=True,
            return_state=True,
        ),
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", list(composed()))
def test_composed_layers(name):
    layer = composed()[name]
    expected = layer(SEQUENCE, mask=MASK)
    first, second = (layer(SEQUENCE, mask=MASK, training=True) for _ in range(2))
    assert not is_close(first, expected) and not is_close(first, second)
    check_padding_changes_nothing(lambda s, m: layer(s, mask=m), SEQUENCE, MASK)
    check_serialisation(layer, SEQUENCE, mask=MASK)
    check_keras_saving(composed()[name], SEQUENCE, mask=MASK)

    @tf.function(autograph=False)
    def gradients(sequence):
        with tf.GradientTape() as tape:
            outputs = leaves(layer(sequence, mask=MASK, training=True))
            loss = sum(weighted_sum(output) for output in outputs)
        return tape.gradient(loss, layer.trainable_variables)

    for gradient in gradients(tf.constant(SEQUENCE)):
        assert np.isfinite(gradient).all() and np.any(gradient)


def test_directions_made_from_one_seed_drop_different_units():
    layer = Bidirectional(
        Elman(40, recurrent_dropout=0.5, seed=5, return_sequences=True), merge_mode=None
    )
    layer.build((None, None, 2))
    layer.backward.set_weights(layer.forward.get_weights())
    # a palindrome: without noise both directions give the same numbers
    sequence = np.concatenate((SEQUENCE, SEQUENCE[:, ::-1]), 1)
    forward, backward = layer(sequence)
    assert_close(forward, tf.reverse(backward, (1,)))
    forward, backward = layer(sequence, training=True)
    assert not is_close(forward, tf.reverse(backward, (1,)))


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
@pytest.mark.parametrize("name", ["lstm", "gru relu"])
def test_half_precision(name, policy):
    exact = randomized(MAKERS[name](**NOISE, **BOTH))
    half = randomized(MAKERS[name](**NOISE, **BOTH, dtype=policy))
    for training in (False, True):
        expected = exact(SEQUENCE, mask=MASK, training=training)
        actual = half(SEQUENCE, mask=MASK, training=training)
        assert actual[0].dtype == half.compute_dtype
        if not training:
            assert_close(actual, expected, atol=5e-2)
        assert all(np.isfinite(tf.cast(tensor, tf.float32)).all() for tensor in leaves(actual))


@keras.saving.register_keras_serializable(package="tests")
class PlainCell(RecurrentCell):
    state_size = output_size = 2

    def project(self, inputs, training=False):
        return inputs

    def advance(self, projected, states, training=False):
        return states[0] + projected, [states[0] + projected]


def test_errors():
    for name in ("recurrent_dropout", "zoneout", "weight_drop"):
        for rate in (-0.1, 1.0, 1.5):
            with pytest.raises(ValueError, match=f"`{name}` must be in"):
                GRU(UNITS, **{name: rate})
        with pytest.raises(ValueError, match=f"`{name}` must be 0 for a cell"):
            Recurrent(PlainCell(), **{name: 0.1})
    Recurrent(PlainCell(), recurrent_dropout=0.0, zoneout=0.0)
    cell = PlainCell()
    cell.regularizes_state = True
    with pytest.raises(ValueError, match="`weight_drop` must be 0 for a cell without `constants`"):
        Recurrent(cell, weight_drop=0.1)
    for implementation in ("xla", None, 2):
        with pytest.raises(ValueError, match="`implementation` must be one of"):
            LSTM(UNITS, implementation=implementation)


@pytest.mark.parametrize(
    "name", mostly_slow(["elman", "lstm", "gru", "gru reset before", "gru relu"], "elman")
)
@pytest.mark.parametrize(
    "noise", [pytest.param({}, id="plain", marks=pytest.mark.slow), pytest.param(NOISE, id="noisy")]
)
def test_implementations_agree(name, noise):
    results = []
    for implementation in ("loop", "auto"):
        layer = randomized(MAKERS[name](implementation=implementation, **noise, **BOTH))
        assert layer.get_config()["implementation"] == implementation

        @tf.function(autograph=False)
        def run(sequence, layer=layer):
            with tf.GradientTape() as tape:
                tape.watch(sequence)
                outputs = leaves(layer(sequence, mask=MASK, training=True))
                loss = sum(weighted_sum(output) for output in outputs)
            return outputs, tape.gradient(loss, [*layer.trainable_variables, sequence])

        results.append(run(tf.constant(SEQUENCE)))
    assert_close(*results)
    if not noise:
        assert_close(results[1][0], layer(SEQUENCE, mask=MASK, training=True))
