"""Checks of texts."""

import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.checks import list_of_texts


@pytest.mark.parametrize("texts", [np.array(["a", "b"]), tf.constant(["a", "b"]), ("a", b"b")])
def test_texts_may_be_arrays_tensors_and_tuples(texts):
    found = list_of_texts(texts)
    assert [text if isinstance(text, str) else text.decode() for text in found] == ["a", "b"]


@pytest.mark.parametrize("item", [None, float("nan"), 3, ["b"], np.array(["b"])])
def test_an_item_that_is_no_string_is_named(item):
    with pytest.raises(ValueError, match="`lines` must be strings, got .* as number 2"):
        list_of_texts(["a", item], "lines")


def test_one_string_is_not_a_list():
    with pytest.raises(ValueError, match="`texts` must be a list of strings, got the string 'ab'"):
        list_of_texts("ab")
