import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import example, given
from hypothesis import strategies as st

from keras_seqzoo.tokenizers import CharacterTokenizer
from tests.layer_checks import check_saved_model_in_fresh_process
from tests.properties import examples

TEXTS = ["to be,\nor not", "to  be"]


def test_characters_come_by_frequency_and_then_by_the_alphabet():
    tokenizer = CharacterTokenizer.train(["banana band", "an"])
    assert tokenizer.characters == ["a", "n", "b", " ", "d"]
    assert CharacterTokenizer.train(["banana band"], vocabulary_size=7).characters == ["a", "n"]
    assert CharacterTokenizer.train(["banana band"], minimum_count=2).characters == ["a", "n", "b"]


def test_ids():
    tokenizer = CharacterTokenizer("abc ")
    assert tokenizer(["ab", "a?b", ""]).to_list() == [[5, 6], [5, 1, 6], []]
    assert tokenizer([["a"], ["b c"]]).to_list() == [[[5]], [[6, 8, 7]]]
    dense = CharacterTokenizer("abc", sequence_length=3, add_eos=True)(["abc", "b"])
    assert dense.numpy().tolist() == [[5, 6, 3], [6, 3, 0]]
    assert tokenizer.detokenize([[2, 5, 1, 6, 3, 0], [0]]) == ["a[UNK]b", ""]


@examples(300)
@given(st.lists(st.text(), min_size=1, max_size=5))
@example(["\u0065\u0301 \U0001f468\u200d\U0001f469 \u0000\r\n\t"])
def test_round_trip_of_any_text(texts):
    tokenizer = CharacterTokenizer.train([*texts, "a"])
    assert tokenizer.detokenize(tokenizer(texts)) == texts
    assert [len(ids) for ids in tokenizer(texts).to_list()] == [len(text) for text in texts]


def test_bytes_that_are_no_text():
    tokenizer = CharacterTokenizer("a\ufffd")
    assert tokenizer(tf.constant([b"a\xffa"])).to_list() == [[5, 6, 5]]


def test_graph_equals_eager():
    tokenizer = CharacterTokenizer.train(TEXTS)
    graph = tf.function(tokenizer)
    assert graph(tf.constant(TEXTS)).to_list() == tokenizer(TEXTS).to_list()


def test_presets_and_keras_files(tmp_path):
    tokenizer = CharacterTokenizer.train(TEXTS, sequence_length=4, add_bos=True)
    tokenizer.save_to_preset(str(tmp_path / "preset"))
    inputs = keras.Input((), dtype="string")
    keras.Model(inputs, tokenizer(inputs)).save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras").layers[-1]
    for other in (CharacterTokenizer.from_preset(tmp_path / "preset"), loaded):
        assert other.get_config() == tokenizer.get_config()
        assert other.characters == tokenizer.characters
        np.testing.assert_array_equal(other(TEXTS), tokenizer(TEXTS))


def test_export():
    tokenizer = CharacterTokenizer.train(TEXTS, sequence_length=6)
    check_saved_model_in_fresh_process(tokenizer, np.array([text.encode() for text in TEXTS]))


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: CharacterTokenizer(["ab"]), "`characters`.*'ab'"),
        (lambda: CharacterTokenizer("aba"), "`characters`.*'a' twice"),
        (lambda: CharacterTokenizer.train(["a"], 5), "`vocabulary_size`"),
        (lambda: CharacterTokenizer.train([""]), "`texts` must have a character"),
        (lambda: CharacterTokenizer()("a"), "CharacterTokenizer has no model yet"),
    ],
)
def test_bad_arguments(call, match):
    with pytest.raises(ValueError, match=match):
        call()


def test_bytes():
    tokenizer = CharacterTokenizer(byte_level=True)
    assert tokenizer.vocabulary_size() == 261
    assert tokenizer("é\x00").numpy().tolist() == [5 + 0xC3, 5 + 0xA9, 5]
    assert tokenizer.id_to_token(5 + 0xC3) == "<0xC3>"
    assert tokenizer.token_to_id("<0x00>") == 5
    assert tokenizer.detokenize([5 + 0xC3, 5 + 0xA9, 3]) == "é"
    with pytest.raises(ValueError, match="`characters` must be None.*'abc'"):
        CharacterTokenizer("abc", byte_level=True)
    with pytest.raises(ValueError, match="`byte_level` must be False in training"):
        CharacterTokenizer.train(["a"], byte_level=True)
