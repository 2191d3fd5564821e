import os
import signal

import keras
import numpy as np
import pytest

from keras_seqzoo.models import RecurrentSeq2SeqLM
from keras_seqzoo.training import TranslationTraining
from tests.made_up import parallel_text, tiny_model

OPTIONS = {
    "epochs": 2,
    "batch_size": 8,
    "learning_rate": 0.01,
    "warmup_steps": 3,
    "boundaries": (24,),
    "seed": 5,
}
TRAIN, VALIDATION = parallel_text(50), parallel_text(6, seed=1)


class Interrupt(keras.callbacks.Callback):
    """Sends Ctrl-C in the middle of given steps, counted over the whole run."""

    def __init__(self, *steps):
        super().__init__()
        self.steps = steps
        self.step = 0

    def on_train_batch_begin(self, batch, logs=None):
        self.step += 1
        if self.step in self.steps:
            os.kill(os.getpid(), signal.SIGINT)


def make_training(folder, options=None, **changes):
    keras.utils.set_random_seed(3)
    model = tiny_model(dropout=0.3)
    return TranslationTraining(
        model, folder, options=options, report=lambda line: None, **{**OPTIONS, **changes}
    )


def state_of(training):
    optimizer = [variable.numpy() for variable in training.model.optimizer.variables]
    averages = [np.asarray(value) for value in training.average.get_state().values()]
    return [*training.model.get_weights(), *optimizer, *averages]


def preset_weights(folder):
    return RecurrentSeq2SeqLM.from_preset(str(folder)).get_weights()


def test_a_resumed_run_equals_a_whole_one_bit_by_bit(tmp_path):
    whole = make_training(tmp_path / "whole")
    assert whole.run(TRAIN, VALIDATION, verbose=0)

    stops = (3, 10)  # within the first epoch and within the second
    training = make_training(tmp_path / "parts")
    interrupt = Interrupt(*stops)
    positions = []
    for _ in stops:
        assert not training.run(TRAIN, VALIDATION, verbose=0, callbacks=[interrupt])
        positions.append((training.state.epoch, training.state.step))
        training = make_training(tmp_path / "parts")  # as a new process does
    assert training.run(TRAIN, VALIDATION, verbose=0, callbacks=[interrupt])

    steps = interrupt.step // 2
    assert positions == [divmod(stop, steps) for stop in stops]
    for value, other in zip(state_of(whole), state_of(training), strict=True):
        np.testing.assert_array_equal(value, other)
    for value, other in zip(
        preset_weights(tmp_path / "whole"), preset_weights(tmp_path / "parts"), strict=True
    ):
        np.testing.assert_array_equal(value, other)
    assert whole.state.best == training.state.best
    scores = [[(e["bleu"], e["chrf"]) for e in t.state.history] for t in (whole, training)]
    assert scores[0] == scores[1]


def test_an_interrupt_during_validation_repeats_it(tmp_path, monkeypatch):
    training = make_training(tmp_path)
    translate = RecurrentSeq2SeqLM.translate

    def interrupted(*arguments, **options):
        os.kill(os.getpid(), signal.SIGINT)
        return translate(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(RecurrentSeq2SeqLM, "translate", interrupted)
        assert not training.run(TRAIN, VALIDATION, verbose=0)
    assert training.state.epoch == 0 and training.state.step > 0
    resumed = make_training(tmp_path)
    assert resumed.run(TRAIN, VALIDATION, verbose=0)
    assert [epoch["epoch"] for epoch in resumed.state.history] == [1, 2]


def test_a_finished_run_keeps_the_preset_and_its_history_alone(tmp_path):
    training = make_training(tmp_path, epochs=1, warmup_steps=0)
    assert training.run(TRAIN, VALIDATION, verbose=0)
    assert [path.name for path in (tmp_path / "training").iterdir()] == ["run.json"]
    again = make_training(tmp_path, epochs=1, warmup_steps=0)
    assert again.state.finished
    assert again.run(TRAIN, VALIDATION, verbose=0)
    assert again.state.history == training.state.history
    [[best]] = RecurrentSeq2SeqLM.from_preset(str(tmp_path)).translate(["a red dog"])
    assert isinstance(best.text, str)


@pytest.mark.parametrize("validation", [([], []), (["a"], [])])
def test_validation_must_be_parallel(tmp_path, validation):
    with pytest.raises(ValueError, match="validation"):
        make_training(tmp_path / "new").run(TRAIN, validation)
    assert not (tmp_path / "new").exists()


def test_other_options_are_refused(tmp_path):
    training = make_training(tmp_path, options={"epochs": 2})
    training.state.begin({"epochs": 3})
    with pytest.raises(ValueError, match="epochs"):
        training.run(TRAIN, VALIDATION)
