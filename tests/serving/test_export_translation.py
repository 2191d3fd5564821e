import sys

import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.serving.token_errors import token_errors
from keras_seqzoo.serving.translation import SPACES, scatter_rows
from keras_seqzoo.tokenizers import ParseTokenizer, WordTokenizer


@pytest.mark.slow
def test_spaces_are_those_of_python():
    characters = [chr(i) for i in range(sys.maxunicode + 1) if not 0xD800 <= i < 0xE000]
    found = tf.strings.regex_full_match(characters, f"[{SPACES}]*").numpy()
    assert found.tolist() == [character.isspace() for character in characters]


def test_scatter_rows():
    chosen = tf.constant([False, True, False, True])
    filled = tf.constant([False, True, True, True])
    assert scatter_rows(chosen, filled, tf.constant([5, 6]), 0).numpy().tolist() == [0, 5, 0, 6]
    values = tf.constant([5, 6])
    assert scatter_rows(chosen, filled, values, 0, -1).numpy().tolist() == [0, 5, -1, 6]
    texts = scatter_rows(chosen, filled, tf.constant([["a", "b"], ["c", "d"]]), "")
    assert texts.numpy().tolist() == [[b"", b""], [b"a", b"b"], [b"", b""], [b"c", b"d"]]
    none = tf.constant([False, False])
    nothing = scatter_rows(none, none, tf.zeros([0]), 1.0)
    np.testing.assert_array_equal(nothing, [1.0, 1.0])
    empty = tf.zeros([0], tf.bool)
    assert scatter_rows(empty, empty, tf.zeros([0]), 1.0).shape == (0,)


def test_token_errors():
    tokenizer = WordTokenizer(list("abcde"))
    assert tokenizer.vocabulary_size() == 10
    ids = tf.constant([[1, 2, 3], [1, 9, 3], [1, 2, 0], [10, 10, 10], [1, 2, 10]])
    errors = token_errors(ids, tf.constant([3, 2, 2, 4, 3]), tokenizer).numpy().tolist()
    assert errors == [
        b"",
        b"",
        b"",
        b"`lengths` must be from 0 to the length of `token_ids`, got 4.",
        b"`token_ids` must be from 1 to 9, got 10 as number 3.",
    ]
    nothing = token_errors(tf.zeros([1, 0], tf.int32), tf.constant([0]), tokenizer)
    assert nothing.numpy().tolist() == [b""]


def test_token_errors_of_trees():
    tokenizer = ParseTokenizer(list("abcde"))
    ids = tf.constant([[5 + 10 * 2, 3], [10 * 2, 3], [-5, 3]])  # a word with a head, a head alone
    errors = token_errors(ids, tf.constant([2, 2, 2]), tokenizer).numpy().tolist()
    assert errors[0] == b"" and b"got 0 as number 1" in errors[1] and b"got -5" in errors[2]
