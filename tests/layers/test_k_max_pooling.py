import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from keras_seqzoo.layers import KMaxPooling
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


def numpy_pooling(k, steps):
    pooled = np.zeros((k, steps.shape[1]))
    for feature in range(steps.shape[1]):
        places = np.sort(np.argsort(-steps[:, feature], kind="stable")[:k])
        pooled[: len(places), feature] = steps[places, feature]
    return pooled


@examples(25)
@given(
    sequence=arrays("float32", (4, 5, 3), elements=st.integers(-2, 2)),
    mask=arrays(bool, (4, 5)),
    k=st.integers(1, 7),
)
def test_numbers_under_any_mask(sequence, mask, k):
    expected = [numpy_pooling(k, row[valid]) for row, valid in zip(sequence, mask, strict=True)]
    assert_close(KMaxPooling(k)(sequence, mask=mask), np.stack(expected))


def test_general_checks():
    layer = KMaxPooling(2)
    check_padding_changes_nothing(lambda s, m: layer(s, mask=m), SEQUENCE, MASK)
    check_serialisation(layer, SEQUENCE, mask=MASK)
    check_xla_equals_eager(layer, SEQUENCE, mask=MASK)
    check_mixed_precision(functools.partial(KMaxPooling, 2), SEQUENCE, mask=MASK)
    check_keras_saving(layer, SEQUENCE, mask=MASK)
    check_saved_model_in_fresh_process(layer, SEQUENCE, mask=MASK)


def test_errors():
    with pytest.raises(ValueError, match="`k` must be an int of at least 1"):
        KMaxPooling(0)
    with pytest.raises(ValueError, match="`sequence` must have the shape"):
        KMaxPooling(1)(SEQUENCE[0])
