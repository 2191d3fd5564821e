import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from keras_seqzoo.losses import SequenceCrossentropy
from tests.layer_checks import assert_close, check_padding_changes_nothing
from tests.properties import examples
from tests.tiers import slow

IDS = np.array([[3, 1, 0], [4, 4, 2]], "int32")
LOGITS = 3.0 * np.random.default_rng(0).normal(size=(2, 3, 5)).astype("float32")
MASK = np.array([[1, 1, 0], [1, 0, 0]], bool)


def numpy_losses(ids, logits, smoothing):
    """Compute the cross-entropy with one-hot targets, by definition."""
    probabilities = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    targets = (1 - smoothing) * np.eye(5)[ids] + smoothing / 5
    return -(targets * np.log(probabilities)).sum(-1), probabilities - targets


@pytest.mark.parametrize("smoothing", [0.0, 0.1, slow(0.5)])
def test_numbers_and_gradients(smoothing):
    loss = SequenceCrossentropy(smoothing)
    losses, gradients = numpy_losses(IDS, LOGITS, smoothing)
    logits = tf.constant(LOGITS)
    for compiled in (False, True):

        @tf.function(jit_compile=compiled, autograph=False)
        def run():
            with tf.GradientTape() as tape:
                tape.watch(logits)
                value = loss(IDS, logits, sample_weight=MASK)
            return value, tape.gradient(value, logits)

        expected = losses[MASK].mean(), gradients * MASK[..., None] / MASK.sum()
        assert_close(run(), expected)
    assert_close(loss(IDS, LOGITS), losses.mean())
    assert_close(loss(IDS[..., None], LOGITS), losses.mean())
    assert_close(loss(IDS[0, 0], LOGITS[0, 0]), losses[0, 0])
    assert_close(SequenceCrossentropy(smoothing, reduction=None)(IDS, LOGITS), losses)


@examples(15)
@given(mask=arrays(bool, (2, 3)), smoothing=st.sampled_from([0.0, 0.2]))
def test_padding_changes_nothing(mask, smoothing):
    loss = SequenceCrossentropy(smoothing)
    check_padding_changes_nothing(lambda z, m: loss(IDS, z, sample_weight=m), LOGITS, mask)
    assert np.isfinite(loss(IDS, LOGITS, sample_weight=mask))


def test_nothing_valid_costs_nothing():
    assert float(SequenceCrossentropy(0.1)(IDS, LOGITS, sample_weight=np.zeros((2, 3)))) == 0.0


def test_keras_mask_of_the_logits_is_used():
    logits = tf.constant(LOGITS)
    logits._keras_mask = tf.constant(MASK)
    loss = SequenceCrossentropy()
    assert_close(loss(IDS, logits), loss(IDS, LOGITS, sample_weight=MASK))


def test_large_logits_and_half_precision():
    loss = SequenceCrossentropy(0.1)
    assert_close(loss(IDS, LOGITS + 1e4), loss(IDS, LOGITS), atol=1e-2)
    halved = loss(IDS, tf.cast(LOGITS, tf.bfloat16))
    assert halved.dtype == tf.float32
    assert_close(halved, loss(IDS, LOGITS), atol=5e-2)


def test_in_fit_and_in_a_file(tmp_path):
    model = keras.Sequential([keras.Input((None,), dtype="int32"), keras.layers.Embedding(5, 5)])
    model.compile("sgd", SequenceCrossentropy(0.1))
    expected = SequenceCrossentropy(0.1)(IDS, model(IDS), sample_weight=MASK)
    weights = MASK.astype("float32")
    assert_close(model.evaluate(IDS, IDS, sample_weight=weights, verbose=0), expected)
    model.fit(IDS, IDS, sample_weight=weights, verbose=0)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras").loss
    assert isinstance(loaded, SequenceCrossentropy)
    assert loaded.get_config() == model.loss.get_config()
    assert loaded.get_config()["label_smoothing"] == 0.1


def test_errors_name_the_argument():
    with pytest.raises(ValueError, match="`label_smoothing`.*1.0"):
        SequenceCrossentropy(1.0)
    with pytest.raises(ValueError, match="`y_true`"):
        SequenceCrossentropy()(IDS[:, :2], LOGITS)
