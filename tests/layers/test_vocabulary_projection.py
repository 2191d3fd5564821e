import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.layers import VocabularyProjection
from tests.layer_checks import (
    assert_close,
    check_keras_saving,
    check_xla_equals_eager,
)

HIDDEN = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")


def test_equals_a_dense_layer():
    layer, dense = VocabularyProjection(5), keras.layers.Dense(5)
    layer(HIDDEN), dense(HIDDEN)
    layer.set_weights([np.ones((4, 5)), np.arange(5.0)])
    dense.set_weights(layer.get_weights())
    assert_close(layer(HIDDEN), dense(HIDDEN))


def test_the_matmul_is_in_half_precision_and_the_bias_is_not():
    layer = VocabularyProjection(5, dtype="mixed_bfloat16")
    assert layer(HIDDEN).dtype == layer(keras.Input((3, 4))).dtype == tf.float32
    bias = np.float32([0.001, 10.001, 20.001, 40.001, 80.001])
    layer.set_weights([np.float32(np.random.default_rng(1).normal(size=(4, 5))), bias])
    product = tf.matmul(
        tf.reshape(tf.cast(HIDDEN, tf.bfloat16), (-1, 4)), tf.cast(layer.kernel, tf.bfloat16)
    )
    expected = tf.reshape(tf.cast(product, tf.float32), (2, 3, 5)) + bias
    assert_close(layer(HIDDEN), expected)


def test_without_bias_and_with_an_activation():
    layer = VocabularyProjection(5, use_bias=False, activation="tanh")
    assert_close(layer(HIDDEN), np.tanh(HIDDEN @ layer.get_weights()[0]))


def test_general_checks():
    check_keras_saving(VocabularyProjection(5), HIDDEN)
    check_xla_equals_eager(VocabularyProjection(5), HIDDEN)


def test_low_rank_updates(tmp_path):
    hidden = np.random.default_rng(0).normal(size=(2, 3)).astype("float32")
    layer = VocabularyProjection(5, lora_rank=2)
    assert layer(hidden).shape == (2, 5) and layer.lora_enabled
    assert len(layer.trainable_weights) == 3  # two factors and the bias
    model = keras.Sequential([keras.Input((3,)), VocabularyProjection(5)])
    expected = model(hidden)
    model.layers[-1].enable_lora(2)
    model.save(tmp_path / "m.keras")
    assert_close(keras.models.load_model(tmp_path / "m.keras")(hidden), expected)
