import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.models import FeatureTextClassifier
from keras_seqzoo.serving import export
from tests.layer_checks import dtype_policy
from tests.serving.fresh_server import outputs_of
from tests.tiers import slow

POSITIVE, NEGATIVE = ["great", "fine"], ["dull", "weak"]
TEXTS = ["A great film", "fine, really fine!", "dull and weak", "No. I call it DULL"] * 3
LABELS = ["good", "good", "bad", "bad"] * 3


def make(**options):
    return FeatureTextClassifier(["bad", "good"], POSITIVE, NEGATIVE, **options)


def trained():
    keras.utils.set_random_seed(0)
    model = make()
    model.fit(tf.constant(TEXTS), model.label_array(LABELS), epochs=60, verbose=0)
    return model


@pytest.mark.slow
def test_weights_of_texts_may_be_a_list():
    weights, found = [1.0, 0.0, 2.0] * 4, []
    for own in (weights, np.array(weights)):
        keras.utils.set_random_seed(0)
        model = make()
        model.fit(TEXTS, LABELS, sample_weight=own, verbose=0, shuffle=False)
        loss, *_ = model.evaluate(TEXTS, LABELS, sample_weight=own, verbose=0)
        found.append([*model.scores.kernel.numpy().ravel(), loss])
    np.testing.assert_array_equal(*found)


def test_features_by_hand():
    texts = [
        "It's hokey. There are virtually no surprises, and the writing is dull. So why was it so "
        "enjoyable? For one thing, the cast is great. Another nice touch is the music. I was "
        "overcome with the urge to get off the couch and start dancing. It sucked me in, and it'll "
        "do the same to you.",
        "GREAT\nGreat!",
        "",
        "know nothing",
    ]
    found = make().features(tf.constant(texts)).numpy()
    length = len("".join(c if c.isalnum() or c.isspace() else f" {c} " for c in texts[0]).split())
    expected = [
        [1, 1, 1, 3, 0, np.log(length)],
        [2, 0, 0, 0, 1, np.log(3)],
        [0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, np.log(2)],
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.slow
def test_learns_from_strings(tmp_path):
    model = trained()
    assert model.accuracy(TEXTS, LABELS) == 1.0
    assert [row.labels for row in model.classify(TEXTS[:4])] == [[name] for name in LABELS[:4]]
    assert model.classify([]) == [] and len(model.classify([""])[0].labels) == 1
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    expected = model.predict_probabilities(TEXTS)
    np.testing.assert_allclose(loaded.predict_probabilities(TEXTS, 5), expected, atol=1e-6)
    loaded.fit(tf.constant(TEXTS), model.label_array(LABELS), verbose=0)


@pytest.mark.parametrize(
    "function", [list, slow(np.array), slow(lambda x: np.array(x, object)), slow(tf.constant)]
)
def test_takes_strings_of_all_kinds(function):
    model = make()
    model.compile(keras.optimizers.SGD(0.5), run_eagerly=True)
    texts, labels = tf.constant(TEXTS), model.label_array(LABELS)
    expected = model.evaluate(texts, labels, verbose=0)
    data = function(TEXTS), function(LABELS)
    np.testing.assert_allclose(model.evaluate(*data, verbose=0), expected)
    np.testing.assert_allclose(model.predict(data[0], verbose=0), model(texts), rtol=1e-6)
    history = model.fit(*data, verbose=0, validation_data=data, batch_size=12).history
    np.testing.assert_allclose(history["loss"][0], expected[0], rtol=1e-6)
    assert history["val_loss"][0] < expected[0]


@pytest.mark.slow
def test_class_weights_are_those_of_the_names():
    def loss(x, *y):
        keras.utils.set_random_seed(0)
        model = make()
        model.compile(keras.optimizers.SGD(0.0), metrics=[])
        history = model.fit(x, *y, class_weight={0: 0.5, 1: 3.0}, batch_size=12, verbose=0)
        return history.history["loss"]

    expected = loss(TEXTS, make().label_array(LABELS))
    np.testing.assert_allclose(loss(TEXTS, LABELS), expected, rtol=1e-6)
    dataset = tf.data.Dataset.from_tensor_slices((TEXTS, LABELS)).batch(12)
    np.testing.assert_allclose(loss(dataset), expected, rtol=1e-6)


@pytest.mark.slow
def test_takes_datasets_of_strings():
    model = make()
    texts, labels = tf.constant(TEXTS), model.label_array(LABELS)
    expected = model.evaluate(texts, labels, verbose=0)
    for own in (LABELS, labels):
        dataset = tf.data.Dataset.from_tensor_slices((TEXTS, own)).batch(5)
        np.testing.assert_allclose(model.evaluate(dataset, verbose=0), expected, rtol=1e-6)


@pytest.mark.slow
def test_export(tmp_path):
    model = trained()
    path = export(model, tmp_path)
    assert outputs_of(path, TEXTS[:4])["label"] == LABELS[:4]


def test_lexicons_are_found():
    model = FeatureTextClassifier.for_texts(TEXTS, LABELS, words=2, minimum_count=2)
    assert model.label_names == ["bad", "good"]
    assert model.positive[0] == "fine" and model.negative[0] == "dull"
    plain = make(hidden_units=0)
    assert len(plain.weights) == 2 and plain(tf.constant(TEXTS)).shape == (12, 2)


def test_no_word_is_in_both_lexicons():
    model = FeatureTextClassifier.for_texts(TEXTS, LABELS, minimum_count=1)
    assert {"fine", "great"} <= set(model.positive) and {"dull", "no"} <= set(model.negative)
    assert not set(model.positive) & set(model.negative)


def test_a_lexicon_may_be_empty():
    model = FeatureTextClassifier(["bad", "good"], ["great"], [])
    assert model.features(tf.constant(["great", "dull"])).numpy()[:, :2].tolist() == [
        [1, 0],
        [0, 0],
    ]
    rare = FeatureTextClassifier.for_texts(TEXTS[:4], LABELS[:4])  # no word comes ten times
    assert rare.positive == rare.negative == []
    assert len(rare.classify(TEXTS)) == 12


def test_mixed_precision():
    with dtype_policy("mixed_bfloat16"):
        model = make()
    assert model(tf.constant(TEXTS)).dtype == "float32"


def test_errors():
    with pytest.raises(ValueError, match="`labels` must be two or more different names"):
        FeatureTextClassifier(["a"], [], [])
    with pytest.raises(ValueError, match="`hidden_units` must be"):
        make(hidden_units=-1)
    with pytest.raises(ValueError, match="`labels` must have two names, got a"):
        FeatureTextClassifier.for_texts(["x"], ["a"])
    with pytest.raises(ValueError, match="`texts` and `labels` must have the same length"):
        FeatureTextClassifier.for_texts(["x", "y"], ["a"])
    with pytest.raises(ValueError, match="`texts` must be a list"):
        make().classify("great")
    for texts, labels in ((["great", "dull"], ["good"]), ([], [])):
        with pytest.raises(ValueError, match="`texts` and `labels` must have the same length"):
            make().accuracy(texts, labels)
    with pytest.raises(ValueError, match="`labels`, text 1: must have one label"):
        make().accuracy(["great"], [["good"]])
