import functools

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from keras_seqzoo.models.tagger.piece_encoder import KINDS, PieceEncoder
from tests.layer_checks import (
    assert_close,
    check_keras_saving,
    check_mixed_precision,
    check_saved_model_in_fresh_process,
    check_serialisation,
    check_xla_equals_eager,
    weighted_sum,
)
from tests.layers.reference import lstm_step
from tests.properties import examples
from tests.tiers import mostly_slow, slow

# The pieces of words; 0 is padding. One word has no pieces, one occurs twice.
PIECES = np.array(
    [[[3, 1, 2, 0], [4, 0, 0, 0], [0, 0, 0, 0]], [[1, 1, 1, 1], [3, 1, 2, 0], [5, 0, 0, 0]]]
)
PIECES = PIECES.astype("int32")


def make(kind, **options):
    keras.utils.set_random_seed(0)
    return PieceEncoder(6, embedding_dim=3, units=4, kind=kind, **options)


@pytest.mark.parametrize("jit", [slow(None), False, slow(True)])
@pytest.mark.parametrize("shape", [(2, 3, 0), (2, 0, 3)])
@pytest.mark.parametrize("kind", mostly_slow(list(KINDS), "convolution"))
def test_no_pieces_or_no_words(kind, shape, jit):
    encoder = make(kind)
    encoder(PIECES)

    def trained(pieces):
        with tf.GradientTape() as tape:
            words = encoder(pieces, training=True)
            loss = tf.reduce_sum(words)
        sources = encoder.trainable_weights
        return words, tape.gradient(loss, sources, unconnected_gradients="zero")

    if jit is not None:
        signature = [tf.TensorSpec((None, None, None), "int32")]
        trained = tf.function(trained, signature, jit_compile=jit, autograph=False)
    words, gradients = trained(tf.zeros(shape, "int32"))
    assert words.shape == (*shape[:2], 4) and not np.any(words)
    assert not any(np.any(tf.convert_to_tensor(gradient)) for gradient in gradients)


def by_lstm(pieces, table, *weights):
    """Return the last states of a forward and a backward LSTM."""
    found = []
    for own, order in ((weights[:3], pieces), (weights[3:], pieces[::-1])):
        states = [np.zeros(2), np.zeros(2)]
        for piece in order:
            _, states = lstm_step(table[piece], states, *own)
        found.append(states[0])
    return np.concatenate(found)


def by_convolution(pieces, table, kernel, bias):
    """Return the maxima over windows of three pieces, with zeros before and after."""
    padded = np.concatenate([np.zeros((1, 3)), table[pieces], np.zeros((1, 3))])
    windows = [padded[place : place + 3] for place in range(len(pieces))]
    found = [np.einsum("wd,wdu->u", window, kernel) + bias for window in windows]
    return np.maximum(np.max(found, axis=0), 0.0)


def by_each_word(encoder, pieces):
    """Encode word by word in plain NumPy."""
    weights = [weight.numpy() for weight in encoder.weights]
    read = by_lstm if encoder.kind == "lstm" else by_convolution
    found = np.zeros((*pieces.shape[:2], 4))
    for place in np.ndindex(pieces.shape[:2]):
        own = pieces[place][pieces[place] > 0]
        if len(own):
            found[place] = read(own, *weights)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_numbers(kind):
    encoder = make(kind)
    found = encoder(PIECES)
    np.testing.assert_allclose(found, by_each_word(encoder, PIECES), atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_padding_changes_nothing(kind):
    encoder = make(kind)
    wider = np.pad(PIECES, ((0, 0), (0, 2), (0, 3)))
    found = encoder(wider)
    assert_close(found[:, :3], encoder(PIECES))
    assert not found[:, 3:].numpy().any()


@pytest.mark.parametrize("kind", mostly_slow(list(KINDS), "convolution"))
@examples(15)
@given(st.data())
def test_words_that_come_again_are_as_they_are_alone(kind, data):
    shape = data.draw(st.tuples(*[st.integers(0, 5)] * 3))
    lengths = data.draw(arrays("int32", shape[:2], elements=st.integers(0, shape[2])))
    pieces = data.draw(arrays("int32", shape, elements=st.integers(1, 2)))
    pieces = np.where(np.arange(shape[2]) < lengths[..., np.newaxis], pieces, 0)
    encoder = make(kind)
    found = encoder(pieces)
    np.testing.assert_allclose(found, by_each_word(encoder, pieces), atol=1e-5)


@pytest.mark.parametrize("kind", mostly_slow(list(KINDS), "convolution"))
def test_words_that_come_again_are_read_once(kind, monkeypatch):
    encoder = make(kind)
    encoder(PIECES)
    embed, counts = encoder.embedding.call, []

    def counted(ids):
        counts.append(ids.shape[0])
        return embed(ids)

    monkeypatch.setattr(encoder.embedding, "call", counted)
    again = tf.constant(np.tile(PIECES, (1, 20, 1)))  # 120 words, 5 of them different
    encoder(again)
    tf.function(encoder, jit_compile=True, autograph=False)(again)
    assert counts == [6, 120]  # padded to 6 words


@pytest.mark.slow
@pytest.mark.parametrize("kind", mostly_slow(list(KINDS), "lstm"))
def test_gradients_of_words_that_come_again_are_summed(kind):
    encoder = make(kind)
    pieces = tf.constant(np.tile(PIECES, (1, 3, 1)))
    encoder(pieces)

    def gradients(pieces):
        with tf.GradientTape() as tape:
            loss = weighted_sum(encoder(pieces, training=True))
        return [tf.convert_to_tensor(g) for g in tape.gradient(loss, encoder.trainable_weights)]

    once = tf.function(gradients, autograph=False)(pieces)
    each = tf.function(gradients, jit_compile=True, autograph=False)(pieces)
    assert_close(once, each, atol=1e-5)


@pytest.mark.slow
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
