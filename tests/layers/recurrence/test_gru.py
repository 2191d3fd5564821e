import functools

import keras
import numpy as np
import pytest

from keras_seqzoo.layers.recurrence.gru import GRU, GRUCell
from tests.layers.recurrence import recurrent_checks as checks
from tests.layers.reference import gru_reset_after_step, gru_reset_before_step
from tests.tiers import slow

STEPS = {True: gru_reset_after_step, False: gru_reset_before_step}
both_forms = pytest.mark.parametrize("reset_after", [True, False])


def maker(reset_after):
    return functools.partial(GRU, checks.UNITS, reset_after=reset_after)


@pytest.mark.hypothesis
@both_forms
@pytest.mark.parametrize("backwards", [False, slow(True)])
def test_numbers_under_any_padding(reset_after, backwards):
    checks.check_numbers(maker(reset_after), STEPS[reset_after], 1, backwards)


@both_forms
def test_gradients(reset_after):
    checks.check_gradients(maker(reset_after), STEPS[reset_after], states=1)


@both_forms
def test_interchange_with_keras(reset_after):
    theirs = functools.partial(keras.layers.GRU, checks.UNITS, reset_after=reset_after)
    checks.check_like_keras(maker(reset_after), theirs)
    checks.check_in_keras_rnn(maker(reset_after), GRUCell(checks.UNITS, reset_after=reset_after))


@pytest.mark.slow
@both_forms
def test_general_checks(reset_after):
    checks.check_all(maker(reset_after), states=1)
    checks.check_weight_options(maker(reset_after))


@both_forms
def test_an_update_gate_near_one_keeps_the_state(reset_after):
    layer = maker(reset_after)()
    layer.build(checks.SEQUENCE.shape)
    kernel, recurrent, bias = layer.get_weights()
    bias[..., : checks.UNITS] = 50.0
    layer.set_weights([kernel, recurrent, bias])
    (state,) = checks.random_states(1)
    np.testing.assert_allclose(layer(checks.SEQUENCE, initial_state=[state]), state, atol=1e-6)
