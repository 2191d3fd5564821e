"""Checks of the Elman, LSTM and GRU layers."""

import functools

import keras
import numpy as np
import tensorflow as tf
from hypothesis import given
from hypothesis.extra.numpy import arrays

from tests.layer_checks import (
    assert_close,
    check_keras_saving,
    check_mixed_precision,
    check_padding_changes_nothing,
    check_saved_model_in_fresh_process,
    check_serialisation,
    check_xla_equals_eager,
)
from tests.layers.reference import numeric_gradients, unroll
from tests.properties import examples
from tests.seeds import random_generator

RANDOM = random_generator(3)
UNITS = 3
SEQUENCE = RANDOM.normal(size=(4, 5, 2)).astype("float32")
# left, right and mixed padding, and nothing but padding
MASK = np.array([[0, 0, 1, 1, 1], [1, 1, 0, 0, 0], [0, 1, 0, 1, 0], [0, 0, 0, 0, 0]], bool)


def random_states(count, batch=4, dtype="float32"):
    return [RANDOM.normal(size=(batch, UNITS)).astype(dtype) for _ in range(count)]


def randomized(layer):
    """Build a layer and set all its weights, biases too, to random values."""
    layer.build(SEQUENCE.shape)
    layer.set_weights([RANDOM.normal(scale=0.7, size=w.shape) for w in layer.weights])
    return layer


def check_numbers(make, step, states, backwards):
    """Under any mask, the valid steps compute what they compute without padding."""
    options = {"return_state": True, "go_backwards": backwards}
    sequences = randomized(make(return_sequences=True, **options))
    one = make(**options)
    one.build(SEQUENCE.shape)
    one.set_weights(sequences.get_weights())
    initial = random_states(states)

    @examples(8)
    @given(mask=arrays(bool, (4, 5)))
    def check(mask):
        weights = sequences.get_weights()
        outputs, last, final = unroll(step, weights, SEQUENCE, initial, mask, backwards)
        outputs = outputs[:, ::-1] if backwards else outputs  # order of processing
        garbage = np.where(mask[..., None], SEQUENCE, np.float32(np.nan))
        for layer, expected in ((sequences, outputs), (one, last)):
            assert_close(layer(garbage, mask=mask, initial_state=initial), (expected, *final))

    check()
    check_padding_changes_nothing(lambda s, m: sequences(s, mask=m), SEQUENCE, MASK)
    assert_close(sequences(SEQUENCE), sequences(SEQUENCE, mask=np.ones((4, 5), bool)))


def check_gradients(make, step, states):
    """Gradients of weights, input and initial state equal finite differences of the equations."""
    layer = make(return_sequences=True, return_state=True, dtype="float64")
    layer.build((2, 3, 2))
    weights = [RANDOM.normal(scale=0.7, size=w.shape) for w in layer.weights]
    layer.set_weights(weights)
    sequence = RANDOM.normal(size=(2, 3, 2))
    initial = random_states(states, batch=2, dtype="float64")
    mask = np.array([[1, 0, 1], [0, 1, 1]], bool)
    factors = RANDOM.normal(size=(2, 3, UNITS))

    def loss():
        outputs, _, final = unroll(step, weights, sequence, initial, mask)
        return (outputs * factors).sum() + sum((state**2).sum() for state in final)

    tensors = [tf.constant(x) for x in (sequence, *initial)]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        outputs, *final = layer(tensors[0], mask=mask, initial_state=tensors[1:])
        value = tf.reduce_sum(outputs * factors) + sum(tf.reduce_sum(s**2) for s in final)
    gradients = tape.gradient(value, [w.value for w in layer.weights] + tensors)
    expected = numeric_gradients(loss, [*weights, sequence, *initial])
    np.testing.assert_allclose(value, loss(), rtol=1e-10)
    for actual, wanted in zip(gradients, expected, strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=1e-5, atol=1e-7)


def check_like_keras(make, make_keras):
    """Weights go both ways between our layer and Keras' own, and both compute the same."""
    options = {"return_sequences": True, "return_state": True}
    ours, theirs = randomized(make(**options)), make_keras(**options)
    expected, *states = theirs(SEQUENCE)
    initialized = theirs.get_weights()
    assert [(w.name, w.shape) for w in ours.weights] == [(w.name, w.shape) for w in theirs.weights]
    theirs.set_weights(ours.get_weights())
    outputs, *states = theirs(SEQUENCE)
    assert_close(ours(SEQUENCE), (outputs, states))
    ours.set_weights(initialized)
    assert_close(ours(SEQUENCE)[0], expected)


def check_in_keras_rnn(make, cell):
    """The cell runs inside `keras.layers.RNN`, in half precision too."""
    theirs = keras.layers.RNN(cell, return_sequences=True, return_state=True)
    outputs, *states = theirs(SEQUENCE)
    ours = make(return_sequences=True, return_state=True)
    ours.build(SEQUENCE.shape)
    ours.set_weights(theirs.get_weights())
    assert_close(ours(SEQUENCE), (outputs, states))
    half = type(cell).from_config({**cell.get_config(), "dtype": "mixed_bfloat16"})
    assert keras.layers.RNN(half, dtype="mixed_bfloat16")(SEQUENCE).dtype == tf.bfloat16
    model = keras.Sequential([keras.Input((None, 2)), theirs.from_config(theirs.get_config())])
    assert model.output_shape[0] == (None, None, UNITS)


def check_all(make, states):
    """The checks of the package's design that need no reference."""
    options = {"return_sequences": True, "return_state": True}
    layer = make(**options)
    arguments = {"mask": MASK, "initial_state": random_states(states)}
    check_serialisation(layer, SEQUENCE, **arguments)
    check_serialisation(make(go_backwards=True), SEQUENCE)
    check_xla_equals_eager(layer, SEQUENCE, **arguments)
    check_xla_equals_eager(make(go_backwards=True), SEQUENCE)
    check_mixed_precision(functools.partial(make, **options), SEQUENCE, **arguments)
    check_keras_saving(layer, SEQUENCE, **arguments)
    check_saved_model_in_fresh_process(layer, SEQUENCE, **arguments)


def check_weight_options(make):
    """Initialisers, regularisers and constraints reach the weights."""
    layer = make(
        kernel_initializer="ones",
        recurrent_initializer="zeros",
        kernel_regularizer=keras.regularizers.L1(0.5),
        recurrent_constraint=keras.constraints.NonNeg(),
        bias_regularizer="l2",
        name="named",
    )
    layer.build(SEQUENCE.shape)
    kernel, recurrent, bias = layer.weights
    np.testing.assert_allclose(layer.losses[0], 0.5 * np.prod(kernel.shape))
    assert len(layer.losses) == 2
    assert isinstance(recurrent.constraint, keras.constraints.NonNeg)
    twin = type(layer).from_config(layer.get_config())
    assert twin.get_config() == layer.get_config()
    assert isinstance(twin.cell.kernel_regularizer, keras.regularizers.L1)
    without = make(use_bias=False)
    without.build(SEQUENCE.shape)
    assert [w.name for w in without.weights] == ["kernel", "recurrent_kernel"]
    check_serialisation(without, SEQUENCE)
