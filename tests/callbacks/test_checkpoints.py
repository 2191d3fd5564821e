import errno
import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.callbacks import Checkpoints, StopOnInterrupt, WeightAverage, checkpoint_folder
from keras_seqzoo.data.output_files import DRAFT
from keras_seqzoo.models import RecurrentBackbone, RecurrentLanguageModel
from tests.callbacks.test_interruption import InterruptAt
from tests.tiers import mostly_slow
from tests.training.interrupts import assert_equal

STEPS = 4  # of an epoch
EPOCHS = 3


class Killed(BaseException):
    """What no callback handles."""


class Kill(keras.callbacks.Callback):
    """Ends the process, as it were, before a step."""

    def __init__(self, step):
        super().__init__()
        self.step = step

    def on_train_batch_begin(self, batch, logs=None):
        self.step -= 1
        if self.step == 0:
            raise Killed


def raise_killed(*_):
    raise Killed


def make_model():
    keras.utils.set_random_seed(3)
    layers = [keras.layers.Dense(3), keras.layers.Dropout(0.5), keras.layers.Dense(1)]
    model = keras.Sequential([keras.Input((2,)), *layers])
    model.compile(keras.optimizers.Adam(0.1), "mse", run_eagerly=True)  # no time to trace
    return model


def batches(epoch):
    inputs = np.random.default_rng(epoch).normal(size=(2 * STEPS, 2)).astype("float32")
    return tf.data.Dataset.from_tensor_slices((inputs, inputs[:, :1])).batch(2)


def train(folder, *callbacks, epochs=EPOCHS, **options):
    """A training as a user writes it; return all that it has in the end."""
    model, average = make_model(), WeightAverage(0.5)
    checkpoints = Checkpoints(folder, parts={"ema": average}, **options)
    checkpoints.restore(model)
    for epoch in range(checkpoints.epoch, epochs):
        model.fit(
            checkpoints.rest(batches(epoch)),
            initial_epoch=epoch,
            epochs=epoch + 1,
            callbacks=[*callbacks, average, checkpoints],
            shuffle=False,
            verbose=0,
        )
    optimizer = [variable.numpy() for variable in model.optimizer.variables]
    state = [*model.get_weights(), *optimizer, *average.get_state().values()]
    return state, checkpoints


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return train(tmp_path_factory.mktemp("whole") / "run")[0]


def test_a_killed_training_goes_on_as_if_it_had_not_been(tmp_path, whole):
    for step in (2, 3, STEPS + 2):  # within the first epoch, twice, and the next but one
        with pytest.raises(Killed):
            train(tmp_path, Kill(step), steps=1)
    state, checkpoints = train(tmp_path, steps=1)
    assert (checkpoints.epoch, checkpoints.step) == (EPOCHS, 0)
    assert_equal(state, whole)
    again, _ = train(tmp_path)  # nothing is left to do
    assert_equal(again, whole)


def test_no_checkpoint_has_an_epoch_without_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(Checkpoints, "on_epoch_end", raise_killed)  # as in its validation
    with pytest.raises(Killed):
        train(tmp_path, steps=1)
    assert Checkpoints(tmp_path).step == STEPS - 1


@pytest.mark.slow
def test_an_interrupt_is_no_end_of_an_epoch(tmp_path, whole):
    for step in (1, STEPS - 1):  # the second is the last step of the epoch
        with StopOnInterrupt() as stop:
            _, checkpoints = train(tmp_path, InterruptAt(step), stop, epochs=1)
        assert stop.interrupted
    assert (checkpoints.epoch, checkpoints.step) == (1, 0)
    assert_equal(train(tmp_path)[0], whole)


@pytest.mark.parametrize("dtype", mostly_slow(["bfloat16", "float64"], "bfloat16"))
def test_averages_of_every_dtype(tmp_path, dtype):
    def model_and_average():
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3, dtype=dtype)])
        model.compile("sgd", "mse")
        average = WeightAverage()
        average.set_model(model)
        average.on_train_begin()
        return model, average

    model, average = model_and_average()
    checkpoints = Checkpoints(tmp_path, parts={"ema": average})
    checkpoints.set_model(model)
    checkpoints.on_train_begin()
    checkpoints.on_epoch_end(0)
    other, restored = model_and_average()
    Checkpoints(tmp_path, parts={"ema": restored}).restore(other)
    assert_equal(other.get_weights(), model.get_weights())
    assert_equal(restored.get_state().values(), average.get_state().values())


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["truncated", "changed", "missing"])
def test_the_one_before_a_damaged_checkpoint_is_restored(tmp_path, whole, damage):
    train(tmp_path, epochs=2)
    first, last = sorted(tmp_path.glob("checkpoint-*.weights.h5"))
    content = last.read_bytes()
    if damage == "truncated":
        last.write_bytes(content[:-1])
    elif damage == "changed":
        last.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    else:
        last.unlink()
    with pytest.warns(UserWarning, match=f"of epoch 3 after step 0 is damaged: {last.name} "):
        checkpoints = Checkpoints(tmp_path, parts={"ema": WeightAverage()})
    assert checkpoints.epoch == 1
    with pytest.warns(UserWarning, match="is damaged"):
        assert_equal(train(tmp_path)[0], whole)
    assert not first.exists()


def test_without_a_whole_checkpoint_there_is_an_error(tmp_path):
    train(tmp_path, epochs=2)
    for path in tmp_path.glob("*.npz"):
        path.write_bytes(b"")
    with (
        pytest.warns(UserWarning, match="is damaged"),
        pytest.raises(ValueError, match="all checkpoints in .* are damaged.* another folder"),
    ):
        Checkpoints(tmp_path)


@pytest.mark.slow
def test_a_damaged_index_is_replaced_by_the_one_before(tmp_path, whole):
    train(tmp_path, epochs=2)
    (tmp_path / "checkpoints.json").write_text("{")
    assert Checkpoints(tmp_path).epoch == 1
    assert_equal(train(tmp_path)[0], whole)
    for path in tmp_path.glob("*.json"):
        path.write_text(json.dumps({"checkpoints": [{}]}))
    with pytest.raises(ValueError, match="checkpoints.json is damaged"):
        Checkpoints(tmp_path)


def full(folder, size):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.slow
def test_a_full_disk_within_an_epoch_stops_nothing(tmp_path, whole, monkeypatch):
    train(tmp_path, epochs=1)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint_folder, "reserve", full)
        with (
            pytest.warns(UserWarning, match="training goes on: .* no space left") as warned,
            pytest.raises(OSError, match="no space left in"),  # the epoch ends
        ):
            train(tmp_path, steps=1)
    assert len(warned) == 1
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert_equal(train(tmp_path)[0], whole)


def test_a_folder_that_is_gone_is_named(tmp_path):
    class Remove(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if folder.exists():
                folder.rename(tmp_path / "elsewhere")

    folder = tmp_path / "folder"
    with pytest.raises(FileNotFoundError, match=f"the checkpoints are gone from {folder}"):
        train(folder, Remove())
    assert not folder.exists()


def test_a_draft_of_a_killed_process_is_not_in_the_way(tmp_path):
    (tmp_path / f"{DRAFT}abc").mkdir()
    train(tmp_path, epochs=1)
    assert Checkpoints(tmp_path).epoch == 1


def test_the_last_step_is_not_passed_by_executions_of_several(tmp_path, monkeypatch):
    """With 3 in each execution, Keras numbers the 4 steps of an epoch up to 6."""
    monkeypatch.setattr(Checkpoints, "on_epoch_end", raise_killed)  # as in its validation
    model = make_model()
    model.compile("sgd", "mse", steps_per_execution=3)
    with pytest.raises(Killed):
        model.fit(batches(0), shuffle=False, verbose=0, callbacks=[Checkpoints(tmp_path, steps=1)])
    assert Checkpoints(tmp_path).step == 3


def test_checkpoints_have_a_folder_of_their_own(tmp_path):
    (tmp_path / "checkpoint-1.weights.h5").write_text("not ours")
    with pytest.raises(FileExistsError, match="which has other files"):
        Checkpoints(tmp_path)
    with pytest.raises(NotADirectoryError):
        Checkpoints(tmp_path / "checkpoint-1.weights.h5")


@pytest.mark.parametrize("options", [{"minutes": 0}, {"steps": 0}, {"minutes": "5"}])
def test_wrong_options(tmp_path, options):
    with pytest.raises(ValueError, match=f"`{next(iter(options))}` must be"):
        Checkpoints(tmp_path, **options)


def test_what_does_not_fit_the_checkpoint_is_named(tmp_path):
    train(tmp_path, epochs=1)
    model = make_model()
    with pytest.raises(ValueError, match="`parts` must be .* weights, streams, ema, got"):
        Checkpoints(tmp_path).restore(model)
    with pytest.raises(ValueError, match="`model` must be built and compiled"):
        Checkpoints(tmp_path).restore(keras.Sequential([keras.layers.Dense(1)]))
    checkpoints = Checkpoints(tmp_path, parts={"ema": WeightAverage()})
    with pytest.raises(ValueError, match="`initial_epoch` must be 1, .* got 0"):
        model.fit(batches(0), callbacks=[checkpoints], verbose=0)


def test_a_training_goes_on_with_the_same_options_alone(tmp_path):
    train(tmp_path, epochs=1, options={"rate": 0.1, "sizes": (1, 2)})
    with pytest.raises(ValueError, match="has other options: `rate` was 0.1, got 0.2. Use the"):
        train(tmp_path, options={"rate": 0.2, "sizes": (1, 2)})
    _, checkpoints = train(tmp_path, epochs=2, options={"rate": 0.1, "sizes": (1, 2)})
    assert checkpoints.epoch == 2


def test_an_epoch_that_is_not_continued_begins_again(tmp_path):
    with pytest.raises(Killed):
        train(tmp_path, Kill(3), steps=1)
    checkpoints = Checkpoints(tmp_path, parts={"ema": WeightAverage(0.5)})
    assert (checkpoints.epoch, checkpoints.step) == (0, 2)
    make_model().fit(batches(0), callbacks=[checkpoints], shuffle=False, verbose=0)
    assert (checkpoints.epoch, checkpoints.step) == (1, 0)


def stream_model():
    keras.utils.set_random_seed(0)
    model = RecurrentLanguageModel(RecurrentBackbone(9, embedding_dim=2, units=3, cell="gru"))
    model.compile(keras.optimizers.SGD(1.0), streams=2)
    return model


def fit_streams(model, checkpoints, *callbacks):
    """Train a language model for the rest of an epoch; return its weights."""
    ids = np.random.default_rng(0).integers(5, 9, (2 * STEPS, 6)).astype("int32")
    data = tf.data.Dataset.from_tensor_slices(({"token_ids": ids[:, :-1]}, ids[:, 1:]))
    rest = checkpoints.rest(data.batch(2, drop_remainder=True))
    model.fit(rest, callbacks=[*callbacks, checkpoints], shuffle=False, verbose=0)
    return model.get_weights()


@pytest.mark.slow
def test_streams_go_on_within_an_epoch(tmp_path):
    expected = fit_streams(stream_model(), Checkpoints(tmp_path / "whole", steps=1))
    with pytest.raises(Killed):
        fit_streams(stream_model(), Checkpoints(tmp_path / "parts", steps=1), Kill(3))
    found = fit_streams(stream_model(), Checkpoints(tmp_path / "parts", steps=1))
    assert_equal(found, expected)


@pytest.mark.slow
def test_streams_go_on_in_the_next_fit_of_the_process(tmp_path):
    expected = fit_streams(stream_model(), Checkpoints(tmp_path / "whole"))
    model, checkpoints = stream_model(), Checkpoints(tmp_path / "parts")
    with StopOnInterrupt() as stop:
        fit_streams(model, checkpoints, InterruptAt(2), stop)
    assert (checkpoints.epoch, checkpoints.step) == (0, 2)
    assert_equal(fit_streams(model, checkpoints), expected)
