import functools

import keras
import numpy as np
import pytest

from keras_seqzoo.layers import ClassifierHead, SequencePooling
from keras_seqzoo.layers.classifier_head import POOLINGS
from tests.layer_checks import (
    assert_close,
    check_keras_saving,
    check_mixed_precision,
    check_padding_changes_nothing,
    check_saved_model_in_fresh_process,
    check_serialisation,
    check_xla_equals_eager,
)
from tests.tiers import slow

SEQUENCE = np.random.default_rng(1).normal(size=(4, 5, 6)).astype("float32")
MASK = np.array([[1, 1, 0, 0, 0], [0, 0, 1, 1, 1], [0, 1, 0, 1, 0], [0, 0, 0, 0, 0]], bool)


def test_numbers():
    head = ClassifierHead(3, pooling=["last", "mean"], hidden_units=7)
    scores = head(SEQUENCE, mask=MASK)
    pooled = [SequencePooling(mode)(SEQUENCE, mask=MASK).numpy() for mode in ("last", "mean")]
    kernel, bias, output, offset = (weight.numpy() for weight in head.trainable_weights)
    hidden = np.maximum(np.concatenate(pooled, axis=1) @ kernel + bias, 0.0)
    expected = hidden @ output + offset
    expected[3] = 0.0  # nothing to read: the prior
    assert_close(scores, expected)
    head.set_prior([1.0, -1.0, 0.5])
    assert head(SEQUENCE, mask=MASK)[3].numpy().tolist() == [1.0, -1.0, 0.5]
    assert len(head.trainable_weights) == 4


@pytest.mark.parametrize("pooling", [*map(slow, POOLINGS), ["last", "max", "mean"]], ids=str)
def test_general_checks(pooling):
    options = {"pooling": pooling, "k": 2, "hidden_units": 4, "dropout": 0.2}
    head = ClassifierHead(3, **options)
    check_padding_changes_nothing(lambda s, m: head(s, mask=m), SEQUENCE, MASK)
    check_serialisation(head, SEQUENCE, mask=MASK)
    check_xla_equals_eager(head, SEQUENCE, mask=MASK)
    check_mixed_precision(functools.partial(ClassifierHead, 3, **options), SEQUENCE, mask=MASK)
    check_keras_saving(head, SEQUENCE, mask=MASK)
    check_saved_model_in_fresh_process(head, SEQUENCE, mask=MASK)
    assert head(SEQUENCE, mask=MASK).dtype == "float32"


def test_dropout_is_for_training():
    keras.utils.set_random_seed(0)
    head = ClassifierHead(3, dropout=0.5)
    assert_close(head(SEQUENCE), head(SEQUENCE))
    assert not np.allclose(head(SEQUENCE, training=True), head(SEQUENCE))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_classes": 0}, "`num_classes` must be"),
        ({"pooling": "first"}, "`pooling` must be one of last"),
        ({"pooling": []}, "`pooling` must have at least one"),
        ({"k": 0}, "`k` must be"),
        ({"hidden_units": 0}, "`hidden_units` must be"),
        ({"dropout": 1.0}, "`dropout` must be"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        ClassifierHead(**{"num_classes": 2, **arguments})


def test_the_dtype_of_symbols():
    symbol = keras.Input((None, 4), dtype="bfloat16")
    assert ClassifierHead(3, dtype="mixed_bfloat16")(symbol).dtype == "float32"


def test_numbers_of_numpy():
    head = ClassifierHead(np.int64(3), hidden_units=np.int64(4))
    assert head(np.ones((2, 5, 3), "float32")).shape == (2, 3)
