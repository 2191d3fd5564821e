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


def test_numbers_are_those_of_a_dense_layer():
    layer, dense = VocabularyProjection(5), keras.layers.Dense(5)
    layer(HIDDEN), dense(HIDDEN)
    layer.set_weights([np.ones((4, 5)), np.arange(5.0)])
    dense.set_weights(layer.get_weights())
    assert_close(layer(HIDDEN), dense(HIDDEN))


def test_logits_are_float32_and_the_matmul_is_not():
    layer = VocabularyProjection(5, dtype="mixed_bfloat16")
    logits = layer(HIDDEN)
    assert logits.dtype == tf.float32
    assert layer(keras.Input((3, 4))).dtype == "float32"
    # rounded to bfloat16 on the way
    assert np.array_equal(logits, tf.cast(tf.cast(logits, tf.bfloat16), tf.float32))


def test_general_checks():
    check_keras_saving(VocabularyProjection(5), HIDDEN)
    check_xla_equals_eager(VocabularyProjection(5), HIDDEN)
