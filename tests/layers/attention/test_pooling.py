import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis.extra.numpy import arrays

from keras_seqzoo.layers import AttentionPooling
from tests.layer_checks import (
    assert_close,
    check_keras_saving,
    check_mixed_precision,
    check_padding_changes_nothing,
    check_saved_model_in_fresh_process,
    check_serialisation,
    check_xla_equals_eager,
)
from tests.properties import examples

SEQUENCE = np.random.default_rng(1).normal(size=(4, 5, 3)).astype("float32")
MASK = np.array([[1, 1, 0, 0, 0], [0, 0, 1, 1, 1], [0, 1, 0, 1, 0], [0, 0, 0, 0, 0]], bool)


def numpy_weights(layer, steps):
    kernel, bias, vector = (
        layer.hidden.kernel.numpy(),
        layer.hidden.bias.numpy(),
        layer.vector.numpy()[:, 0],
    )
    scores = np.exp(np.tanh(steps @ kernel + bias) @ vector)
    return scores / scores.sum()


@examples(15)
@given(mask=arrays(bool, (4, 5)))
def test_numbers_under_any_mask(mask):
    layer = AttentionPooling(6)
    pooled, weights = layer(SEQUENCE, mask=mask, return_weights=True)
    for row in range(4):
        expected = np.zeros(5)
        if mask[row].any():
            expected[mask[row]] = numpy_weights(layer, SEQUENCE[row][mask[row]])
        assert_close(weights[row], expected)
        assert_close(pooled[row], expected @ SEQUENCE[row])
    check_padding_changes_nothing(lambda s, m: layer(s, mask=m), SEQUENCE, mask)


def test_general_checks():
    layer = AttentionPooling()
    check_serialisation(layer, SEQUENCE, mask=MASK)
    check_xla_equals_eager(layer, SEQUENCE, mask=MASK)
    check_mixed_precision(AttentionPooling, SEQUENCE, mask=MASK)
    check_keras_saving(layer, SEQUENCE, mask=MASK)
    check_saved_model_in_fresh_process(layer, SEQUENCE, mask=MASK)


def test_padding_may_be_no_number():
    layer = AttentionPooling()
    expected = layer(SEQUENCE, mask=MASK)
    with tf.GradientTape() as tape:
        found = layer(np.where(MASK[:, :, None], SEQUENCE, np.nan), mask=MASK)
    assert_close(found, expected)
    for gradient in tape.gradient(found, layer.trainable_variables):
        assert np.isfinite(gradient).all()


def test_keras_mask_of_the_sequence_is_used():
    pooling = AttentionPooling()
    embedding = keras.layers.Embedding(9, 3, mask_zero=True)
    model = keras.Sequential([embedding, pooling])
    assert_close(model(np.array([[4, 0], [0, 7]])), embedding(np.array([4, 7])))


def test_errors():
    with pytest.raises(ValueError, match="`units` must be an int of at least 1"):
        AttentionPooling(0)
    with pytest.raises(ValueError, match="`sequence` must have the shape"):
        AttentionPooling()(SEQUENCE[0])
    with pytest.raises(ValueError, match="`mask` must have the shape"):
        AttentionPooling()(SEQUENCE, mask=MASK[:, :4])
