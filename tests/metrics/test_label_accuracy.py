import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.metrics.label_accuracy import SentenceAccuracy, TokenAccuracy

TRUTH = np.array([[1, 2, 0], [3, 0, 0], [1, 1, 1], [0, 0, 0]])
FOUND = np.array([[1, 2, 3], [3, 0, 0], [1, 2, 1], [1, 1, 1]])
MASK = np.array([[True, True, False], [True, False, False], [True] * 3, [False] * 3])
SCORES = np.eye(4, dtype="float32")[FOUND]


def value(metric, *batch):
    metric.update_state(*batch)
    return float(metric.result())


@pytest.mark.parametrize("found", [FOUND, FOUND.astype("int64"), SCORES])
@pytest.mark.parametrize("mask", [MASK, MASK.astype("float32"), tf.constant(MASK)])
def test_value(found, mask):
    assert value(TokenAccuracy(), TRUTH, found, mask) == pytest.approx(5 / 6)
    assert value(SentenceAccuracy(), TRUTH, found, mask) == pytest.approx(2 / 3)


def test_value_without_a_mask():
    assert value(TokenAccuracy(), TRUTH, FOUND) == pytest.approx(7 / 12)
    assert value(SentenceAccuracy(), TRUTH, FOUND) == pytest.approx(1 / 4)


@pytest.mark.parametrize("kind", [TokenAccuracy, SentenceAccuracy])
def test_negative_labels_are_padding(kind):
    metric = kind()
    metric.update_state([[1, 2, -1], [2, -1, -1]], [[1, 2, 0], [2, 2, 2]])
    assert float(metric.result()) == 1.0


def test_weights():
    weights = np.where(MASK, [[1.0], [2.0], [4.0], [1.0]], 0.0)
    assert value(TokenAccuracy(), TRUTH, FOUND, weights) == pytest.approx(12 / 16)
    assert value(SentenceAccuracy(), TRUTH, FOUND, weights) == pytest.approx(2 / 3)
    for weights in (np.array([0.0, 2.0, 0.0, 1.0]), np.array([[0.0], [2.0], [0.0], [1.0]])):
        assert value(TokenAccuracy(), TRUTH, FOUND, weights) == pytest.approx(6 / 9)
        assert value(SentenceAccuracy(), TRUTH, FOUND, weights) == pytest.approx(1 / 2)


def test_mask_and_weights_together():
    found = tf.constant(SCORES)
    found._keras_mask = tf.constant(MASK)
    assert value(TokenAccuracy(), TRUTH, found) == pytest.approx(5 / 6)
    assert value(TokenAccuracy(), TRUTH, found, np.array([1, 0, 1, 1])) == pytest.approx(4 / 5)


@pytest.mark.parametrize("kind", [TokenAccuracy, SentenceAccuracy])
def test_results_do_not_depend_on_batches(kind):
    metric = kind()
    assert float(metric.result()) == 0.0
    for row in range(len(TRUTH)):
        metric.update_state(TRUTH[row : row + 1], FOUND[row : row + 1], MASK[row : row + 1])
    assert float(metric.result()) == value(kind(), TRUTH, FOUND, MASK)
    metric.reset_state()
    assert float(metric.result()) == 0.0


@pytest.mark.parametrize("kind", [TokenAccuracy, SentenceAccuracy])
def test_in_graph(kind):
    metric = kind()
    update = tf.function(metric.update_state, jit_compile=True)
    update(tf.constant(TRUTH), tf.constant(SCORES), tf.constant(MASK))
    assert float(metric.result()) == value(kind(), TRUTH, FOUND, MASK)


@pytest.mark.slow
def test_in_fit_with_a_mask():
    model = keras.Sequential([keras.layers.Embedding(5, 4, mask_zero=True), keras.layers.Dense(5)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, metrics=[TokenAccuracy(), SentenceAccuracy()])
    ids = np.array([[1, 2, 0], [3, 0, 0], [4, 3, 2]])
    model.fit(ids, ids, verbose=0)
    scores = model.evaluate(ids, ids, return_dict=True, verbose=0)
    hits = model.predict(ids, verbose=0).argmax(-1) == ids
    assert scores["token_accuracy"] == pytest.approx(hits[ids > 0].mean())
    assert scores["sentence_accuracy"] == pytest.approx((hits | (ids == 0)).all(-1).mean())


@pytest.mark.parametrize(
    "truth, found",
    [(TRUTH, FOUND[0]), (TRUTH, SCORES[None]), (TRUTH[..., None], SCORES), (TRUTH[:, :1], FOUND)],
)
def test_shapes_that_do_not_fit(truth, found):
    with pytest.raises(ValueError, match=r"`y_true` must have the shape \(batch, time\).*got \("):
        TokenAccuracy().update_state(truth, found)


@pytest.mark.parametrize("kind", [TokenAccuracy, SentenceAccuracy])
def test_serialisation(kind):
    metric = kind(name="own")
    other = keras.metrics.deserialize(keras.metrics.serialize(metric))
    assert type(other) is kind and other.get_config() == metric.get_config()
