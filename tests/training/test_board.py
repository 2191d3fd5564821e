import numpy as np
import pytest

from keras_seqzoo.training import (
    LanguageModelReport,
    LanguageModelTraining,
    make_language_model,
)
from tests.callbacks import events
from tests.training.interrupts import Interrupt, assert_equal, state_of
from tests.training.test_run import STEPS, SmallRun


class Boarded(SmallRun):
    """A small run whose epochs have 12 tokens."""

    def prepare(self, train, validation):
        super().prepare(train, validation)
        self.tokens = 12

    def reports(self, validation):
        return [LanguageModelReport(prompts=["red"])]


@pytest.mark.slow
def test_metrics_and_reports_of_the_average(tmp_path):
    run = Boarded(tmp_path / "run", tensorboard=tmp_path / "logs", options={"file": "a"})
    assert run.train()
    found = events.read(tmp_path / "logs")
    history = run.state.history
    assert [step for step, _ in found["validation/score"]] == [STEPS, 2 * STEPS]
    np.testing.assert_allclose(
        [value for _, value in found["validation/score"]],
        [epoch["score"] for epoch in history],
        rtol=1e-6,
    )
    np.testing.assert_allclose(
        [value for _, value in found["train/loss"]], [epoch["loss"] for epoch in history], rtol=1e-6
    )
    assert len(found["samples/generations"]) == len(found["gradient_norm/all"]) == 2
    assert all(value > 0 for _, value in found["train/tokens_per_second"])
    assert "_hparams_/session_start_info" in found
    assert (tmp_path / "logs" / "projector_config.pbtxt").exists()


@pytest.mark.slow
def test_a_run_in_parts_writes_the_curves_of_a_whole_one(tmp_path):
    """And both train as without it."""
    plain = SmallRun(tmp_path / "plain")
    assert plain.train() and plain.board is None
    assert not list(tmp_path.rglob("*tfevents*"))
    whole = Boarded(tmp_path / "whole", tensorboard=tmp_path / "whole-logs")
    assert whole.train()
    assert_equal(state_of(plain), state_of(whole))

    logs = tmp_path / "parts-logs"
    interrupt = Interrupt(2, 5)
    for _ in range(2):
        assert not Boarded(tmp_path / "parts", tensorboard=logs).train([interrupt])
    last = Boarded(tmp_path / "parts", tensorboard=logs)
    assert last.train([interrupt])
    assert_equal(state_of(plain), state_of(last))
    one, other = events.read(tmp_path / "whole-logs"), events.read(logs)
    for name in ("validation/score", "samples/generations", "gradient_norm/all"):
        assert repr(one[name]) == repr(other[name])
    assert [step for step, _ in other["train/loss"]] == [2, 3, 5, 6]
    assert "train/tokens_per_second" not in other  # no epoch was whole


@pytest.mark.slow
def test_a_run_that_resumes_with_its_validation(tmp_path):
    class Interrupted(Boarded):
        def evaluate(self, validation, stop):
            raise KeyboardInterrupt

    assert not Interrupted(tmp_path / "run", tensorboard=tmp_path / "logs").train()
    resumed = Boarded(tmp_path / "run", tensorboard=tmp_path / "logs")
    assert (resumed.state.epoch, resumed.state.step) == (0, STEPS)
    assert resumed.train()
    found = events.read(tmp_path / "logs")
    assert [step for step, _ in found["validation/score"]] == [STEPS, 2 * STEPS]


def test_a_folder_that_cannot_be_written_to_is_found_before_training(tmp_path):
    (tmp_path / "file").write_text("")
    run = Boarded(tmp_path / "run", tensorboard=tmp_path / "file" / "logs")
    run.prepare = None  # is not reached
    with pytest.raises(NotADirectoryError, match="`tensorboard` must be a folder, got a file"):
        run.train()
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_large_softmax_has_no_gradient_norms(tmp_path):
    texts = ["red dog", "old cat"]
    model = make_language_model(texts, units=2, embedding_dim=2, softmax="sampled", samples=2)
    run = LanguageModelTraining(model, tmp_path, report=lambda line: None, batch_size=2)
    run.prepare(texts, texts)
    assert run.gradient_batch() is None
    assert isinstance(run.reports(texts)[0], LanguageModelReport)
