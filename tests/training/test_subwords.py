"""Subword regularization in the training of translation."""

import keras
import keras_hub
import pytest
import tensorflow as tf

from keras_seqzoo.data import RaggedIds
from keras_seqzoo.training import TranslationTraining
from tests.made_up import parallel_text, tiny_model
from tests.tiers import mostly_slow
from tests.training.interrupts import Interrupt, assert_equal, state_of
from tests.training.test_translation import OPTIONS

TRAIN, VALIDATION = parallel_text(50), parallel_text(6, seed=1)
CASES = {
    "bpe": ({"vocabulary_size": 290}, {"subword_dropout": 0.3}),
    "unigram": ({"tokenizer": "unigram", "vocabulary_size": 285}, {"subword_alpha": 0.2}),
}


def make_training(folder, name="bpe", model=None, **changes):
    sizes, rate = CASES[name]
    model = model or tiny_model(dropout=0.3, **sizes)
    options = {**OPTIONS, "boundaries": (12, 24), **rate, **changes}
    return TranslationTraining(model, folder, report=lambda line: None, **options)


def texts_of(training, batches):
    """The texts that batches of ids spell, in order."""
    decode = training.model.preprocessor.tokenizer.detokenize
    return [text for inputs, _, _ in batches for text in decode(inputs["encoder_token_ids"])]


@pytest.mark.parametrize("name", mostly_slow(list(CASES), "bpe"))
def test_segmentations_are_drawn_anew_in_each_epoch(tmp_path, name):
    training = make_training(tmp_path, name)
    training.prepare(TRAIN, VALIDATION)
    first, same, other = (list(training.batches(epoch)) for epoch in (0, 0, 1))
    for batch, again in zip(first, same, strict=True):
        assert_equal(batch[0].values(), again[0].values())
    assert len(first) == len(other)
    assert sorted(texts_of(training, first)) == sorted(texts_of(training, other))
    assert_equal(
        *(
            [labels.numpy() for _, labels, _ in batches]
            for batches in (first[3:], training.batches(0, 3))
        )
    )
    tokens = [sum(int(weights.numpy().sum()) for *_, weights in part) for part in (first, other)]
    whole = training._pairs.tokens["target"] - training._pairs.rows
    assert tokens[0] != tokens[1] and min(tokens) > whole


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_resumed_run_equals_a_whole_one(tmp_path, name):
    def run(folder, *interrupts):
        keras.utils.set_random_seed(3)
        training = make_training(folder, name)
        callbacks = [Interrupt(*interrupts)]
        return training, training.run(TRAIN, VALIDATION, verbose=0, callbacks=callbacks)

    whole, finished = run(tmp_path / "whole")
    assert finished
    _, finished = run(tmp_path / "parts", 3)
    assert not finished
    parts, finished = run(tmp_path / "parts")
    assert finished
    assert_equal(state_of(whole), state_of(parts))
    assert [epoch["chrf"] for epoch in whole.state.history] == [
        epoch["chrf"] for epoch in parts.state.history
    ]


@pytest.mark.slow
def test_validation_and_translation_draw_nothing(tmp_path, monkeypatch):
    training = make_training(tmp_path)
    preprocessor = training.model.preprocessor
    texts = VALIDATION[0]
    before = preprocessor.encode_source(texts).to_list()

    def fail(*_, **__):
        raise AssertionError("drawn")

    for tokenizer in {preprocessor.tokenizer, preprocessor.encoder_tokenizer}:
        monkeypatch.setattr(tokenizer, "redraw", fail)
        monkeypatch.setattr(tokenizer, "sample", fail)
    training.prepare(TRAIN, VALIDATION)
    training.model.translate(texts)
    training.model.score(*VALIDATION)
    assert preprocessor.encode_source(texts).to_list() == before


@pytest.mark.slow
@pytest.mark.parametrize("as_dataset", [False, True])
def test_fit_on_strings_draws_in_training_alone(monkeypatch, as_dataset):
    model = tiny_model(vocabulary_size=290)
    model.preprocessor.tokenizer.dropout = 0.5
    model.preprocessor.sample_subwords = True
    given = {}

    def fit(self, x, *_, validation_data, shuffle):
        given.update(x=x, validation=validation_data)

    monkeypatch.setattr(keras_hub.models.Task, "fit", fit)
    data = dict(zip(("encoder_text", "decoder_text"), VALIDATION, strict=True))
    options = {"batch_size": 3}
    if as_dataset:
        data, options = tf.data.Dataset.from_tensor_slices(data).batch(3), {}
    validation = data if as_dataset else (data,)
    model.fit(data, validation_data=validation, shuffle=False, **options)
    passes = [[x["encoder_token_ids"].numpy() for x, *_ in given["x"]] for _ in range(2)]
    assert [len(ids) for ids in passes[0]] == [3, 3]
    assert any((one != other).any() for one, other in zip(*passes, strict=True))
    [[texts, *_], _] = [
        keras.utils.unpack_x_y_sample_weight(batch) for batch in given["validation"]
    ]
    assert texts["encoder_text"].shape == (3,)  # the model's own `fit` turns them into ids


def test_the_last_strings_validate_and_are_not_drawn(monkeypatch):
    model = tiny_model(vocabulary_size=290)
    model.preprocessor.tokenizer.dropout = 0.5
    model.preprocessor.sample_subwords = True
    given = {}
    monkeypatch.setattr(
        keras_hub.models.Task, "fit", lambda self, x, *_, **kwargs: given.update(kwargs, x=x)
    )
    sources, targets = VALIDATION
    model.fit({"encoder_text": sources, "decoder_text": targets}, validation_split=0.5)
    [(held_out,)] = [keras.utils.unpack_x_y_sample_weight(b)[:1] for b in given["validation_data"]]
    found = [text.decode() for text in held_out["encoder_text"].numpy()]
    assert found == sources[len(sources) // 2 :]
    [(ids, *_)] = given["x"]
    assert ids["encoder_token_ids"].shape[0] == len(sources) // 2


@pytest.mark.slow
def test_fit_on_strings_trains_on_what_is_drawn():
    data = dict(zip(("encoder_text", "decoder_text"), TRAIN, strict=True))
    weights = []
    for sample_subwords in (True, False):
        keras.utils.set_random_seed(3)
        model = tiny_model(vocabulary_size=290)
        model.preprocessor.tokenizer.dropout = 0.5
        model.preprocessor.sample_subwords = sample_subwords
        model.compile()
        options = {"batch_size": 25, "shuffle": False, "verbose": 0}
        history = model.fit(data, epochs=2, validation_data=(data,), **options).history
        assert history["val_loss"][-1] == pytest.approx(
            model.evaluate(data, batch_size=25, verbose=0), rel=1e-5
        )
        weights.append(model.get_weights())
    assert any((one != other).any() for one, other in zip(*weights, strict=True))


def test_drawn_strings_keep_their_weights(monkeypatch):
    model = tiny_model(vocabulary_size=290)
    model.preprocessor.sample_subwords = True
    given = {}
    monkeypatch.setattr(
        keras_hub.models.Task, "fit", lambda self, x, *_, **kwargs: given.update(x=x)
    )
    sources, targets = VALIDATION
    weights = [0.0, 1.0, 2.0, 0.5, 0.0, 3.0]
    texts = {"encoder_text": sources, "decoder_text": targets}
    model.fit(tf.data.Dataset.from_tensor_slices((texts, [0] * 6, weights)).batch(6))
    [(_, _, found)] = given["x"]
    assert found.numpy().max(-1).tolist() == weights


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("bpe", {"subword_alpha": 0.1, "subword_dropout": 0.0}, "`subword_alpha` must only be"),
        (
            "unigram",
            {"subword_dropout": 0.1},
            "`subword_dropout` must only be given with a BytePair",
        ),
        ("bpe", {"subword_dropout": 1.0}, "`subword_dropout` must be a number of at least 0 and"),
        ("bpe", {"subword_alpha": 0.0}, "`subword_alpha` must be a number above 0"),
    ],
)
def test_wrong_options(tmp_path, name, changes, message):
    with pytest.raises(ValueError, match=message):
        make_training(tmp_path, name, **changes)


def test_rows_of_a_batch_are_gathered():
    ids = RaggedIds.from_lengths([1, 2, 3, 4, 5, 6], [1, 0, 3, 2])
    found = ids.gather([2, 0, 2])
    assert found.values.tolist() == [2, 3, 4, 1, 2, 3, 4] and found.lengths.tolist() == [3, 1, 3]
