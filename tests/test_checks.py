"""Checks of texts."""

import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.checks import list_of_texts


@pytest.mark.parametrize(
    "texts",
    [np.array(["a", "é"]), ("a", "é"), tf.constant(["a", "é"]), ["a", tf.constant("é")]],
    ids=["array", "tuple", "tensor", "list with a tensor"],
)
def test_texts_may_be_arrays_tensors_and_tuples(texts):
    assert list_of_texts(texts) == ["a", "é"]


def test_bytes_stay_bytes():
    assert list_of_texts([b"a"]) == [b"a"]


@pytest.mark.parametrize("item", [None, float("nan"), 3, ["b"], np.array(["b"])])
def test_an_item_that_is_no_string_is_named(item):
    with pytest.raises(ValueError, match="`lines` must be strings, got .* as number 2"):
        list_of_texts(["a", item], "lines")


@pytest.mark.parametrize("text", ["ab", tf.constant("ab")], ids=["string", "tensor"])
def test_one_string_is_not_a_list(text):
    with pytest.raises(ValueError, match="`texts` must be a list of strings, got the string 'ab'"):
        list_of_texts(text)
