import math

import keras
import pytest

from keras_seqzoo.models import (
    MinimumRisk,
    RDrop,
    Reinforce,
    ReinforcedAttention,
    ScheduledSampling,
    SupervisedAttention,
)
from keras_seqzoo.training import TranslationTraining, TranslationTrainingOptions
from tests.made_up import parallel_text, tiny_model
from tests.tiers import slow
from tests.training.interrupts import Interrupt, assert_equal, state_of

TRAIN, VALIDATION = parallel_text(20), parallel_text(4, seed=1)
STEPS = 3


@pytest.fixture(scope="module")
def model():
    return tiny_model()


def training_of(folder, model=None, **changes):
    if model is None:
        keras.utils.set_random_seed(3)
        model = tiny_model(dropout=0.3)
    options = {"epochs": 2, "batch_size": 8, "warmup_steps": 2, "boundaries": (24,), "seed": 5}
    return TranslationTraining(model, folder, report=lambda line: None, **{**options, **changes})


def compiled_objective(model, folder, **options):
    training_of(folder, model, **options).compile_model(STEPS)
    return model.objective


def test_the_options_make_the_objective(model, tmp_path):
    assert compiled_objective(model, tmp_path) is None
    found = compiled_objective(
        model, tmp_path, objective="scheduled-sampling", sampling_decay=50, seed=2**31 + 4
    )
    assert isinstance(found, ScheduledSampling) and found.seed == 4
    assert float(found.probability(70)) == pytest.approx(50 / (50 + math.exp(70 / 50)))
    options = {"risk_samples": 3, "risk_alpha": 0.1, "risk_temperature": 0.7}
    options.update(risk_measure="chrf", risk_reference=False)
    found = compiled_objective(model, tmp_path, objective="minimum-risk", **options)
    assert isinstance(found, MinimumRisk)
    expected = {"samples": 3, "alpha": 0.1, "temperature": 0.7, "measure": "chrf", "seed": 5}
    expected["include_reference"] = False
    assert found.get_config() == expected
    options = {"reinforce_samples": 3, "reinforce_baseline": "samples"}
    found = compiled_objective(model, tmp_path, objective="reinforce", **options)
    assert isinstance(found, Reinforce)
    own = {"samples": 3, "baseline": "samples", "measure": "bleu", "momentum": 0.9, "seed": 5}
    assert found.get_config() == own
    options = {"objective": "r-drop", "r_drop_weight": 3}
    found = compiled_objective(tiny_model(dropout=0.1), tmp_path, **options)
    assert isinstance(found, RDrop) and found.weight == 3
    options = {"objective": "supervised-attention", "alignment_weight": 0.3}
    found = compiled_objective(model, tmp_path, **options)
    assert isinstance(found, SupervisedAttention) and found.weight == 0.3


@pytest.mark.slow
def test_hard_attention_that_is_drawn_has_its_own_objective(tmp_path):
    model = tiny_model(attention_weighting="hard-reinforce")
    options = {"objective": "reinforced-attention", "attention_entropy": 0.2}
    found = compiled_objective(model, tmp_path, **options)
    assert isinstance(found, ReinforcedAttention) and found.entropy == 0.2
    with pytest.raises(ValueError, match="must be reinforced-attention for a model with the"):
        compiled_objective(model, tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alignment_weight": 0.5}, "`alignment_weight` must not be given without the objective"),
        ({"objective": "supervised-attention", "subword_alpha": 0.2}, "`subword_alpha` must not"),
        ({"objective": "supervised-attention", "subword_dropout": 0.2}, "`subword_dropout` must"),
        (
            {"objective": "minimum-risk", "subword_dropout": 0.2},
            "`subword_dropout` must not be given with the objective minimum-risk and `risk_measure",
        ),
        (
            {"objective": "reinforce", "subword_alpha": 0.2},
            "`subword_alpha` must not be given with the objective reinforce and `reinforce_measur",
        ),
        (
            {"objective": "minimum-risk", "risk_measure": "chrf", "label_smoothing": 0.2},
            "`label_smoothing` must not be given with the objective minimum-risk, got 0.2",
        ),
        (
            {"objective": "reinforce", "reinforce_baseline": "samples", "reinforce_samples": 1},
            "`reinforce_samples` must be at least 2 with `reinforce_baseline=",
        ),
        ({"objective": "reinforce", "reinforce_baseline": "x"}, "`reinforce_baseline` must be o"),
        ({"attention_entropy": 0.5}, "`attention_entropy` must not be given without the objec"),
        (
            {"objective": "bleu"},
            "`objective` must be one of likelihood, r-drop, scheduled-sampling",
        ),
        ({"r_drop_weight": 3.0}, "`r_drop_weight` must not be given without the objective r-drop"),
        ({"objective": "r-drop", "r_drop_weight": -1}, "`r_drop_weight` must be a number of at"),
        ({"risk_samples": 5}, "`risk_samples` must not be given without the objective minimum-"),
        ({"objective": "scheduled-sampling", "risk_alpha": 1.0}, "`risk_alpha` must not be given"),
        ({"objective": "minimum-risk", "sampling_decay": 9}, "`sampling_decay` must not be given"),
        ({"risk_reference": False}, "`risk_reference` must not be given without the objective"),
        (
            {"objective": "minimum-risk", "risk_samples": 1, "risk_reference": False},
            "`risk_samples` must be at least 2 with `risk_reference=False`, got 1",
        ),
        ({"objective": "minimum-risk", "risk_samples": 0}, "`risk_samples` must be an int of at"),
        ({"objective": "minimum-risk", "risk_alpha": 0}, "`risk_alpha` must be a number above 0"),
        ({"objective": "minimum-risk", "risk_measure": "ter"}, "`risk_measure` must be one of"),
        ({"objective": "scheduled-sampling", "sampling_decay": 0.5}, "`sampling_decay` must be"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        TranslationTrainingOptions(**options)


@pytest.mark.parametrize(
    ("objective", "changes"),
    [
        slow("r-drop", {}),
        slow("scheduled-sampling", {}),
        slow("minimum-risk", {}),
        slow("reinforce", {"reinforce_baseline": "average"}),
        slow("supervised-attention", {}),
        slow("reinforced-attention", {}),
    ],
)
def test_a_resumed_run_equals_a_whole_one_bit_by_bit(tmp_path, objective, changes):
    options = {"objective": objective, **changes}
    train, weighting = TRAIN, "softmax"
    if objective == "supervised-attention":
        links = [[(place, place) for place in range(len(line.split()))] for line in TRAIN[0]]
        train = *TRAIN, links
    elif objective == "reinforced-attention":
        weighting = "hard-reinforce"

    def make_training(folder, **changes):
        keras.utils.set_random_seed(3)
        model = tiny_model(dropout=0.3, attention_weighting=weighting)
        return training_of(folder, model, **changes)

    whole = make_training(tmp_path / "whole", tensorboard=tmp_path / "logs", **options)
    assert whole.run(train, VALIDATION, verbose=0)
    parts = make_training(tmp_path / "parts", **options)
    assert not parts.run(train, VALIDATION, verbose=0, callbacks=[Interrupt(2)])
    with pytest.raises(ValueError, match="objective"):
        make_training(tmp_path / "parts").run(TRAIN, VALIDATION, verbose=0)
    parts = make_training(tmp_path / "parts", **options)
    assert parts.run(train, VALIDATION, verbose=0)
    assert_equal(state_of(parts), state_of(whole))
    assert (tmp_path / "logs").exists()
    figures = ["epoch", "loss", "seconds", "val_loss", "bleu", "chrf", "improved"]
    assert [list(epoch) for epoch in parts.state.history] == [figures] * 2
    assert parts.state.history[1]["chrf"] == whole.state.history[1]["chrf"]
    if objective in ("minimum-risk", "reinforce"):
        assert all(0 <= epoch["loss"] <= 1 < epoch["val_loss"] for epoch in parts.state.history)


@pytest.mark.parametrize(
    ("objective", "train", "message"),
    [
        ("supervised-attention", TRAIN, "`train` must be with alignments with the objective sup"),
        ("likelihood", (*TRAIN, [[]] * 20), "`train` must be without alignments with the objec"),
        ("supervised-attention", (*TRAIN, [[]] * 3), "an alignment for each pair, got 3 for 20"),
        ("supervised-attention", (*TRAIN, [[]] * 20), "`train` must have a link in one of its al"),
    ],
)
def test_alignments_are_given_with_their_objective(model, tmp_path, objective, train, message):
    with pytest.raises(ValueError, match=message):
        training_of(tmp_path, model, objective=objective).run(train, VALIDATION)
