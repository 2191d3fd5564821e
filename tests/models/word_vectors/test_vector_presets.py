"""Presets of word vectors."""

import json

import numpy as np
import pytest

from keras_seqzoo.models.word_vectors import WordVectors
from keras_seqzoo.tokenizers import TextTokenizer, WordTokenizer

WORDS = ["king", "queen", ","]
MATRIX = np.array([[3, 1, 0.5], [3, 2, -1], [0, 1e-3, 7]])


@pytest.fixture
def vectors():
    return WordVectors(WORDS, MATRIX)


def test_there_and_back(vectors, tmp_path):
    tokenizer = WordTokenizer(WORDS, split_punctuation=True, normalization=["lowercase"])
    vectors.save_to_preset(tmp_path / "new", tokenizer, {"description": "Three words."})
    loaded = WordVectors.from_preset(tmp_path / "new")
    assert loaded.words == WORDS
    np.testing.assert_array_equal(loaded.matrix, MATRIX.astype(np.float16).astype(np.float32))
    same = TextTokenizer.from_preset(str(tmp_path / "new"))
    assert same("King,QUEEN").numpy().tolist() == [5, 7, 6]
    found = loaded.embedding_layer(same)(same("King,QUEEN"))
    np.testing.assert_array_equal(found, loaded.matrix[[0, 2, 1]])
    metadata = json.loads((tmp_path / "new" / "metadata.json").read_text())
    assert metadata == {"description": "Three words.", "parameter_count": 9}


def test_a_preset_takes_the_place_of_another(vectors, tmp_path):
    vectors.save_to_preset(tmp_path)
    (tmp_path / "README.md").write_text("card")
    WordVectors(["cat", "dog"], MATRIX[:2, :2]).save_to_preset(tmp_path)
    loaded = WordVectors.from_preset(tmp_path)
    assert loaded.words == ["cat", "dog"] and loaded.matrix.shape == (2, 2)
    assert (tmp_path / "README.md").read_text() == "card"


def test_errors(vectors, tmp_path):
    with pytest.raises(ValueError, match="`tokenizer` must be"):
        vectors.save_to_preset(tmp_path / "new", WordTokenizer(WORDS[:2]))
    with pytest.raises(ValueError, match="`matrix` must hold numbers of float16"):
        WordVectors(WORDS, MATRIX * 1e5).save_to_preset(tmp_path / "new")
    assert not (tmp_path / "new").exists()
    with pytest.raises(ValueError, match="no preset 'skipgram_imdb'"):
        WordVectors.from_preset("skipgram_imdb")
    with pytest.raises(ValueError, match="it holds a RecurrentBackbone, not word vectors"):
        WordVectors.from_preset("lstm_char_shakespeare")
    vectors.save_to_preset(tmp_path)
    (tmp_path / "vectors.h5").write_bytes(b"no HDF5")
    with pytest.raises(ValueError, match="cannot be loaded"):
        WordVectors.from_preset(tmp_path)
