import functools

import keras
import pytest

from keras_seqzoo.layers.recurrence.elman import Elman, ElmanCell
from tests.layers.recurrence import recurrent_checks as checks
from tests.layers.reference import elman_step
from tests.tiers import slow

make = functools.partial(Elman, checks.UNITS)


@pytest.mark.hypothesis
@pytest.mark.parametrize("backwards", [False, slow(True)])
def test_numbers_under_any_padding(backwards):
    checks.check_numbers(make, elman_step, 1, backwards)


def test_gradients():
    checks.check_gradients(make, elman_step, states=1)


def test_interchange_with_keras():
    checks.check_like_keras(make, functools.partial(keras.layers.SimpleRNN, checks.UNITS))
    checks.check_in_keras_rnn(make, ElmanCell(checks.UNITS))


def test_general_checks():
    checks.check_all(make, states=1)
    checks.check_weight_options(make)


def test_bad_units():
    for units in (0, -1, 2.5, True, "3"):
        with pytest.raises(ValueError, match="`units`"):
            Elman(units)
