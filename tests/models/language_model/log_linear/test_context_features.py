import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.models.language_model.log_linear import (
    BagOfTokens,
    Conjunction,
    PreviousClass,
    PreviousToken,
    previous_tokens,
    suffix_classes,
)
from keras_seqzoo.models.language_model.log_linear.context_features import mix
from keras_seqzoo.tokenizers import WordTokenizer

CONTEXTS = tf.constant([[2, 5, 6], [5, 5, 6], [5, 6, 5]])


def keys(feature, contexts=CONTEXTS):
    return feature(contexts).numpy()


def test_tokens_and_classes_at_a_place():
    assert keys(PreviousToken(1)).tolist() == [[6], [6], [5]]
    assert keys(PreviousToken(3)).tolist() == [[2], [5], [5]]
    classes = [-1, -1, 4, 0, 0, 7, 8]
    assert keys(PreviousClass(classes, 2)).tolist() == [[7], [7], [8]]
    assert keys(PreviousClass(classes, 1))[:2].tolist() == [[8], [8]]
    assert keys(PreviousClass([-1] * 7, 1)).tolist() == [[-1]] * 3


def test_bag():
    assert keys(BagOfTokens()).tolist() == [[2, 5, 6], [5, 5, 6], [5, 6, 5]]
    assert keys(BagOfTokens(1, [2, 6])).tolist() == [[-1, 5], [5, 5], [5, -1]]


def test_a_conjunction_tells_all_combinations_apart():
    pairs = np.array(list(itertools.product(range(60), repeat=2)), np.int32)
    found = keys(previous_tokens(2), tf.constant(pairs))
    assert found.shape == (3600, 1) and len(np.unique(found)) == 3600 and found.min() >= 0
    of_bags = Conjunction([BagOfTokens(1), PreviousToken(1)])
    found = keys(of_bags)
    assert found.shape == (3, 2)
    assert found[1, 0] == found[1, 1] == found[0, 1]  # the same two tokens
    assert found[0, 0] != found[0, 1]
    assert (keys(Conjunction([PreviousToken(1), PreviousClass([-1] * 7)])) == -1).all()


@pytest.mark.parametrize("count", [20, pytest.param(50, marks=pytest.mark.slow)])
def test_mixed_keys_are_spread(count):
    """Neighbouring numbers, as ids are, give keys that differ, on every level of mixing."""
    found = tf.range(count, dtype=tf.int64)[:, tf.newaxis]
    for _ in range(3):
        found = mix(tf.reshape(found, [-1, 1]), tf.range(count)[tf.newaxis])
    numbers = found.numpy().ravel()
    assert len(np.unique(numbers)) == len(numbers) == count**4 and numbers.min() >= 0


def test_keys_of_nothing_are_nothing():
    assert mix(tf.constant([-1, 3], tf.int64), tf.constant([3, -1])).numpy().tolist() == [-1, -1]


def test_the_same_in_graphs_and_under_xla():
    feature = Conjunction([PreviousToken(1), BagOfTokens(1), PreviousClass(range(9), 2)])
    for jit_compile in (False, True):
        graph = tf.function(feature.__call__, jit_compile=jit_compile, autograph=False)
        np.testing.assert_array_equal(graph(CONTEXTS), feature(CONTEXTS))


def test_suffixes():
    tokenizer = WordTokenizer(["walking", "talking", "ing", "sing"])
    classes = suffix_classes(tokenizer, 3)
    assert classes[5] == classes[6] == classes[8] >= 0 and classes[7] == -1


def test_saving():
    feature = Conjunction(
        [PreviousToken(2), BagOfTokens(1, [2]), PreviousClass([0, 1, 2, 3, 4, 5, 6])]
    )
    config = keras.saving.serialize_keras_object(feature)
    loaded = keras.saving.deserialize_keras_object(config)
    np.testing.assert_array_equal(keys(loaded), keys(feature))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PreviousToken(0), "`position`"),
        (lambda: PreviousClass([]), "`classes`"),
        (lambda: PreviousClass([-2]), "`classes`"),
        (lambda: BagOfTokens(-1), "`skip`"),
        (lambda: Conjunction([]), "`features`"),
        (lambda: suffix_classes(WordTokenizer(["a"]), 0), "`length`"),
        (
            lambda: PreviousToken(4)(CONTEXTS),
            "`contexts` must have at least 4 tokens.*an `order` of 5",
        ),
        (lambda: BagOfTokens(3)(CONTEXTS), "`contexts` must have at least 4"),
    ],
)
def test_wrong_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()
