import types

import pytest

from keras_seqzoo.callbacks import periodic_save
from keras_seqzoo.callbacks.periodic_save import PeriodicSave


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is set."""
    clock = types.SimpleNamespace(now=1000.0)
    clock.monotonic = lambda: clock.now
    monkeypatch.setattr(periodic_save, "time", clock)
    return clock


@pytest.mark.parametrize(
    ("minutes", "steps", "saved"),
    [
        (None, None, []),
        (None, 3, [3, 6]),
        (1.5, None, [2, 4, 6]),  # a step is 50 seconds
        (2.5, 2, [2, 4, 6]),
        (2.5, 5, [3, 6]),
    ],
)
def test_when_it_saves(clock, minutes, steps, saved):
    done, found = [], []
    saving = PeriodicSave(lambda: found.append(len(done)), minutes, steps, print)
    clock.now += 1e6  # what was before training does not count
    saving.on_train_begin()
    for step in range(7):
        done.append(step)
        clock.now += 50
        saving.on_train_batch_end(step)
    assert found == saved


def test_each_failure_is_reported_once():
    outcomes = iter([True, False, False, True, False])
    lines = []

    def save():
        if not next(outcomes):
            raise OSError("no space left")

    saving = PeriodicSave(save, None, 1, lines.append)
    for step in range(5):
        saving.on_train_batch_end(step)
    assert lines == ["no checkpoint can be saved, training goes on: no space left"] * 2


@pytest.mark.parametrize(
    ("minutes", "steps", "name"),
    [(0, None, "minutes"), ("5", None, "minutes"), (None, 0, "steps"), (None, 1.5, "steps")],
)
def test_wrong_options(minutes, steps, name):
    with pytest.raises(ValueError, match=f"`{name}` must be"):
        PeriodicSave(print, minutes, steps, print)
