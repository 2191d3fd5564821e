import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.models.common.rows import check_lengths, rows_of, split_rows, spread_strings

TEXTS = ["a", "b", "c"]


def rows(*parts):
    return list(rows_of(parts).as_numpy_iterator())


def test_rows_of_lists_arrays_and_dicts():
    assert rows(TEXTS) == [(b"a",), (b"b",), (b"c",)]
    assert rows(tuple(TEXTS), np.array([1, 0, 1])) == [(b"a", 1), (b"b", 0), (b"c", 1)]
    [first, *_] = rows({"text": TEXTS}, [1, 2, 3], [0.5, 1.0, 1.0])
    assert first == ({"text": b"a"}, 1, 0.5)
    assert rows(tf.constant(TEXTS)) == [b"a", b"b", b"c"]
    words = tf.ragged.constant([["a", "b"], ["c"], []])
    [batch] = rows_of((words, words)).batch(3)
    assert [part.to_list() for part in batch] == 2 * [[[b"a", b"b"], [b"c"], []]]


@pytest.mark.parametrize(
    "data",
    [("text",), (iter(TEXTS),), (tf.data.Dataset.range(3),), (TEXTS, [[1], [2, 3], []])],
    ids=["string", "iterator", "dataset", "lists of different lengths"],
)
def test_no_rows(data):
    assert rows_of(data) is None


def test_parts_of_different_lengths_are_named():
    check_lengths(x={"one": TEXTS, "two": np.zeros(3)}, y=None)
    with pytest.raises(ValueError, match=r"got 3 of `x`\['one'\], 2 of `y`"):
        check_lengths(x={"one": TEXTS}, y=[1, 2])


def test_the_last_rows_are_held_out():
    first, last = split_rows(rows_of((TEXTS,)), 0.4)
    assert [list(part.as_numpy_iterator()) for part in (first, last)] == [
        [(b"a",)],
        [(b"b",), (b"c",)],
    ]
    with pytest.raises(ValueError, match="must leave rows to train and to validate on, got 0.9"):
        split_rows(rows_of((TEXTS,)), 0.9)


def test_a_string_stands_for_all_rows():
    x = {"text": np.array(TEXTS), "language": "fr"}
    assert spread_strings(x)["language"] == ["fr", "fr", "fr"]
    assert spread_strings({"text": "a", "language": "fr"}) == {"text": "a", "language": "fr"}
    assert spread_strings(TEXTS) is TEXTS
