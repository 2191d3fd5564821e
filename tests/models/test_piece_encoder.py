import functools

import keras
import numpy as np
import pytest

from keras_seqzoo.models.piece_encoder import KINDS, PieceEncoder
from tests.layer_checks import (
    assert_close,
    check_keras_saving,
    check_mixed_precision,
    check_saved_model_in_fresh_process,
    check_serialisation,
    check_xla_equals_eager,
)
from tests.layers.reference import lstm_step

# The words of a sentence by their pieces; 0 is padding, and one word has nothing else.
PIECES = np.array(
    [[[3, 1, 2, 0], [4, 0, 0, 0], [0, 0, 0, 0]], [[1, 1, 1, 1], [2, 3, 0, 0], [5, 0, 0, 0]]]
)
PIECES = PIECES.astype("int32")


def make(kind, **options):
    keras.utils.set_random_seed(0)
    return PieceEncoder(6, embedding_dim=3, units=4, kind=kind, **options)


def by_lstm(pieces, table, *weights):
    """The last states of an LSTM that reads from the left, and of one from the right."""
    found = []
    for own, order in ((weights[:3], pieces), (weights[3:], pieces[::-1])):
        states = [np.zeros(2), np.zeros(2)]
        for piece in order:
            _, states = lstm_step(table[piece], states, *own)
        found.append(states[0])
    return np.concatenate(found)


def by_convolution(pieces, table, kernel, bias):
    """The largest of what a window of three pieces gives; before and after them is nothing."""
    padded = np.concatenate([np.zeros((1, 3)), table[pieces], np.zeros((1, 3))])
    windows = [padded[place : place + 3] for place in range(len(pieces))]
    found = [np.einsum("wd,wdu->u", window, kernel) + bias for window in windows]
    return np.maximum(np.max(found, axis=0), 0.0)


@pytest.mark.parametrize(("kind", "read"), [("lstm", by_lstm), ("convolution", by_convolution)])
def test_numbers(kind, read):
    encoder = make(kind)
    found = encoder(PIECES).numpy()
    weights = [weight.numpy() for weight in encoder.weights]
    for sentence, rows in zip(PIECES, found, strict=True):
        for word, vector in zip(sentence, rows, strict=True):
            own = word[word > 0]
            expected = read(own, *weights) if len(own) else np.zeros(4)
            np.testing.assert_allclose(vector, expected, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_padding_changes_nothing(kind):
    encoder = make(kind)
    wider = np.pad(PIECES, ((0, 0), (0, 2), (0, 3)))
    found = encoder(wider)
    assert_close(found[:, :3], encoder(PIECES))
    assert not found[:, 3:].numpy().any()


@pytest.mark.parametrize("kind", KINDS)
def test_general_checks(kind):
    encoder = make(kind)
    check_serialisation(encoder, PIECES)
    check_xla_equals_eager(encoder, PIECES)
    check_mixed_precision(functools.partial(make, kind), PIECES)
    check_keras_saving(encoder, PIECES)
    check_saved_model_in_fresh_process(encoder, PIECES)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "cnn"}, "`kind` must be one of lstm, convolution"),
        ({"vocabulary_size": 0}, "`vocabulary_size` must be an int of at least 1"),
        ({"embedding_dim": 0}, "`embedding_dim` must be an int of at least 1"),
        ({"units": 5}, "`units` must be even for two directions, got 5"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        PieceEncoder(**{"vocabulary_size": 6, **arguments})
