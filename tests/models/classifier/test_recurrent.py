import keras
import keras_hub
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.layers.classifier_head import POOLINGS
from keras_seqzoo.models import (
    RecurrentBackbone,
    RecurrentLanguageModel,
    RecurrentLanguageModelPreprocessor,
    RecurrentTextClassifier,
    RecurrentTextClassifierPreprocessor,
)
from keras_seqzoo.models.common.task import SequenceTask
from keras_seqzoo.tokenizers import WordTokenizer
from keras_seqzoo.zoo import save_preset
from tests.layer_checks import dtype_policy
from tests.seeds import made_once

# The label is the first word's, however long the text.
GOOD = ["good film", "good but long long long film", "good the film the film was long and long"]
BAD = ["bad film", "bad but long long long film", "bad the film the film was long and long"]
TEXTS, LABELS = GOOD + BAD, ["yes"] * 3 + ["no"] * 3
NAMES = ["no", "yes"]


def make(labels=NAMES, length=10, backbone=None, **options):
    tokenizer = WordTokenizer.train(TEXTS)
    backbone = {"embedding_dim": 4, "units": 6, **(backbone or {})}
    return RecurrentTextClassifier(
        RecurrentBackbone(tokenizer.vocabulary_size(), **backbone),
        preprocessor=RecurrentTextClassifierPreprocessor(tokenizer, length, labels=labels),
        **options,
    )


@made_once
def trained():
    keras.utils.set_random_seed(0)
    model = make(backbone={"cell": "gru", "bidirectional": True}, pooling="ends")
    model.compile(keras.optimizers.Adam(0.03))
    model.fit(TEXTS * 60, LABELS * 60, batch_size=8, verbose=0)
    return model


@pytest.mark.slow
def test_learns_from_strings():
    model = trained()
    found = model.classify(TEXTS)
    assert [row.labels for row in found] == [[label] for label in LABELS]
    assert found[0].probabilities["yes"] > 0.9
    probabilities = model.predict_probabilities(TEXTS)
    np.testing.assert_allclose(probabilities.sum(1), 1.0, rtol=1e-5)
    logits = model.predict(TEXTS, verbose=0)
    np.testing.assert_allclose(probabilities, tf.nn.softmax(logits), atol=1e-5)
    assert model.evaluate(TEXTS, LABELS, verbose=0, return_dict=True)["accuracy"] == 1.0


@pytest.mark.slow
def test_batches_and_lengths_change_nothing():
    model = trained()
    alone = [model.predict_probabilities([text])[0] for text in TEXTS]
    np.testing.assert_allclose(model.predict_probabilities(TEXTS, batch_size=4), alone, atol=1e-6)


def test_empty_texts_are_classified_by_the_prior():
    model = make()
    model.set_prior([0.2, 0.8])
    np.testing.assert_allclose(model.predict_probabilities(["", "  ", "film"])[:2, 1], 0.8)
    assert model.classify([""])[0].labels == ["yes"]
    assert model.classify([]) == []
    with pytest.raises(ValueError, match="`probabilities` must be 2 numbers above 0"):
        model.set_prior([0.0, 1.0])


@pytest.mark.slow
def test_class_weights_and_integers():
    model = make(labels=None, num_classes=2)
    labels = np.array([1] * 3 + [0] * 3)
    plain = model.evaluate(TEXTS[:3], labels[:3], verbose=0)
    model.compile(keras.optimizers.SGD(0.0), metrics=[])
    history = model.fit(TEXTS, labels, class_weight={0: 0.0, 1: 2.0}, batch_size=6, verbose=0)
    np.testing.assert_allclose(history.history["loss"], plain[0], rtol=1e-4)
    assert model.classify(TEXTS[:1])[0].labels[0] in ("0", "1")


@pytest.mark.slow
def test_many_labels():
    keras.utils.set_random_seed(0)
    model = make(multi_label=True, labels=["good", "long"], pooling="max")
    labels = np.array([[("good" in text), ("long" in text)] for text in TEXTS], "float32")
    model.compile(keras.optimizers.Adam(0.05))
    model.fit(TEXTS * 60, np.tile(labels, (60, 1)), batch_size=8, verbose=0)
    found = model.classify(TEXTS)
    expected = [
        [name for name, has in zip(["good", "long"], row, strict=True) if has] for row in labels
    ]
    assert [row.labels for row in found] == expected
    model.set_prior([0.3, 0.9])
    np.testing.assert_allclose(model.predict_probabilities([""])[0], [0.3, 0.9], rtol=1e-5)


@pytest.mark.slow
def test_many_labels_by_name():
    model = make(multi_label=True)
    model.compile(keras.optimizers.SGD(0.0), run_eagerly=True)
    good, bad = sorted(NAMES, reverse=True)
    names = [[good, bad], [good], [bad], [], [bad, good], [good]][: len(TEXTS)]
    expected = model.evaluate(TEXTS, model.label_array(names), verbose=0)
    for labels in (names, tuple(map(tuple, names)), model.label_array(names).astype(int)):
        np.testing.assert_allclose(model.evaluate(TEXTS, labels, verbose=0), expected, rtol=1e-6)
        found = model.fit(TEXTS, labels, validation_data=(TEXTS, labels), verbose=0).history
        np.testing.assert_allclose(found["val_loss"][0], expected[0], rtol=1e-6)
    both = np.array([[good, bad]] * len(TEXTS))  # as many as there are labels
    expected = model.evaluate(TEXTS, np.ones(both.shape), verbose=0)
    np.testing.assert_allclose(model.evaluate(TEXTS, both, verbose=0), expected, rtol=1e-6)
    dataset = tf.data.Dataset.from_tensor_slices((TEXTS, both)).batch(3)
    with pytest.raises(ValueError, match="^`y` must be lists of names or 0 and 1 .* got strings"):
        model.evaluate(dataset, verbose=0)


@pytest.mark.slow
@pytest.mark.parametrize("pooling", [*POOLINGS, ["last", "max", "mean"]], ids=str)
def test_presets(pooling, tmp_path):
    model = make(pooling=pooling, hidden_units=5, dropout=0.1, k=2)
    model.set_prior([0.3, 0.7])
    texts = [*TEXTS, ""]
    expected = model.predict_probabilities(texts)
    save_preset(model, tmp_path / "new", dtype="float32")
    for cls in (RecurrentTextClassifier, keras_hub.models.TextClassifier):
        loaded = cls.from_preset(str(tmp_path / "new"))
        assert type(loaded) is RecurrentTextClassifier
        assert loaded.get_config()["pooling"] == model.pooling
        assert loaded.preprocessor.labels == NAMES
        np.testing.assert_allclose(loaded.predict_probabilities(texts), expected, atol=1e-6)


@pytest.mark.slow
def test_mixed_precision():
    with dtype_policy("mixed_bfloat16"):
        model = make()
    inputs = model.preprocessor(TEXTS)
    assert model.backbone(inputs).dtype == "bfloat16" and model(inputs).dtype == "float32"
    assert np.isfinite(model.fit(TEXTS, LABELS, verbose=0).history["loss"]).all()


@pytest.mark.slow
@pytest.mark.usefixtures("garbage_stays")
def test_quantized_weights_are_used():
    model = make(backbone={"units": 32}, hidden_units=32)
    before = model.predict_probabilities(TEXTS)
    model.quantize("int8")
    after = model.predict_probabilities(TEXTS)
    inputs, _ = model.text_inputs(tf.constant(TEXTS), max_length=100)
    expected = model.probabilities(inputs)
    np.testing.assert_allclose(after, expected, atol=1e-5)
    assert not np.array_equal(before, after)


@pytest.mark.slow
def test_keras_file(tmp_path):
    model = trained()
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(
        loaded.predict_probabilities(TEXTS), model.predict_probabilities(TEXTS), atol=1e-6
    )
    loaded.fit(TEXTS, LABELS, verbose=0)


def test_begins_with_a_language_model(tmp_path):
    tokenizer = WordTokenizer.train(TEXTS)
    language_model = RecurrentLanguageModel(
        RecurrentBackbone(tokenizer.vocabulary_size(), embedding_dim=4, units=6),
        RecurrentLanguageModelPreprocessor(tokenizer, sequence_length=9),
    )
    save_preset(language_model, tmp_path / "lm", dtype="float32")
    model = RecurrentTextClassifier.from_preset(str(tmp_path / "lm"), num_classes=3)
    ids = np.array([[5, 6, 7]], "int32")
    inputs = {"token_ids": ids, "padding_mask": ids > 0}
    np.testing.assert_allclose(model.backbone(inputs), language_model.backbone(inputs), atol=1e-6)
    assert model.predict_probabilities(TEXTS).shape == (6, 3)
    assert model.preprocessor.tokenizer.get_vocabulary() == tokenizer.get_vocabulary()
    shared = RecurrentTextClassifier(language_model.backbone, num_classes=2)
    assert shared.backbone is language_model.backbone


def test_preprocessor():
    tokenizer = WordTokenizer.train(TEXTS)
    right = RecurrentTextClassifierPreprocessor(tokenizer, 3, labels=NAMES)
    left = RecurrentTextClassifierPreprocessor(tokenizer, 3, "left")
    words = tokenizer(TEXTS[1]).numpy().tolist()
    assert right(TEXTS[1:2])["token_ids"].numpy().tolist() == [words[:3]]
    assert left(TEXTS[1:2])["token_ids"].numpy().tolist() == [words[-3:]]
    free = RecurrentTextClassifierPreprocessor(tokenizer, None)
    inputs = free(TEXTS[:2])
    assert inputs["token_ids"].shape == inputs["padding_mask"].shape == (2, 6)
    assert inputs["padding_mask"].numpy().sum(1).tolist() == [2, 6]
    x, y, weight = right(TEXTS[:2], ["no", "yes"], [1.0, 2.0])
    assert y.numpy().tolist() == [0, 1] and weight == [1.0, 2.0]
    again = RecurrentTextClassifierPreprocessor.from_config(right.get_config())
    assert again.labels == NAMES and again.sequence_length == 3


@pytest.mark.slow
@pytest.mark.parametrize("labels", [["yes", "maybe"], [1, 2], [0, -1]])
def test_a_label_outside_the_set(labels):
    with pytest.raises(tf.errors.InvalidArgumentError, match="`y` must be among no, yes"):
        make().preprocessor(TEXTS[:2], labels)
    with pytest.raises(tf.errors.InvalidArgumentError, match="`y` must be among no, yes"):
        make().fit(TEXTS[:2], np.array(labels), verbose=0)


def test_one_string_is_no_batch():
    with pytest.raises(ValueError, match="`x` must be a list or a tensor"):
        make().preprocessor("the cat")


def test_errors():
    with pytest.raises(ValueError, match="`num_classes` must be an int if no preprocessor"):
        make(labels=None)
    with pytest.raises(ValueError, match="`num_classes` must be the number of the preprocessor's"):
        make(num_classes=3)
    with pytest.raises(ValueError, match="`pooling` must be one of last"):
        make(pooling="first")
    with pytest.raises(ValueError, match="`labels` must be different names"):
        make(labels=["a", "a"])
    with pytest.raises(ValueError, match="`tokenizer` must have no"):
        RecurrentTextClassifierPreprocessor(WordTokenizer(["a"], add_bos=True))
    with pytest.raises(ValueError, match="`truncation_side` must be"):
        RecurrentTextClassifierPreprocessor(WordTokenizer(["a"]), truncation_side="up")
    model = make()
    with pytest.raises(ValueError, match="`texts` must be a list"):
        model.classify("film")
    model.preprocessor = None
    with pytest.raises(ValueError, match="`preprocessor` must not be None"):
        model.classify(TEXTS)


def test_lists_of_names_are_targets_of_many_labels():
    model = make(multi_label=True)
    labels = [["yes", "no"], [], ["yes"]]
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SequenceTask, "fit", lambda self, x, y, **kwargs: seen.extend((y, kwargs)))
        model.fit(TEXTS[:3], labels, validation_data=(TEXTS[:3], labels))
    expected = [[1, 1], [0, 0], [0, 1]]
    np.testing.assert_array_equal(seen[0], expected)
    np.testing.assert_array_equal(seen[1]["validation_data"][1], expected)
    with pytest.raises(ValueError, match="validation_data.* a label must be among .*, got 'yea'"):
        model.fit(TEXTS[:3], labels, validation_data=(TEXTS[:3], [["yea"], [], []]))
