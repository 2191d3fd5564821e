import pathlib

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from keras_seqzoo.tokenizers import WordTokenizer
from tests.layer_checks import check_saved_model_in_fresh_process
from tests.properties import examples

LINES = ["the cat sat on the mat", "the dog", "a cat"]


def make(**kwargs):
    return WordTokenizer.train(LINES, **kwargs)


def test_words_come_by_frequency_and_then_by_the_alphabet():
    assert make().get_vocabulary()[5:] == ["the", "cat", "a", "dog", "mat", "on", "sat"]
    assert make(vocabulary_size=7).get_vocabulary()[5:] == ["the", "cat"]
    assert make(minimum_count=2).get_vocabulary()[5:] == ["the", "cat"]


def test_ids():
    tokenizer = make()
    assert tokenizer(["the cat", " a\tbird ", ""]).to_list() == [[5, 6], [7, 1], []]
    assert make(add_bos=True, add_eos=True)("the cat").numpy().tolist() == [2, 5, 6, 3]
    dense = make(sequence_length=3, add_eos=True)(["the cat sat", "a"])
    assert dense.numpy().tolist() == [[5, 6, 3], [7, 3, 0]]
    assert tokenizer([["the"], ["cat a"]]).to_list() == [[[5]], [[6, 7]]]


@examples(200)
@given(st.lists(st.text(), min_size=1, max_size=5))
def test_round_trip_of_any_text(texts):
    tokenizer = WordTokenizer.train([*texts, "word"])
    assert tokenizer.detokenize(tokenizer(texts)) == [" ".join(text.split()) for text in texts]


def test_white_space_is_that_of_python():
    text = "the\u00a0cat\u2003sat\x1fon\u3000\u2028the\x85mat\u200bmat"
    tokenizer = WordTokenizer.train([text])
    assert tokenizer.detokenize(tokenizer(text)) == " ".join(text.split())
    assert len(tokenizer(text)) == len(text.split())


def test_worked_example():
    text = "I bought a product called FD543C"
    words = text.split()[:-1]
    tokenizer = WordTokenizer(words, add_bos=True, add_eos=True, sequence_length=10)
    tokens = [tokenizer.id_to_token(id) for id in tokenizer(text).numpy()]
    assert tokens == ["[BOS]", *words, "[UNK]", "[EOS]", "[PAD]", "[PAD]"]


def test_punctuation_as_words():
    tokenizer = WordTokenizer.train(["It's 5 €, isn't it?"], split_punctuation=True)
    assert tokenizer.detokenize(tokenizer("It's it?")) == "It ' s it ?"
    assert "€" in tokenizer.words
    assert WordTokenizer.from_config(tokenizer.get_config()).split_punctuation


def test_detokenize():
    tokenizer = make()
    assert tokenizer.detokenize([[2, 5, 1, 6, 3, 0], [0]]) == ["the [UNK] cat", ""]
    assert tokenizer.detokenize(tf.constant([5, 6])) == "the cat"
    assert tokenizer.detokenize(tf.constant([[[5], [3]]])) == [["the", ""]]
    with pytest.raises(tf.errors.InvalidArgumentError):
        tokenizer.detokenize([99])


def test_unknown_words_are_replaced_in_graph():
    tokenizer = WordTokenizer(
        ["sees", "."], normalization=["nfkc", "lowercase"], split_punctuation=True
    )
    texts = ["Mia  sees Ben.", "a\u00a0ⅷ", "¨ x", ""]  # the normal form of the third has a space
    found = tf.function(tokenizer.split_in_graph)(tf.constant(texts))
    words = [tokenizer.split_text(text) for text in texts]
    assert [[word.decode() for word in row] for row in found.to_list()] == words
    tokenizer = WordTokenizer(["sees", "."], control_tokens=["<2fr>"])
    tokens = [["[UNK]", "sees", "[UNK]", ".", "[EOS]"], ["<2fr>", "[UNK]"], []]
    ids = tf.ragged.constant([[*map(tokenizer.token_to_id, row)] for row in tokens], tf.int32)
    unknown = tf.ragged.constant([["Mia", "a", "Ben", "b", "c"], ["d", "Zoë"], []], tf.string)
    found = tf.function(tokenizer.join_in_graph)(ids, unknown)
    assert [text.decode() for text in found.numpy()] == [
        tokenizer.join_tokens(tokens[0], ["Mia", "Ben"]),
        tokenizer.join_tokens(tokens[1], ["Zoë"]),
        "",
    ]


def test_text_that_spells_special_tokens_is_text():
    tokenizer = WordTokenizer(["[BOS]", "a"])
    assert tokenizer("[BOS] a [EOS]").numpy().tolist() == [5, 6, 1]
    assert tokenizer.detokenize([2, 5, 6]) == "[BOS] a"


def test_text_tokens_that_spell_special_tokens_do_not_take_their_ids():
    tokenizer = WordTokenizer(
        ["[BOS]", "[EOS]", "[PAD]", "[UNK]", "a"], sequence_length=6, add_bos=True, add_eos=True
    )
    assert tokenizer("[BOS] a [PAD]").numpy().tolist() == [2, 5, 9, 7, 3, 0]
    assert tokenizer("[EOS] b [UNK]").numpy().tolist() == [2, 6, 1, 8, 3, 0]
    assert [tokenizer.token_to_id(token) for token in ("[BOS]", "[EOS]", "b")] == [2, 3, 1]
    assert (tokenizer.pad_token_id, tokenizer.start_token_id, tokenizer.end_token_id) == (0, 2, 3)


def test_graph_and_tf_data_equal_eager():
    tokenizer = make()
    expected = tokenizer(LINES).to_list()
    assert tf.function(tokenizer)(tf.constant(LINES)).to_list() == expected
    rows = tf.data.Dataset.from_tensor_slices(LINES).map(tokenizer)
    assert [row.numpy().tolist() for row in rows] == expected


def test_presets_and_keras_files(tmp_path):
    tokenizer = make(sequence_length=4, add_bos=True)
    tokenizer.save_to_preset(str(tmp_path / "preset"))
    path = tmp_path / "model.keras"
    inputs = keras.Input((), dtype="string")
    keras.Model(inputs, tokenizer(inputs)).save(path)
    loaded = keras.saving.load_model(path).layers[-1]
    for other in (WordTokenizer.from_preset(tmp_path / "preset"), loaded):
        assert other.get_config() == tokenizer.get_config()
        np.testing.assert_array_equal(other(LINES), tokenizer(LINES))


def test_export():
    check_saved_model_in_fresh_process(
        make(sequence_length=6), np.array([line.encode() for line in LINES])
    )


def test_kinds_of_texts(tmp_path):
    path = pathlib.Path(tmp_path, "text")
    path.write_text("\n".join(LINES))
    for texts in (str(path), [path], iter(LINES), tf.data.Dataset.from_tensor_slices(LINES)):
        assert WordTokenizer.train(texts).words == make().words


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: WordTokenizer(["a b"]), "`words`.*'a b'"),
        (lambda: WordTokenizer([""]), "`words`.*''"),
        (lambda: WordTokenizer(["a", "b", "a"]), "`words`.*'a' twice"),
        (lambda: make(vocabulary_size=5), "`vocabulary_size`.*above 5.*5"),
        (lambda: make(minimum_count=9), "`minimum_count`.*most frequent word, 3, got 9"),
        (lambda: WordTokenizer()("a"), "WordTokenizer has no model yet"),
    ],
)
def test_bad_arguments(call, match):
    with pytest.raises(ValueError, match=match):
        call()
