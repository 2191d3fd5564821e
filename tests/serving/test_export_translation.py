import sys

import numpy as np
import tensorflow as tf

from keras_seqzoo.serving.export_translation import SPACES, scatter_rows


def test_spaces_are_those_of_python():
    characters = [chr(i) for i in range(sys.maxunicode + 1) if not 0xD800 <= i < 0xE000]
    found = tf.strings.regex_full_match(characters, f"[{SPACES}]*").numpy()
    assert found.tolist() == [character.isspace() for character in characters]


def test_scatter_rows():
    chosen = tf.constant([False, True, False, True])
    assert scatter_rows(tf.constant([5, 6]), chosen, 0).numpy().tolist() == [0, 5, 0, 6]
    texts = scatter_rows(tf.constant([["a", "b"], ["c", "d"]]), chosen, "")
    assert texts.numpy().tolist() == [[b"", b""], [b"a", b"b"], [b"", b""], [b"c", b"d"]]
    nothing = scatter_rows(tf.zeros([0]), tf.constant([False, False]), 1.0)
    np.testing.assert_array_equal(nothing, [1.0, 1.0])
    assert scatter_rows(tf.zeros([0]), tf.zeros([0], tf.bool), 1.0).shape == (0,)
