"""Presets and the states of runs on a full disk: what was there stays, and nothing else is left."""

import errno
from pathlib import Path

import pytest
import tensorflow as tf

from keras_seqzoo.callbacks import checkpoint_folder
from keras_seqzoo.data import file_lock
from keras_seqzoo.training import RunState, TrainingRun, make_text_classifier
from keras_seqzoo.training.run import Measure
from keras_seqzoo.zoo import save_preset, saving
from keras_seqzoo.zoo.saving import weights_size


@pytest.fixture(scope="module")
def model():
    options = {"embedding_dim": 2, "units": 2, "num_layers": 2, "bidirectional": True}
    model = make_text_classifier(["a", "b"], ["x", "y"], backbone_options=options)
    model.compile("adam")
    model.optimizer.build(model.trainable_variables)
    return model


def full(folder, size):
    raise OSError(errno.ENOSPC, "No space left on device")


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_room_that_is_asked_for_is_enough(model, tmp_path):
    model.save_weights(tmp_path / "all.weights.h5")
    model.save_to_preset(str(tmp_path / "preset"))
    assert (tmp_path / "all.weights.h5").stat().st_size < weights_size(model)
    written = [path.stat().st_size for path in (tmp_path / "preset").rglob("*.h5")]
    assert written and sum(written) < weights_size(model)


def test_a_preset(model, tmp_path, monkeypatch):
    save_preset(model, tmp_path / "old")
    before = files(tmp_path)
    monkeypatch.setattr(saving, "reserve", full)
    for folder, named in (("old", "old$"), ("new/preset", "new$")):
        with pytest.raises(OSError, match=f"no space left in {tmp_path}/{named}"):
            save_preset(model, tmp_path / folder)
    assert files(tmp_path) == before and [path.name for path in tmp_path.iterdir()] == ["old"]


def test_the_state_of_a_run(model, tmp_path, monkeypatch):
    state = RunState(tmp_path / "run")
    state.begin({"epochs": 2})
    state.step = 1
    state.save(model, {})
    before = files(tmp_path)
    monkeypatch.setattr(checkpoint_folder, "reserve", full)
    state.step = 2
    with pytest.raises(OSError, match=f"no space left in {tmp_path}/run/training$"):
        state.save(model, {})
    assert files(tmp_path) == before
    assert RunState(tmp_path / "run").step == 1


class NoRun(TrainingRun):
    """Is made ready, and would then begin."""

    measures = {"accuracy": Measure("accuracy")}

    def prepare(self, train, validation):
        pass

    def batches(self, epoch):
        return tf.data.Dataset.range(1)

    def compile_model(self, steps):
        pass


FIRST_WRITES = {
    "of the lock": (file_lock.os, "write", lambda *_: full(None, 0)),
    "of the state": (Path, "write_text", lambda *_, **__: full(None, 0)),
}


@pytest.mark.parametrize("write", FIRST_WRITES.values(), ids=FIRST_WRITES)
def test_a_run_that_cannot_begin_leaves_no_folder(model, tmp_path, monkeypatch, write):
    run = NoRun(model, tmp_path / "run", epochs=1, ema_momentum=0.5)
    with monkeypatch.context() as patch:
        patch.setattr(*write)
        with pytest.raises(OSError, match=f"no space left in {tmp_path}/run/training$"):
            run.run(None, None)
    assert list(tmp_path.iterdir()) == []
    with run.state.locked({}):  # it can begin then
        assert sorted(files(tmp_path)) == [run.state.folder / "run.json", run.state.lock.path]
    with run.state.locked({"epochs": 2}):  # nothing was trained
        pass


class Full:
    """A part of a state, of which a disk has no place."""

    def get_state(self):
        full(None, 0)


def test_a_new_run_takes_the_place_of_a_first_state_that_was_not_complete(model, tmp_path):
    state = RunState(tmp_path)
    state.begin({"epochs": 2})
    before = files(tmp_path)
    state.step = 1
    with pytest.raises(OSError, match="no space left"):
        state.save(model, {"ema": Full()})
    assert list(files(tmp_path)) == list(before)
    RunState(tmp_path).begin({"epochs": 3})
    RunState(tmp_path).check({"epochs": 3})
    assert not list(tmp_path.rglob("checkpoint-*"))


def test_what_file_managers_leave_is_no_other_run(tmp_path):
    (tmp_path / ".DS_Store").write_text("")
    RunState(tmp_path).check()
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError, match="which has other files"):
        RunState(tmp_path).check()
