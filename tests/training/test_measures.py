import math

import pytest

from keras_seqzoo.training.measures import Measure

SCORE, ERROR = Measure("score"), Measure("score", lower_is_better=True)


@pytest.mark.parametrize(
    ("score", "loss", "higher", "lower"),
    [
        (3.0, 9.0, True, False),
        (1.0, 1.0, False, True),
        (2.0, 4.0, True, True),  # equal, and the loss is lower
        (2.0, 5.0, False, False),
        (2.0, 6.0, False, False),
        (2.0, math.nan, False, False),
        (math.nan, 1.0, False, False),
    ],
)
def test_the_score_decides_and_then_the_loss(score, loss, higher, lower):
    figures, best = ({"score": s, "val_loss": v} for s, v in ((score, loss), (2.0, 5.0)))
    assert SCORE.is_better(figures, best) == higher
    assert ERROR.is_better(figures, best) == lower


def test_without_a_loss_the_first_of_equals_stays():
    assert not SCORE.is_better({"score": 2.0}, {"score": 2.0})
    assert SCORE.is_better({"score": 0.0}, None)
    assert not SCORE.is_better({"score": math.nan}, None)
