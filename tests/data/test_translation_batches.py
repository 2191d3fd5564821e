import sys

import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.data import RaggedIds, tokenize_pairs


def code_points(texts):
    return tf.strings.unicode_decode(texts, "UTF-8")


class CodePointTokenizer:
    start_token_id = 2
    end_token_id = 3

    def __call__(self, texts):
        return code_points(texts).to_list()


def ids_of(ragged):
    return [ragged.sequence(index).tolist() for index in range(len(ragged.lengths))]


@pytest.mark.parametrize("chunk", [1, 2, 8192])
def test_ids_of_functions_are_taken_as_they_are(monkeypatch, chunk):
    monkeypatch.setattr(sys.modules[tokenize_pairs.__module__], "CHUNK", chunk)
    pairs = tokenize_pairs(
        ["ab", "", "é"], ["<>", "<x>", "<🐕>"], lambda t: code_points(t).to_list(), code_points
    )
    assert ids_of(pairs.source) == [[97, 98], [], [233]]
    assert ids_of(pairs.target) == [[60, 62], [60, 120, 62], [60, 128021, 62]]
    assert pairs.source.values.dtype == np.int32


def test_ids_of_tokenizers_come_between_bos_and_eos():
    pairs = tokenize_pairs(["ab", "", "c"], ["", "", "d"], CodePointTokenizer(), code_points_marked)
    assert ids_of(pairs.source) == [[2, 97, 98, 3], [2, 3], [2, 99, 3]]
    assert ids_of(pairs.target) == [[1, 9], [1, 9], [1, 100, 9]]


def code_points_marked(texts):
    return [[1, *ids, 9] for ids in code_points(texts).to_list()]


def test_no_texts_give_no_ids():
    pairs = tokenize_pairs([], [], CodePointTokenizer(), CodePointTokenizer())
    assert ids_of(pairs.source) == ids_of(pairs.target) == []


def test_padded_cuts_and_fills():
    ragged = RaggedIds.from_lengths([1, 2, 3, 4], [3, 0, 1])
    ids, valid = ragged.padded(np.array([2, 0, 1]), 2, 7)
    np.testing.assert_array_equal(ids, [[4, 7], [1, 2], [7, 7]])
    np.testing.assert_array_equal(valid, [[1, 0], [1, 1], [0, 0]])
    assert (ids.dtype, valid.dtype) == (np.int32, np.bool_)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="`source_texts` and `target_texts` .* 1 and 2"):
        tokenize_pairs(["a"], ["b", "c"], code_points, code_points)
    with pytest.raises(TypeError, match=r"`target_texts\[1\]` must be a string, got NoneType"):
        tokenize_pairs(["a", "b"], ["<>", None], code_points, code_points)
    with pytest.raises(ValueError, match=r"`encode_target` .* \[99\] for `target_texts\[1\]`"):
        tokenize_pairs(["a", "b"], ["<>", "c"], code_points, code_points)
    with pytest.raises(TypeError, match="`encode_source` must return a RaggedTensor"):
        tokenize_pairs(["a"], ["<>"], lambda texts: code_points(texts).to_tensor(), code_points)
    with pytest.raises(TypeError, match="`encode_source` must return one sequence .* 2 for 1"):
        tokenize_pairs(["a"], ["<>"], lambda texts: [[1], [2]], code_points)
