import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.metrics import Perplexity
from tests.seeds import random_generator

RANDOM = random_generator(0)
LOGITS = RANDOM.normal(size=(2, 3, 5)).astype("float32")
IDS = RANDOM.integers(5, size=(2, 3))
MASK = np.array([[True, True, False], [True, False, False]])


def expected(mask=None):
    probabilities = np.exp(LOGITS) / np.exp(LOGITS).sum(-1, keepdims=True)
    own = np.log(np.take_along_axis(probabilities, IDS[..., None], -1)[..., 0])
    return np.exp(-own[np.ones_like(IDS, bool) if mask is None else mask].mean())


@pytest.mark.parametrize("mask", [None, MASK, MASK.astype("float32")])
def test_value(mask):
    metric = Perplexity()
    metric.update_state(IDS, LOGITS, mask)
    truth = expected(None if mask is None else MASK)
    assert float(metric.result()) == pytest.approx(truth, rel=1e-5)
    metric = Perplexity(from_logits=False)
    metric.update_state(IDS[..., None], keras.ops.softmax(LOGITS), mask)
    assert float(metric.result()) == pytest.approx(truth, rel=1e-5)


@pytest.mark.parametrize("weights", [[1.0, 0.0, 2.0], [True, False, True]])
def test_weights_of_rows(weights):
    ids, logits = np.repeat(IDS, 3, 1)[:, :3].repeat(2, 0)[:3], LOGITS.repeat(2, 0)[:3]
    rows, tokens = Perplexity(), Perplexity()
    rows.update_state(ids, logits, weights)  # as many rows as steps
    tokens.update_state(ids, logits, np.repeat(np.array(weights)[:, None], 3, 1))
    assert float(rows.result()) == pytest.approx(float(tokens.result()), rel=1e-6)


def test_results_do_not_depend_on_batches():
    metric = Perplexity()
    for row in range(2):
        metric.update_state(IDS[row], LOGITS[row], MASK[row])
    assert float(metric.result()) == pytest.approx(expected(MASK), rel=1e-5)
    metric.reset_state()
    assert float(metric.result()) == 1.0


def test_padding_may_hold_anything():
    metric = Perplexity()
    logits = np.where(MASK[..., None], LOGITS, -np.inf)
    metric.update_state(IDS, logits, MASK)
    assert float(metric.result()) == pytest.approx(expected(MASK), rel=1e-5)


def test_in_fit_with_a_mask():
    model = keras.Sequential([keras.layers.Embedding(5, 4, mask_zero=True), keras.layers.Dense(5)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("sgd", loss, weighted_metrics=[Perplexity()])
    ids = np.array([[1, 2, 0], [3, 0, 0]])
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(ids, model(ids)).numpy()
    for rows in (None, np.array([[0.5], [2.0]])):  # Keras' losses with a mask need two dimensions
        options = {"sample_weight": rows, "return_dict": True, "verbose": 0}
        found = model.evaluate(ids, ids, **options)["perplexity"]
        weights = (ids > 0) * (1.0 if rows is None else rows)
        assert found == pytest.approx(np.exp((weights * losses).sum() / weights.sum()), rel=1e-4)


def test_serialisation():
    metric = Perplexity(from_logits=False, name="own")
    other = keras.metrics.deserialize(keras.metrics.serialize(metric))
    assert type(other) is Perplexity and other.get_config() == metric.get_config()
