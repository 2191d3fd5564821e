import keras
import numpy as np
import pytest

from keras_seqzoo.models import RecurrentSeq2SeqLMPreprocessor
from keras_seqzoo.tokenizers import ParseTokenizer, WordTokenizer
from tests.models.classifier.test_tree import sentence

ROWS = [str(sentence("The film is not good", [2, 5, 5, 5, 0])), str(sentence("good Film", [2, 0]))]


def test_a_word_and_its_head_are_one_id():
    tokenizer = ParseTokenizer.train(ROWS, minimum_count=2, normalization=["lowercase"])
    assert tokenizer.words == ["film", "good"] and tokenizer.vocabulary_size() == 7
    expected = [[1 + 14, 5 + 35, 1 + 35, 1 + 35, 6], [6 + 14, 5], []]
    ids = tokenizer([*ROWS, ""])
    assert ids.to_list() == expected
    words, heads = tokenizer.split(ids)
    assert words.to_list() == [[1, 5, 1, 1, 6], [6, 5], []]
    assert heads.to_list() == [[2, 5, 5, 5, 0], [2, 0], []]
    assert tokenizer.detokenize(ids) == ["[UNK] film [UNK] [UNK] good", "good film", ""]
    assert [tokenizer.id_to_token(id) for id in (20, 5)] == ["good", "film"]
    assert tokenizer.split_text(ROWS[1]) == ["good", "Film"]


def test_presets_and_configuration(tmp_path):
    tokenizer = ParseTokenizer(["film", "good"], config_file="encoder_tokenizer.json")
    tokenizer.save_to_preset(str(tmp_path))
    loaded = ParseTokenizer.from_preset(str(tmp_path), config_file="encoder_tokenizer.json")
    assert loaded(ROWS).to_list() == tokenizer(ROWS).to_list()
    twin = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(tokenizer))
    assert type(twin) is ParseTokenizer


def test_white_space_of_any_kind():
    tokenizer = ParseTokenizer.train(
        [ROWS[1].replace("Film", "à la")], normalization=["white_space", "accents"]
    )
    assert set(tokenizer.words) == {"a_la", "good"}
    assert tokenizer.split_text(ROWS[1]) == ["good", "Film"]
    tokenizer = ParseTokenizer.train([ROWS[1].replace("Film", "10\u00a0000")])
    assert set(tokenizer.words) == {"10_000", "good"}


def test_what_is_no_parse_is_read_somehow():
    tokenizer = ParseTokenizer(["good"])
    lost = str(sentence("good good", [0, 0])).replace("\t0\t", "\t999999999\t")
    ids = tokenizer(["A film.", lost, lost.replace("999999999", "_")])
    assert ids.row_lengths().numpy().tolist() == [0, 2, 2]
    assert set(np.concatenate([row % 6 for row in map(np.array, ids.to_list()[1:])])) == {5}


def test_words_whose_head_is_cut_off_become_roots():
    tokenizer = ParseTokenizer(["she", "now", "reads", "it"], config_file="encoder_tokenizer.json")
    target = WordTokenizer(["elle"])
    layer = RecurrentSeq2SeqLMPreprocessor(target, tokenizer, encoder_sequence_length=3)
    text = str(sentence("she now reads it", [3, 3, 0, 3]))
    words, heads = tokenizer.split(layer.encode_source([text]))
    assert words.to_list() == [[5, 6, 3]] and heads.to_list() == [[0, 0, 0]]  # she now [EOS]
    words, heads = tokenizer.split(layer.encode_source([text], length=4))
    assert words.to_list() == [[5, 6, 7, 3]] and heads.to_list() == [[3, 3, 0, 0]]
    whole = layer.encode_source([text], length=9)
    assert layer.cut_source(whole, 3).to_list() == layer.encode_source([text]).to_list()


def test_errors():
    with pytest.raises(ValueError, match="`split_punctuation` must be False"):
        ParseTokenizer(["a"], split_punctuation=True)
