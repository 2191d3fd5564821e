"""What all trainings have in common, on the smallest model: others test what is special to each."""

import errno
import itertools
import math
import os
import re
import signal
from typing import Literal

import keras
import numpy as np
import pytest

from keras_seqzoo.callbacks import checkpoint_folder
from keras_seqzoo.data import sentence_batches
from keras_seqzoo.losses import SequenceCrossentropy
from keras_seqzoo.models import RecurrentLanguageModel
from keras_seqzoo.training import RunState, TrainingRun, make_language_model
from keras_seqzoo.training.measure import Measure
from keras_seqzoo.training.options import option, options
from keras_seqzoo.training.run import TrainingOptions
from tests.training.interrupts import Interrupt, assert_equal, state_of

TEXT = ["red dog", "old dog", "red cat"] * 2
STEPS = 3


def small_model():
    keras.utils.set_random_seed(3)
    return make_language_model(TEXT, units=2, embedding_dim=2, cell="elman", dropout=0.5)


@pytest.fixture(scope="module")
def model():
    """One that is not trained."""
    return small_model()


@options
class SmallOptions(TrainingOptions):
    """Options of `SmallRun`."""

    epochs = 2
    ema_momentum = 0.5
    measure: Literal["score", "loss"] = option("score", "What decides.", recorded=True)


class SmallRun(TrainingRun):
    """A language model of two units; the figures come from a list, or are weights."""

    options_class = SmallOptions
    measures = {"score": Measure("score"), "loss": Measure("val_loss", lower_is_better=True)}

    def __init__(self, folder, figures=(), model=None, **options):
        model = model or small_model()
        super().__init__(model, folder, report=lambda line: None, **options)
        self.figures = figures

    def prepare(self, train, validation):
        self.text = self.model.sentence_ids(train), self.model.tokenizer.start_token_id

    def batches(self, epoch, start=0):
        return sentence_batches(*self.text, 2, 4, (self.seed, epoch), start)

    def compile_model(self, steps):
        self.model.compile(keras.optimizers.Adam(0.1), SequenceCrossentropy(), run_eagerly=True)

    def evaluate(self, validation, stop):
        stop.check()
        if not self.figures:
            return {"score": float(self.model.get_weights()[0].sum())}
        return dict(zip(("score", "val_loss"), self.figures[self.state.epoch], strict=True))

    def train(self, callbacks=()):
        return self.run(TEXT, TEXT, verbose=0, callbacks=callbacks)


def test_what_chooses_has_to_be_set(model, tmp_path):
    class Unmeasured(TrainingRun):
        pass

    with pytest.raises(NotImplementedError, match="Unmeasured must set `measures`"):
        Unmeasured(model, tmp_path, epochs=1, ema_momentum=0.5)


def preset_weights(folder):
    return RecurrentLanguageModel.from_preset(str(folder)).get_weights()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that was never stopped."""
    training = SmallRun(tmp_path_factory.mktemp("runs") / "whole")
    assert training.train()
    return training


def assert_runs_equal(training, whole):
    """Two finished runs have the same weights, and the same in both presets."""
    assert_equal(state_of(training), state_of(whole))
    for preset in ("", "training/last"):
        assert_equal(*(preset_weights(run.directory / preset) for run in (training, whole)))


def test_a_resumed_run_equals_a_whole_one_bit_by_bit(tmp_path, whole):
    stops = (2, 5)  # within the first epoch and within the second
    training = SmallRun(tmp_path / "parts")
    interrupt = Interrupt(*stops)
    positions = []
    for _ in stops:
        assert not training.train([interrupt])
        positions.append((training.state.epoch, training.state.step))
        training = SmallRun(tmp_path / "parts")  # as a new process does
    assert training.train([interrupt])

    assert positions == [divmod(stop, STEPS) for stop in stops]
    assert interrupt.step == 2 * STEPS
    assert_runs_equal(training, whole)
    assert whole.state.best == training.state.best
    scores = [[epoch["score"] for epoch in run.state.history] for run in (whole, training)]
    assert scores[0] == scores[1] and len(set(scores[0])) == 2


class Killed(BaseException):
    """What nothing handles."""


@pytest.mark.slow
def test_a_run_that_is_killed_while_it_saves_goes_on(tmp_path, monkeypatch, whole):
    def kill_at(number):
        renamings = itertools.count(1)

        def replace(*paths):
            if next(renamings) == number:
                raise Killed
            rename(*paths)

        return replace

    rename = os.replace
    # Of weights, EMA, two indexes and an epoch's presets.
    for number in (7, 3, 12):
        monkeypatch.setattr(os, "replace", kill_at(number))
        with pytest.raises(Killed):
            SmallRun(tmp_path / "parts", checkpoint_steps=1).train()
    monkeypatch.setattr(os, "replace", rename)
    training = SmallRun(tmp_path / "parts", checkpoint_steps=1)
    assert training.train()
    assert_runs_equal(training, whole)


def test_a_damaged_checkpoint_is_left_out(tmp_path):
    training = SmallRun(tmp_path, checkpoint_steps=2)
    assert not training.train([Interrupt(3)])
    assert training.state.step == 3
    last = max((tmp_path / "training").glob("*.h5"))
    last.write_bytes(last.read_bytes()[:1000])
    lines = []
    training.state.restore(training.model, training.parts(), lines.append)
    [line] = lines
    assert "of epoch 1 after step 3 is damaged" in line and f"{last.name} has 1000 bytes" in line
    assert training.state.step == 2


@pytest.mark.slow
def test_within_an_epoch_no_full_disk_stops_a_run(tmp_path, monkeypatch, whole):
    lines = []
    room = {"full": False}
    reserve = checkpoint_folder.reserve

    def reserve_or_fail(folder, size):
        if room["full"]:
            raise OSError(errno.ENOSPC, "No space left on device")
        reserve(folder, size)

    class Filled(keras.callbacks.Callback):
        """The disk is full in the first two steps of an epoch, and at the end of the second."""

        def on_train_batch_begin(self, batch, logs=None):
            room["full"] = batch < 2 or training.state.epoch == 1

    monkeypatch.setattr(checkpoint_folder, "reserve", reserve_or_fail)
    training = SmallRun(tmp_path / "parts", checkpoint_steps=1)
    training.report = lines.append
    with pytest.raises(OSError, match="no space left in"):
        training.train([Filled()])
    said = [line for line in lines if line.startswith("no checkpoint can be saved, training goes")]
    assert len(said) == 2
    state = RunState(tmp_path / "parts")
    assert (state.epoch, state.step) == (1, 0)

    room["full"] = False
    resumed = SmallRun(tmp_path / "parts")
    assert resumed.train()
    assert_runs_equal(resumed, whole)


def test_a_folder_that_is_gone_ends_the_epoch(tmp_path):
    class Moved(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 0:
                (tmp_path / "run").rename(tmp_path / "elsewhere")

    training = SmallRun(tmp_path / "run", checkpoint_steps=1)
    lines = []
    training.report = lines.append
    with pytest.raises(FileNotFoundError, match="the checkpoints are gone from"):
        training.train([Moved()])
    assert len([line for line in lines if "training goes on: " in line]) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["elsewhere"]


@pytest.mark.slow
def test_a_run_goes_on_with_more_patience_and_with_more_epochs(tmp_path):
    figures = [(2.0, 1.0), (1.0, 1.0), (1.5, 1.0), (3.0, 1.0), (2.5, 1.0)]

    def run(folder, **options):
        training = SmallRun(folder, figures, **options)
        assert training.train()
        return training

    assert run(tmp_path / "parts", epochs=4, patience=1).state.epoch == 2
    assert run(tmp_path / "parts", epochs=4, patience=2).state.epoch == 3
    assert run(tmp_path / "parts", epochs=4, early_stopping=True).state.epoch == 4
    parts = run(tmp_path / "parts", epochs=5)
    assert run(tmp_path / "parts", epochs=1).state.epoch == 5  # nothing to do
    assert [epoch["improved"] for epoch in parts.state.history] == [True, False, False, True, False]
    # This run's learning rate does not depend on the number of epochs.
    assert_equal(state_of(parts), state_of(run(tmp_path / "whole", epochs=5)))


def test_patience(model, tmp_path):
    assert SmallRun(tmp_path, model=model).patience is None
    assert SmallRun(tmp_path, model=model, early_stopping=True).patience == 3
    assert SmallRun(tmp_path, model=model, early_stopping=True, patience=7).patience == 7
    assert SmallRun(tmp_path, model=model, patience=7).patience == 7


@pytest.mark.slow
def test_an_interrupt_during_validation_repeats_it(tmp_path):
    class Interrupted(SmallRun):
        def evaluate(self, validation, stop):
            os.kill(os.getpid(), signal.SIGINT)
            return super().evaluate(validation, stop)

    training = Interrupted(tmp_path)
    assert not training.train()
    assert (training.state.epoch, training.state.step) == (0, STEPS)
    resumed = SmallRun(tmp_path)
    assert resumed.train()
    assert [epoch["epoch"] for epoch in resumed.state.history] == [1, 2]
    assert all(epoch["loss"] > 0 for epoch in resumed.state.history)


@pytest.mark.slow
def test_the_best_and_the_last_epoch_are_kept(tmp_path):
    class Kept(SmallRun):
        """Remembers the averaged weights of each epoch."""

        def evaluate(self, validation, stop):
            self.measured.append(self.model.get_weights())
            return super().evaluate(validation, stop)

    # The third is as good as the second and has a lower loss; the last has the lowest.
    training = Kept(tmp_path, [(1.0, 3.0), (2.0, 2.5), (2.0, 2.0), (1.5, 1.0)], epochs=4)
    training.measured = []
    assert training.train()
    assert [epoch["improved"] for epoch in training.state.history] == [True, True, True, False]
    assert training.state.best == 2.0
    assert training.state.best_epoch == training.state.history[2]
    assert_equal(preset_weights(tmp_path / "training" / "last"), training.measured[3])
    half = [weight.astype(np.float16) for weight in training.measured[2]]  # as a preset has them
    assert_equal(preset_weights(tmp_path), half)

    # A finished run keeps the presets and its last checkpoint.
    names = sorted(path.name for path in (tmp_path / "training").iterdir())
    [ema, weights] = [name for name in names if name.startswith("checkpoint-")]
    assert names == [ema, weights, "last", "run.json", "run.previous.json"]
    assert ema.endswith(".ema.npz") and weights.endswith(".weights.h5")
    again = SmallRun(tmp_path, model=training.model, epochs=4)
    assert again.is_finished() and again.train()
    assert again.state.history == training.state.history

    # One that was killed after its last step is finished when it is begun again.
    training.state.save(training.model, training.parts())
    training.state.cache.mkdir()
    assert len(list(training.state.folder.glob("checkpoint-*"))) == 4
    assert SmallRun(tmp_path, model=training.model, epochs=4).train()
    assert len(list(training.state.folder.glob("checkpoint-*"))) == 2
    assert not training.state.cache.exists()


def test_a_model_of_nan_is_never_the_best(tmp_path):
    """Its scores are numbers: an accuracy or a BLEU of whatever it gives."""
    training = SmallRun(tmp_path, [(1.0, 5.0), (2.0, 4.0)], epochs=2)
    kernel = training.model.weights[0]

    def diverge(*_, logs=None):
        if training.state.epoch == 1:
            kernel.assign(kernel * np.nan)

    assert training.train([keras.callbacks.LambdaCallback(on_train_batch_begin=diverge)])
    assert [epoch["improved"] for epoch in training.state.history] == [True, False]
    saved = RecurrentLanguageModel.from_preset(str(tmp_path))
    assert all(np.isfinite(weight).all() for weight in saved.get_weights())


def test_a_run_without_a_checkpoint_does_not_begin_again_with_its_model(tmp_path):
    """It would begin its first epoch with weights and an average of the steps before."""

    def fail(batch, logs=None):
        if batch == 1:
            raise RuntimeError("enough")

    training = SmallRun(tmp_path, [(1.0, 5.0)], epochs=1)
    with pytest.raises(RuntimeError, match="enough"):
        training.train([keras.callbacks.LambdaCallback(on_train_batch_begin=fail)])
    with pytest.raises(ValueError, match="`model` must be new, .*, got one after step 1"):
        training.train()
    assert SmallRun(tmp_path, [(1.0, 5.0)], epochs=1).train()


def test_weights_beyond_float16_are_saved_in_float32(tmp_path):
    lines = []
    training = SmallRun(tmp_path, [(1.0, 5.0)], epochs=1)
    training.report = lines.append
    kernel = training.model.weights[0]
    kernel.assign(kernel * 1e6)
    assert training.train()
    [line] = [line for line in lines if "float32" in line]
    assert re.fullmatch(r"saved in float32: a weight of \S+ is too large for float16", line)
    saved = RecurrentLanguageModel.from_preset(str(tmp_path))
    with training.ema.applied():
        np.testing.assert_array_equal(saved.get_weights()[0], kernel)


def test_a_run_with_other_options_makes_its_own_cache(tmp_path):
    RunState(tmp_path).begin({"size": 1})
    RunState(tmp_path).cache.mkdir()
    for size, kept in ((1, True), (2, False)):
        state = RunState(tmp_path)  # killed before its first checkpoint
        state.begin({"size": size})
        assert state.cache.exists() == kept


def test_the_measure_is_an_option_of_the_run(tmp_path, model):
    training = SmallRun(tmp_path, model=model, measure="loss", options={"size": 3})
    assert training.options == {"measure": "loss", "size": 3}
    training.state.begin(training.options)
    training.state.save(training.model, {})
    with pytest.raises(ValueError, match="`measure` was 'loss', got 'score'"):
        SmallRun(tmp_path, model=model, options={"size": 3}).train()
    with pytest.raises(ValueError, match="`measure` must be one of score, loss, got 'bleu'"):
        SmallRun(tmp_path, model=model, measure="bleu")


def test_one_run_at_a_time_trains_in_a_folder(tmp_path, model):
    other = RunState(tmp_path)

    # It finds no other run at first; one begins then.
    late = SmallRun(tmp_path, model=model)
    late.state.check = lambda options: other.lock.__enter__()
    with pytest.raises(BlockingIOError, match=f"process {os.getpid()} on "):
        late.train()
    with pytest.raises(BlockingIOError, match=f"process {os.getpid()} on "):
        SmallRun(tmp_path, model=model).train()
    assert not RunState(tmp_path).exists
    other.lock.__exit__()


def test_a_run_that_another_process_finished_is_not_trained_again(tmp_path, model):
    training = SmallRun(tmp_path, model=model)

    def check(options):
        del training.state.check
        other = RunState(tmp_path)
        other.begin(training.options)
        other.epoch = training.epochs
        model.compile("sgd")
        other.save(model, {})
        other.finish()

    training.state.check = check
    assert training.train() and training.is_finished()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epochs": 0}, "`epochs` must be an int of at least 1"),
        ({"ema_momentum": 1.0}, "`ema_momentum` must be a number of at least 0 and below 1"),
        ({"seed": -1}, "`seed` must be an int of at least 0"),
        ({"patience": 0}, "`patience` must be an int of at least 1"),
        ({"checkpoint_minutes": 0}, "`checkpoint_minutes` must be a number above 0"),
        ({"checkpoint_steps": 0}, "`checkpoint_steps` must be an int of at least 1"),
    ],
)
def test_wrong_options(tmp_path, model, changes, message):
    with pytest.raises(ValueError, match=message):
        SmallRun(tmp_path, model=model, **changes)


def test_a_preprocessor_is_needed(tmp_path):
    model = small_model()
    model.preprocessor = None
    with pytest.raises(ValueError, match="`model` must have a preprocessor"):
        TrainingRun(model, tmp_path, epochs=1, ema_momentum=0.5)


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


def test_epochs_of_some_steps_follow_each_other(tmp_path, model):
    training = SmallRun(tmp_path, model=model, steps_per_epoch=4)
    training.prepare(TEXT, None)
    training.steps, training.pass_steps = 4, 3
    passes = [row for number in range(4) for row in training.batches(number)]
    epochs = []
    for training.state.epoch in range(3):
        assert training.rest_of_epoch().cardinality() == 4
        epochs += list(training.rest_of_epoch())
    assert len(passes) == len(epochs) == 12
    for one, other in zip(passes, epochs, strict=True):
        np.testing.assert_array_equal(one[1], other[1])
    training.state.step = 3
    [last] = training.rest_of_epoch()
    np.testing.assert_array_equal(last[1], passes[11][1])
