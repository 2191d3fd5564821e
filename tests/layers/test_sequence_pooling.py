import functools

import keras
import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays

from keras_seqzoo.layers import LSTM, Bidirectional
from keras_seqzoo.layers.sequence_pooling import SequencePooling
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

SEQUENCE = np.random.default_rng(1).normal(size=(4, 5, 4)).astype("float32")
MASK = np.array([[1, 1, 0, 0, 0], [0, 0, 1, 1, 1], [0, 1, 0, 1, 0], [0, 0, 0, 0, 0]], bool)
NUMPY = {
    "last": lambda steps: steps[-1],
    "ends": lambda steps: np.concatenate([steps[-1, :2], steps[0, 2:]]),
    "mean": lambda steps: steps.mean(0),
    "max": lambda steps: steps.max(0),
}
every_mode = pytest.mark.parametrize("mode", NUMPY)


def numpy_pooling(mode, sequence, mask):
    rows = [row[valid] for row, valid in zip(sequence, mask, strict=True)]
    return np.stack([NUMPY[mode](row) if len(row) else np.zeros(4) for row in rows])


@pytest.mark.hypothesis
@every_mode
def test_numbers_under_any_mask(mode):
    layer = SequencePooling(mode)

    @examples(15)
    @given(mask=arrays(bool, (4, 5)))
    def check(mask):
        assert_close(layer(SEQUENCE, mask=mask), numpy_pooling(mode, SEQUENCE, mask))
        check_padding_changes_nothing(lambda s, m: layer(s, mask=m), SEQUENCE, mask)

    check()


@every_mode
def test_general_checks(mode):
    layer = SequencePooling(mode)
    assert_close(layer(SEQUENCE), numpy_pooling(mode, SEQUENCE, np.ones((4, 5), bool)))
    check_serialisation(layer, SEQUENCE, mask=MASK)
    check_xla_equals_eager(layer, SEQUENCE, mask=MASK)
    check_mixed_precision(functools.partial(SequencePooling, mode), SEQUENCE, mask=MASK)
    check_keras_saving(layer, SEQUENCE, mask=MASK)
    check_saved_model_in_fresh_process(layer, SEQUENCE, mask=MASK)


@every_mode
def test_no_steps_give_zeros(mode):
    layer = SequencePooling(mode)
    assert_close(layer(SEQUENCE[:, :0]), np.zeros((4, 4)))
    steps = keras.Input((None, 4))
    assert_close(
        keras.Model(steps, layer(steps)).predict(SEQUENCE[:, :0], verbose=0), np.zeros((4, 4))
    )


@every_mode
def test_padding_may_be_nan(mode):
    filled = np.where(MASK[:, :, None], SEQUENCE, np.nan)
    assert_close(SequencePooling(mode)(filled, mask=MASK), numpy_pooling(mode, SEQUENCE, MASK))


def test_keras_mask_of_the_sequence_is_used():
    embedding = keras.layers.Embedding(9, 3, mask_zero=True)
    model = keras.Sequential([embedding, SequencePooling("last")])
    ids = np.array([[4, 5, 0], [0, 7, 0]])
    expected = embedding(np.array([5, 7]))
    assert_close(model(ids), expected)


@pytest.mark.parametrize("mask", [[[1, 1, 1, 0]], [[0, 0, 1, 1]], None])
def test_ends_are_the_last_states_of_both_directions(mask):
    both = Bidirectional(LSTM(3, return_sequences=True, return_state=True))
    mask = None if mask is None else np.array(mask, bool)
    outputs, forward, _, backward, _ = both(SEQUENCE[:1, :4], mask=mask)
    expected = np.concatenate([forward, backward], axis=1)
    assert_close(SequencePooling("ends")(outputs, mask=mask), expected)


def test_errors_name_the_argument():
    with pytest.raises(ValueError, match="`sequence` must have an even number"):
        SequencePooling("ends")(SEQUENCE[..., :3])
    with pytest.raises(ValueError, match="`mode`.*'median'"):
        SequencePooling("median")
    with pytest.raises(ValueError, match="got 'attention', which is the layer `AttentionPooling`"):
        SequencePooling("attention")
    with pytest.raises(ValueError, match="`mask`.*`sequence`"):
        SequencePooling()(SEQUENCE, mask=MASK[:, :4])
    with pytest.raises(ValueError, match="`sequence`"):
        SequencePooling()(SEQUENCE[0])
