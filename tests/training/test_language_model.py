import keras
import numpy as np
import pytest

from keras_seqzoo.models import RecurrentLanguageModel, RunningText
from keras_seqzoo.training import LanguageModelTraining, make_language_model
from keras_seqzoo.training.language_model import SAMPLING
from tests.tiers import mostly_slow, slow
from tests.training.interrupts import Interrupt, assert_equal, state_of

WORDS = ["red", "blue", "green", "old", "new"]
TEXT = [" ".join(np.random.default_rng(n).choice(WORDS, 4)) + " end" for n in range(40)]
VALIDATION = [" ".join(np.random.default_rng(n).choice(WORDS, 4)) + " end" for n in range(100, 106)]


def make_training(folder, options=None, dtype=None, **changes):
    keras.utils.set_random_seed(3)
    noise = {"dropout": 0.2, "weight_drop": 0.2, "word_dropout": 0.1}
    model = make_language_model(TEXT, units=6, embedding_dim=4, dtype=dtype, **noise)
    defaults = {"epochs": 2, "batch_size": 4, "length": 7, "learning_rate": 0.5, "seed": 5}
    return LanguageModelTraining(
        model, folder, options=options, report=lambda line: None, **{**defaults, **changes}
    )


@pytest.mark.slow
def test_a_resumed_run_goes_on_with_the_states_of_its_streams(tmp_path):
    options = {"epochs": 1, "dtype": "mixed_bfloat16"}  # states of both kinds
    whole = make_training(tmp_path / "whole", **options)
    assert whole.run(TEXT, VALIDATION, verbose=0)

    stopped = make_training(tmp_path / "parts", **options)
    assert not stopped.run(TEXT, VALIDATION, verbose=0, callbacks=[Interrupt(3)])
    assert (stopped.state.epoch, stopped.state.step) == (0, 3)
    resumed = make_training(tmp_path / "parts", **options)  # as a new process does
    assert resumed.run(TEXT, VALIDATION, verbose=0)
    assert_equal(state_of(whole), state_of(resumed))

    reading = RunningText(RecurrentLanguageModel.from_preset(str(tmp_path / "whole")), streams=8)
    best = reading.perplexity(VALIDATION).perplexity
    assert best == pytest.approx(whole.state.best, rel=1e-2)  # the preset is float16


@pytest.mark.parametrize("carry", [True, slow(False)])
def test_batches_depend_on_the_seed_and_the_epoch_alone(tmp_path, carry):
    training = make_training(tmp_path, carry=carry)
    training.prepare(TEXT, VALIDATION)
    first = [[batch[1].numpy() for batch in training.batches(epoch)] for epoch in (0, 0, 1)]
    assert np.array_equal(first[0], first[1]) and not np.array_equal(first[0], first[2])
    tokens = [np.sort(np.concatenate([batch.ravel() for batch in epoch])) for epoch in first]
    np.testing.assert_array_equal(tokens[0], tokens[2])


@pytest.mark.parametrize(("warmup_steps", "cut"), [(400, 6), (59, 59)])
def test_a_warm_up_that_fills_the_run_is_cut(tmp_path, warmup_steps, cut):
    training = make_training(tmp_path, warmup_steps=warmup_steps)
    lines = []
    training.report = lines.append
    training.compile_model(30)
    assert training.model.optimizer._learning_rate.warmup_steps == cut
    assert len(lines) == (cut == 6)


class Scores(LanguageModelTraining):
    """Perplexities from a list, and the learning rates of the epochs."""

    def __init__(self, scores, *arguments, **options):
        super().__init__(*arguments, **options)
        self.scores, self.rates = iter(scores), []

    def on_epoch_begin(self):
        super().on_epoch_begin()
        self.rates.append(float(self.model.optimizer.learning_rate))

    def evaluate(self, validation, stop):
        return {"perplexity": next(self.scores)}


@pytest.mark.slow
def test_plateau_and_patience(tmp_path):
    keras.utils.set_random_seed(3)
    training = Scores(
        [9.0, 8.0, 8.5, 7.0, 7.5, 7.1, 1.0],
        make_language_model(TEXT, units=3, embedding_dim=3),
        tmp_path,
        epochs=9,
        learning_rate=0.4,
        schedule="plateau",
        decay=0.5,
        patience=2,
        report=lambda line: None,
    )
    assert training.run(TEXT, VALIDATION, verbose=0)
    assert training.state.epoch == 6 and training.state.best == 7.0
    assert training.rates == pytest.approx([0.4, 0.4, 0.4, 0.2, 0.2, 0.1])


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", ["adam", "adagrad", "sgd", "momentum"])
def test_optimizers(tmp_path, optimizer):
    rate = {"adam": 0.01, "adagrad": 0.05}.get(optimizer, 0.5)
    training = make_training(tmp_path, optimizer=optimizer, learning_rate=rate, weight_decay=1e-4)
    assert training.run(TEXT, VALIDATION, verbose=0)
    losses = [epoch["loss"] for epoch in training.state.history]
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("tokenizer", mostly_slow(["word", "character", "unigram"], "word"))
def test_make_language_model(tokenizer):
    size = {"word": 9, "character": 16, "unigram": 273}[tokenizer]
    model = make_language_model(
        TEXT, tokenizer=tokenizer, vocabulary_size=size, units=3, tie_softmax=False
    )
    assert model.tokenizer.vocabulary_size() == model.backbone.vocabulary_size == size
    assert not model.tie_softmax and model.backbone.units == 3
    assert model.perplexity(["red end"]).unknown == (1 if tokenizer == "word" else 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "softmax", ["sampled", "nce", "negative-sampling", "class-factored", "hierarchical"]
)
def test_softmaxes(tmp_path, softmax):
    keras.utils.set_random_seed(3)
    samples = 5 if softmax in SAMPLING else None
    model = make_language_model(TEXT, units=6, embedding_dim=4, softmax=softmax, samples=samples)
    training = LanguageModelTraining(
        model, tmp_path, epochs=3, batch_size=4, length=7, report=lambda line: None
    )
    assert training.run(TEXT, VALIDATION, verbose=0)
    scores = [epoch["perplexity"] for epoch in training.state.history]
    assert scores[-1] < scores[0]
    loaded = RecurrentLanguageModel.from_preset(str(tmp_path))
    assert type(loaded.output_layer) is type(model.output_layer)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"optimizer": "lbfgs"}, "`optimizer` must be one of sgd, momentum, adagrad, adam"),
        ({"schedule": "step"}, "`schedule` must be one of cosine, plateau, constant"),
        ({"decay": 1.0}, "`decay`"),
        ({"schedule": "plateau", "warmup_steps": 5}, "`warmup_steps` must be 0 unless"),
        ({"patience": 0}, "`patience`"),
        ({"batch_size": 0}, "`batch_size`"),
        ({"length": 0}, "`length`"),
        ({"epochs": 0}, "`epochs`"),
        ({"clipnorm": 0}, "`clipnorm`"),
        ({"weight_decay": -1.0}, "`weight_decay`"),
    ],
)
def test_wrong_options(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        make_training(tmp_path, **options)


def test_no_text(tmp_path):
    with pytest.raises(ValueError, match="at least one sentence"):
        make_training(tmp_path).run(TEXT, [])
    with pytest.raises(ValueError, match="`softmax` must be one of full, sampled"):
        make_language_model(TEXT, softmax="half")
    with pytest.raises(ValueError, match="`samples` must be None unless .* sampled, nce"):
        make_language_model(TEXT, samples=5)
    with pytest.raises(ValueError, match="`minimum_count` must be 1 unless .* word, character"):
        make_language_model(TEXT, tokenizer="bpe", minimum_count=2)
    with pytest.raises(ValueError, match="`tokenizer` must be one of"):
        make_language_model(TEXT, tokenizer="letters")


@pytest.mark.slow
def test_streams_go_on_in_the_next_epoch_of_some_steps(tmp_path):
    weights = []
    for name, options in (("whole", {"epochs": 1}), ("parts", {"epochs": 3, "steps_per_epoch": 2})):
        training = make_training(tmp_path / name, **options, schedule="constant", length=10)
        assert training.run(TEXT, VALIDATION, verbose=0)
        weights.append(training.model.get_weights())
        assert training.state.epoch * training.steps == 6 and training.pass_steps == 6
    for whole, parts in zip(*weights, strict=True):
        np.testing.assert_array_equal(whole, parts)
