import math
import types

import keras
import pytest
import tensorflow as tf

from keras_seqzoo.models import RecurrentSeq2SeqLM
from keras_seqzoo.training import TranslationTraining
from tests.made_up import parallel_text, tiny_model
from tests.training.interrupts import assert_equal

OPTIONS = {
    "epochs": 2,
    "batch_size": 8,
    "learning_rate": 0.01,
    "warmup_steps": 3,
    "boundaries": (24,),
    "seed": 5,
}
TRAIN, VALIDATION = parallel_text(50), parallel_text(6, seed=1)


@pytest.fixture(scope="module")
def model():
    """An untrained model; its weights stay as they are."""
    keras.utils.set_random_seed(3)
    return tiny_model(dropout=0.3)


def make_training(model, folder, lines=None, **changes):
    report = (lambda line: None) if lines is None else lines.append
    return TranslationTraining(model, folder, report=report, **{**OPTIONS, **changes})


@pytest.mark.slow
def test_an_epoch_trains_and_measures(tmp_path):
    lines = []
    model = tiny_model(dropout=0.3)
    training = make_training(model, tmp_path, lines, epochs=1)
    assert training.run(TRAIN, VALIDATION, verbose=0)
    assert lines[0] == "7 batches an epoch, of 1 shape: each is compiled once"
    [epoch] = training.state.history
    figures = ["epoch", "loss", "seconds", "val_loss", "bleu", "chrf", "improved"]
    assert list(epoch) == figures
    assert training.state.best == epoch["chrf"]
    loaded = RecurrentSeq2SeqLM.from_preset(str(tmp_path / "training" / "last"))
    scores = loaded.score(*VALIDATION)
    loss = -sum(score for score, _ in scores) / sum(tokens for _, tokens in scores)
    assert epoch["val_loss"] == pytest.approx(loss, rel=1e-5)


def test_batches_depend_on_the_seed_and_the_epoch_alone(model, tmp_path):
    training = make_training(model, tmp_path)
    training.prepare(TRAIN, VALIDATION)
    first, same, other = (
        [labels.numpy() for _, labels, _ in training.batches(epoch)] for epoch in (0, 0, 1)
    )
    assert_equal(first, same)
    with pytest.raises(AssertionError):
        assert_equal(first, other)


@pytest.mark.parametrize("name", ["chrf", "bleu", "loss"])
def test_the_measure_chooses(model, tmp_path, name):
    figures = {"chrf": 40.0, "bleu": 20.0, "val_loss": 3.0}
    measure = TranslationTraining.measures[make_training(model, tmp_path, measure=name).measure]
    better = {"chrf": 41.0, "bleu": 21.0, "loss": 2.9}[name]
    worse = {"chrf": 1.0, "bleu": 1.0, "val_loss": 9.0}
    assert measure.is_better({**worse, measure.metric: better}, figures)
    assert not measure.is_better(figures, {**worse, measure.metric: better})


@pytest.mark.parametrize(("number", "scored"), [(1, False), (2, True)])
def test_an_interrupt_ends_the_validation(tmp_path, number, scored):
    checks = []

    def check(*_):
        checks.append(len(model.scored))
        if len(checks) == number:
            raise KeyboardInterrupt

    model = Translator(["x"])
    training = make_training(model, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        training.evaluate((["a"], ["b"]), types.SimpleNamespace(check=check))
    assert len(checks) == number and bool(model.scored) == scored


class Translator:
    """In the place of a model: gives these translations, and a loss of 2 for each token."""

    preprocessor = types.SimpleNamespace()
    distribute_strategy = tf.distribute.get_strategy()

    def __init__(self, translations):
        self.translations = translations
        self.scored = []

    def translate(self, texts, strategy, on_batch):
        on_batch(len(texts))
        return [[types.SimpleNamespace(text=text)] for text in self.translations]

    def score(self, sources, targets):
        assert all(source.strip() for source in sources)
        self.scored += targets
        return [(-2.0 * len(target), len(target)) for target in targets]


def figures_of(translations, references, folder, sources=None, **options):
    """What is measured, and the lines of the report; everything is measured twice."""
    lines = []
    training = make_training(Translator(translations), folder, lines, **options)
    stop = types.SimpleNamespace(check=lambda *_: None)
    validation = sources or ["a"] * len(references), references
    training.evaluate(validation, stop)
    return training.evaluate(validation, stop), lines


def test_chrf_tells_apart_text_without_spaces_and_bleu_does_not(tmp_path):
    references = ["彼は昨日学校に行きました。", "私は犬が好きです。"]
    near, lines = figures_of(
        ["彼は今日学校に行きました。", "私は猫が好きです。"], references, tmp_path
    )
    far, _ = figures_of(["これは本です。", "はい。"], references, tmp_path)
    assert near["bleu"] == far["bleu"] == 0
    assert near["chrf"] > 50 > far["chrf"]
    [line] = lines  # said once in a run
    assert line.startswith("BLEU is 0: no four tokens in a row are right, by the tokenizer '13a'")
    by_character, lines = figures_of(
        ["彼は今日学校に行きました。", "私は猫が好きです。"],
        references,
        tmp_path,
        bleu_tokenizer="char",
    )
    assert by_character["bleu"] > 50 and lines == []


def test_the_loss_is_that_of_a_token_where_there_is_a_source(tmp_path):
    figures, _ = figures_of(["x", "y"], ["one two", "three"], tmp_path, ["a", " "])
    assert figures["val_loss"] == 2.0
    figures, _ = figures_of(["x"], ["one"], tmp_path, [""])
    assert math.isnan(figures["val_loss"])


@pytest.mark.parametrize(("warmup_steps", "cut"), [(60, 6), (400, 6), (59, 59), (0, 0)])
def test_a_warm_up_that_fills_the_run_is_cut(model, tmp_path, warmup_steps, cut):
    lines = []
    training = make_training(model, tmp_path, lines, warmup_steps=warmup_steps)
    rate = training.make_optimizer(30)._learning_rate  # 30 steps in each of two epochs
    assert rate.warmup_steps == cut and rate.decay_steps == 60 - cut
    note = f"warm-up is cut from {warmup_steps} to 6 steps, a tenth of the run's 60"
    assert lines == ([note] if cut == 6 else [])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epochs": 1.5}, "`epochs` must be an int of at least 1"),
        ({"batch_size": 0}, "`batch_size` must be an int of at least 1"),
        ({"learning_rate": -1}, "`learning_rate` must be a number of at least 0"),
        ({"learning_rate": math.nan}, "`learning_rate` must be a number"),
        ({"warmup_steps": -1}, "`warmup_steps` must be an int of at least 0"),
        ({"label_smoothing": 5}, "`label_smoothing` must be a number of at least 0 and below 1"),
        ({"weight_decay": -0.1}, "`weight_decay` must be a number of at least 0"),
        ({"clipnorm": 0}, "`clipnorm` must be a number above 0, got 0"),
        ({"ema_momentum": 1}, "`ema_momentum` must be a number of at least 0 and below 1"),
        ({"boundaries": (8, 4)}, "`boundaries` must be increasing positive ints"),
        ({"boundaries": ()}, "`boundaries` must be increasing positive ints"),
        ({"measure": "accuracy"}, "`measure` must be one of chrf, bleu, loss, got 'accuracy'"),
        ({"bleu_tokenizer": "13b"}, "`bleu_tokenizer` must be one of .*13a.*, got '13b'"),
        ({"seed": "one"}, "`seed` must be an int of at least 0"),
    ],
)
def test_wrong_options(model, tmp_path, changes, message):
    with pytest.raises(ValueError, match=message):
        make_training(model, tmp_path, **changes)


@pytest.mark.parametrize("validation", [([], []), (["a"], [])])
def test_validation_must_be_parallel(model, tmp_path, validation):
    with pytest.raises(ValueError, match="validation"):
        make_training(model, tmp_path / "new").run(TRAIN, validation)
    assert not (tmp_path / "new").exists()


def test_what_chooses_is_an_option_of_the_run(model, tmp_path):
    training = make_training(model, tmp_path, options={"epochs": 2})
    chosen = training.options_class().recorded()
    assert {"measure": "chrf", "bleu_tokenizer": "13a", "objective": "likelihood"}.items() <= (
        chosen.items()
    )
    assert training.options == {**chosen, "epochs": 2}
    training.state.begin({**chosen, "bleu_tokenizer": "char", "epochs": 3})
    training.state.save(model, {})
    with pytest.raises(ValueError, match="`bleu_tokenizer` was 'char', got '13a'; `epochs` was 3"):
        training.run(TRAIN, VALIDATION)
