"""Layer normalization inside the cells of the LSTM and the GRU."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.layers import (
    GRU,
    LSTM,
    AttentionDecoder,
    Bidirectional,
    GRUCell,
    LSTMCell,
    LuongAttention,
)
from tests.layer_checks import assert_close
from tests.layers.recurrence import recurrent_checks as checks
from tests.layers.reference import normalized_gru_step, normalized_lstm_step
from tests.tiers import slow

LAYERS = {LSTM: (normalized_lstm_step, 2), GRU: (normalized_gru_step, 1)}
both_layers = pytest.mark.parametrize("layer", list(LAYERS))


def maker(layer):
    return functools.partial(layer, checks.UNITS, layer_normalization=True)


@pytest.mark.hypothesis
@pytest.mark.parametrize("layer", [LSTM, slow(GRU)])
@pytest.mark.parametrize("backwards", [False, slow(True)])
def test_numbers_under_any_padding(layer, backwards):
    checks.check_numbers(maker(layer), *LAYERS[layer], backwards)


@both_layers
def test_gradients(layer):
    checks.check_gradients(maker(layer), *LAYERS[layer])


@pytest.mark.slow
@both_layers
def test_general_checks(layer):
    checks.check_all(maker(layer), LAYERS[layer][1])


@pytest.mark.parametrize("cell", [LSTMCell, GRUCell])
def test_in_keras_rnn(cell):
    layer = {LSTMCell: LSTM, GRUCell: GRU}[cell]
    checks.check_in_keras_rnn(maker(layer), cell(checks.UNITS, layer_normalization=True))


@both_layers
def test_weights_follow_those_of_keras(layer):
    ours = maker(layer)()
    ours.build((None, None, 2))
    names = ["kernel", "recurrent_kernel", "bias", "kernel_gamma", "recurrent_gamma"]
    assert [w.name for w in ours.weights][:5] == names
    for weight in ours.weights[3:]:
        expected = 0.0 if weight.name == "memory_beta" else 1.0
        np.testing.assert_array_equal(weight, np.full(weight.shape, expected))
    without = layer(checks.UNITS)
    without.build((None, None, 2))
    assert [w.name for w in without.weights] == names[:3]


@both_layers
def test_the_scale_of_the_input_does_not_matter(layer):
    layer = maker(layer)()
    large = 1000.0 * checks.SEQUENCE
    assert_close(layer(large), layer(1000.0 * large), 1e-4)


@both_layers
@pytest.mark.parametrize("noise", ["recurrent_dropout", "zoneout", slow("weight_drop")])
def test_noise_on_states_and_weights(layer, noise):
    """The hand-written loop equals the cell's steps, also with noise."""
    noisy = maker(layer)(return_sequences=True, seed=1, **{noise: 0.5})
    noisy(checks.SEQUENCE)
    results = []
    for own_kernel in (True, False):
        noisy.seed_generator.state.assign(tf.zeros_like(noisy.seed_generator.state))
        if not own_kernel:  # differentiated automatically
            noisy.cell.get_kernel_step = lambda: None
        with tf.GradientTape() as tape:
            outputs = noisy(checks.SEQUENCE, mask=checks.MASK, training=True)
            loss = tf.reduce_sum(tf.sin(outputs))
        results.append((outputs, tape.gradient(loss, noisy.trainable_variables)))
    assert_close(results[0], results[1], 1e-5)


def test_both_directions_share_a_loop():
    both = Bidirectional(maker(LSTM)(return_sequences=True))
    outputs = both(checks.SEQUENCE, mask=checks.MASK)
    forward = both.forward(checks.SEQUENCE, mask=checks.MASK)
    assert_close(outputs[..., : checks.UNITS], forward)


@pytest.mark.parametrize("layer", [LSTM, slow(GRU)])
def test_decoder_with_input_feeding(layer):
    """W reads token and fed output as one vector, which is normalized as a whole."""
    decoder = AttentionDecoder([maker(layer)()], LuongAttention("general"), 4, input_feeding=True)
    sequence, memory = checks.SEQUENCE, np.float32(np.sin(np.arange(60)).reshape(4, 3, 5))
    outputs, _, last = decoder(sequence, memory)
    state = decoder.get_initial_state(4)
    for time in range(sequence.shape[1]):
        output, _, state = decoder.step(sequence[:, time], state, memory)
        assert_close(output, outputs[:, time])
    assert_close(tf.nest.flatten(state), tf.nest.flatten(last))


def test_bad_arguments():
    with pytest.raises(ValueError, match="`reset_after` must be True with `layer_normalization`"):
        GRUCell(2, reset_after=False, layer_normalization=True)
    with pytest.raises(ValueError, match=r"must be an Elman.* for `implementation=\"cudnn\"`"):
        LSTM(2, layer_normalization=True, implementation="cudnn")
    assert not keras.layers.deserialize(keras.layers.serialize(LSTM(2))).cell.layer_normalization
