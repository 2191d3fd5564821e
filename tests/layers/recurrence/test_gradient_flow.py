"""How gradients go back through time: why Elman networks forget and LSTMs do not.

Jurafsky and Martin, Speech and language processing, the chapter on RNNs and LSTMs; Hochreiter and
Schmidhuber 1997, Long short-term memory, section 3 (the constant error carousel).
"""

import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.layers import LSTM, Elman

UNITS, INPUTS = 6, 3


def jacobian(layer, steps, name):
    """The derivative of a state after some steps by itself at the start: `(UNITS, UNITS)`."""
    random = np.random.default_rng(0)
    # A row of the batch for each unit at the end: all rows are the same sequence.
    sequence = np.repeat(random.normal(size=(1, steps, INPUTS)), UNITS, axis=0)
    count = {"h": 1, "c": 2}[name]
    start = [tf.zeros([UNITS, UNITS]) for _ in range(count)]
    with tf.GradientTape() as tape:
        tape.watch(start[-1])
        _, *states = layer(tf.constant(sequence, tf.float32), initial_state=start)
        ends = tf.linalg.trace(states[-1])
    return tape.gradient(ends, start[-1]).numpy()


@pytest.mark.parametrize("steps", [1, 10, 100])
def test_a_memory_without_forget_gate_keeps_a_gradient_of_1(steps):
    layer = LSTM(UNITS, forget_gate=False, recurrent_initializer="zeros", return_state=True)
    np.testing.assert_allclose(jacobian(layer, steps, "c"), np.eye(UNITS), atol=1e-6)


def test_a_forget_gate_lets_it_fade():
    layer = LSTM(UNITS, unit_forget_bias=False, recurrent_initializer="zeros", return_state=True)
    # Without input the gate is σ(0) = 1/2; with some it is near.
    diagonal = np.diagonal(jacobian(layer, 20, "c"))
    assert (diagonal < 0.9**20).all() and (diagonal > 0).all()


@pytest.mark.parametrize("radius", [0.5, 0.9, 1.0, 1.2, 2.0])
def test_an_elman_network_multiplies_it_by_its_spectral_radius(radius):
    layer = Elman(UNITS, activation="linear", return_state=True)
    layer.build((None, None, INPUTS))
    random = np.random.default_rng(1)
    weights = random.normal(size=(UNITS, UNITS))
    weights *= radius / np.abs(np.linalg.eigvals(weights)).max()
    kernel = next(w for w in layer.trainable_weights if w.shape == (UNITS, UNITS))
    kernel.assign(weights)
    norms = {steps: np.linalg.norm(jacobian(layer, steps, "h")) for steps in (20, 60)}
    rate = (norms[60] / norms[20]) ** (1 / 40)
    assert rate == pytest.approx(radius, rel=0.05)
    # h' = h U: the derivative of unit i by all at the start is column i of U^20.
    expected = np.linalg.matrix_power(weights, 20).T
    np.testing.assert_allclose(jacobian(layer, 20, "h"), expected, rtol=1e-3, atol=1e-6)


def test_tanh_makes_it_vanish_sooner():
    norms = []
    for activation in ("linear", "tanh"):
        layer = Elman(
            UNITS, activation=activation, recurrent_initializer="orthogonal", return_state=True
        )
        norms.append(np.linalg.norm(jacobian(layer, 30, "h")))
    assert norms[0] == pytest.approx(np.sqrt(UNITS), rel=1e-4)  # an orthogonal matrix keeps it
    assert norms[1] < 0.1 * norms[0]
