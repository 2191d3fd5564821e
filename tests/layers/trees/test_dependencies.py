import functools

import keras
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_seqzoo.data import dependency_tree, tree_batch
from keras_seqzoo.layers import DependencyTreeEncoder
from keras_seqzoo.layers.trees.dependencies import dependency_levels
from tests.layer_checks import (
    assert_close,
    check_keras_saving,
    check_mixed_precision,
    check_saved_model_in_fresh_process,
    check_serialisation,
)
from tests.layers.reference import sigmoid
from tests.properties import examples

HEADS = np.array([[2, 0, 4, 2, 4], [0, 1, 2, 0, 0], [0, 9, 9, 9, 9]], "int32")
MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [0, 0, 0, 0, 0]], bool)
WORDS = np.random.default_rng(0).normal(size=(3, 5, 2)).astype("float32")


def make(units=3):
    keras.utils.set_random_seed(0)
    layer = DependencyTreeEncoder(units)
    layer(WORDS, HEADS, mask=MASK)
    random = np.random.default_rng(1)
    layer.set_weights([random.normal(size=w.shape) for w in layer.get_weights()])
    return layer


def state(layer, words, heads, word):
    """The equations of Tai, Socher and Manning (2015), 2 to 8, for a word and what is below it."""
    kernel, recurrent, bias = layer.get_weights()
    below = [state(layer, words, heads, k) for k, head in enumerate(heads) if head == word + 1]
    w = np.split(words[word] @ kernel + bias, 4)
    u = np.split(recurrent, 4, axis=1)
    total = sum((h for h, _ in below), np.zeros(3))
    i, candidate, o = (w[gate] + total @ u[gate] for gate in (0, 2, 3))
    c = sigmoid(i) * np.tanh(candidate)
    for h_k, c_k in below:
        c = c + sigmoid(w[1] + h_k @ u[1]) * c_k
    return sigmoid(o) * np.tanh(c), c


def test_equation():
    layer = make()
    found = layer(WORDS, HEADS, mask=MASK)
    for row, length in enumerate(MASK.sum(axis=1)):
        heads, words = HEADS[row, :length], WORDS[row, :length].astype(float)
        for word in range(length):
            np.testing.assert_allclose(
                found[row, word], state(layer, words, heads, word)[0], atol=1e-5
            )
    np.testing.assert_array_equal(found.numpy()[~MASK], 0.0)


@st.composite
def trees(draw):
    """Heads of a sentence in any shape: each word hangs on one that was drawn before it."""
    order = draw(st.permutations(range(draw(st.integers(0, 7)))))
    heads = [0] * len(order)
    for place, word in enumerate(order[1:], 1):
        heads[word] = order[draw(st.integers(0, place - 1))] + 1
    return heads


@given(st.lists(trees(), min_size=1, max_size=4))
@examples(40)
def test_levels_are_those_of_the_trees(batch):
    width = max(map(len, batch))
    heads = np.array([row + [7] * (width - len(row)) for row in batch], "int32").reshape(
        len(batch), width
    )
    mask = np.arange(width) < np.array(list(map(len, batch)))[:, None]
    found = dependency_levels(heads, mask)
    expected = tree_batch([dependency_tree(row) for row in batch])
    for name in set(expected) - {"siblings"}:
        np.testing.assert_array_equal(found[name], expected[name], name)


def test_padding_may_be_anywhere_and_hold_anything():
    layer = make()
    expected = layer(WORDS, HEADS, mask=MASK)
    columns = [1, 2, 4, 5, 6]  # others are padding
    words, heads = np.full((3, 8, 2), np.nan, "float32"), np.full((3, 8), 3, "int32")
    mask = np.zeros((3, 8), bool)
    words[:, columns], heads[:, columns], mask[:, columns] = WORDS, HEADS, MASK
    found = layer(words, heads, mask=mask).numpy()
    assert_close(found[:, columns], expected)
    np.testing.assert_array_equal(found[~mask], 0.0)
    assert layer(WORDS[:, :0], HEADS[:, :0]).shape == (3, 0, 3)
    assert layer(WORDS[:0], HEADS[:0]).shape == (0, 5, 3)


def test_words_without_a_way_to_a_root_are_roots():
    layer = make()
    cycle = np.array([[2, 1, 1, 4, 9]], "int32")  # 1 and 2, with 3 on them; 4 on itself; 5 outside
    found = layer(WORDS[:1], cycle)
    assert_close(found, layer(WORDS[:1], np.zeros((1, 5), "int32")))


def test_as_a_layer():
    layer = make()
    check_serialisation(layer, WORDS, HEADS, mask=MASK)
    check_mixed_precision(functools.partial(DependencyTreeEncoder, 3), WORDS, HEADS, mask=MASK)
    check_keras_saving(layer, WORDS, HEADS, mask=MASK)


@pytest.mark.slow
def test_exports():
    check_saved_model_in_fresh_process(make(), WORDS, HEADS, mask=MASK)


def test_errors_name_the_argument():
    with pytest.raises(ValueError, match="`units` must be"):
        DependencyTreeEncoder(0)
    with pytest.raises(ValueError, match="`embedded` must have the shape"):
        DependencyTreeEncoder(3)(WORDS[0], HEADS[0])
    with pytest.raises(ValueError, match=r"`heads` must have the shape .* got \(3, 4\)"):
        make()(WORDS, HEADS[:, :4])
    with pytest.raises(ValueError, match="`mask` must have the shape"):
        make()(WORDS, HEADS, mask=MASK[:, :4])


def test_the_mask_of_an_embedding():
    ids = np.where(MASK, 1 + np.arange(MASK.size).reshape(MASK.shape) % 7, 0)
    embedding, layer = keras.layers.Embedding(8, 3, mask_zero=True), DependencyTreeEncoder(4)
    assert_close(
        layer(embedding(ids), HEADS), layer(embedding.embeddings.numpy()[ids], HEADS, mask=MASK)
    )
