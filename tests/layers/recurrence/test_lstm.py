import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.layers.recurrence.lstm import LSTM, LSTMCell
from tests.layers.recurrence import recurrent_checks as checks
from tests.layers.reference import lstm_step, lstm_without_forget_gate_step
from tests.tiers import slow

STEPS = {True: lstm_step, False: lstm_without_forget_gate_step}
both_forms = pytest.mark.parametrize("forget_gate", [True, False])


def maker(forget_gate):
    return functools.partial(LSTM, checks.UNITS, forget_gate=forget_gate)


@pytest.mark.hypothesis
@both_forms
@pytest.mark.parametrize("backwards", [False, slow(True)])
def test_numbers_under_any_padding(forget_gate, backwards):
    checks.check_numbers(maker(forget_gate), STEPS[forget_gate], 2, backwards)


@both_forms
def test_gradients(forget_gate):
    checks.check_gradients(maker(forget_gate), STEPS[forget_gate], states=2)


def test_interchange_with_keras():
    theirs = functools.partial(keras.layers.LSTM, checks.UNITS)
    checks.check_like_keras(maker(True), theirs)
    checks.check_in_keras_rnn(maker(True), LSTMCell(checks.UNITS))


@pytest.mark.slow
@both_forms
def test_general_checks(forget_gate):
    checks.check_all(maker(forget_gate), states=2)
    checks.check_weight_options(maker(forget_gate))


def test_the_bias_of_the_forget_gate_starts_at_one():
    for options, expected in (
        ({}, [0, 0, 1, 1, 0, 0, 0, 0]),
        ({"unit_forget_bias": False}, [0] * 8),
        ({"forget_gate": False}, [0] * 6),
    ):
        cell = LSTMCell(2, **options)
        cell.build((None, 3))
        np.testing.assert_array_equal(cell.bias, expected)


@pytest.mark.slow
def test_without_forget_gate_the_gradient_along_the_memory_is_exactly_one():
    layer = LSTM(4, forget_gate=False, return_state=True)
    layer.build((None, None, 2))
    kernel, recurrent, bias = layer.get_weights()
    # Without a way through h, all that is left is the way along the memory.
    layer.set_weights([kernel, np.zeros_like(recurrent), bias])
    sequence = tf.random.normal((3, 200, 2))
    memory = tf.random.normal((3, 4))
    with tf.GradientTape() as tape:
        tape.watch(memory)
        _, _, final = layer(sequence, initial_state=[tf.zeros((3, 4)), memory])
    np.testing.assert_array_equal(tape.gradient(final, memory), np.ones((3, 4)))


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_the_memory_stays_in_float32_in_half_precision(policy):
    layer = LSTM(4, return_sequences=True, return_state=True, dtype=policy)
    memory = np.full((2, 4), 1 + 2**-12, "float32")  # no number of half precision
    padding = np.zeros((2, 5), bool)
    initial = [np.zeros((2, 4), "float32"), memory]
    outputs, state, kept = layer(np.ones((2, 5, 3)), mask=padding, initial_state=initial)
    assert outputs.dtype == state.dtype == layer.compute_dtype
    np.testing.assert_array_equal(kept, memory)
    assert [s.dtype for s in layer.get_initial_state(2)] == [layer.compute_dtype, "float32"]
    _, (_, stepped) = layer.step(np.ones((2, 3)), initial)
    assert stepped.dtype == "float32"
    symbolic, _, memory = layer(keras.Input((None, 3)))
    assert (symbolic.dtype, memory.dtype) == (layer.compute_dtype, "float32")
