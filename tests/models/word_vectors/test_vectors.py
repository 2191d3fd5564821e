import json

import keras
import numpy as np
import pytest

from keras_seqzoo.models.word_vectors import WordVectors
from keras_seqzoo.tokenizers import TextTokenizer, WordTokenizer

WORDS = ["king", "queen", "man", "woman", "éclair"]
MATRIX = np.array([[3, 1, 0], [3, 2, 0], [1, 1, 0], [1, 2, 0.5], [-1, 0, 2]], np.float32)
PRESET_WORDS = ["king", "queen", ","]
PRESET_MATRIX = np.array([[3, 1, 0.5], [3, 2, -1], [0, 1e-3, 7]])


@pytest.fixture
def vectors():
    return WordVectors(WORDS, MATRIX)


def cosine(one, other):
    return one @ other / np.linalg.norm(one) / np.linalg.norm(other)


def test_a_word_and_its_vector(vectors):
    assert len(vectors) == 5 and "man" in vectors and "boy" not in vectors
    np.testing.assert_array_equal(vectors["queen"], MATRIX[1])
    assert vectors.similarity("man", "woman") == pytest.approx(cosine(MATRIX[2], MATRIX[3]))
    with pytest.raises(KeyError, match="'womans'; did you mean woman"):
        vectors["womans"]
    with pytest.raises(KeyError, match="'Queen'; did you mean queen"):
        vectors["Queen"]


def test_most_similar(vectors):
    cosines = [cosine(row, MATRIX[0]) for row in MATRIX]
    order = sorted(range(1, 5), key=lambda row: -cosines[row])
    found = vectors.most_similar("king", 3)
    assert [word for word, _ in found] == [WORDS[row] for row in order[:3]]
    np.testing.assert_allclose([c for _, c in found], [cosines[row] for row in order[:3]], 1e-5)
    assert len(vectors.most_similar("king", 100)) == 4
    assert vectors.most_similar(2 * MATRIX[4], 1)[0] == ("éclair", pytest.approx(1))
    with pytest.raises(ValueError, match="`number`"):
        vectors.most_similar("king", 0)


def test_analogy(vectors):
    unit = MATRIX / np.linalg.norm(MATRIX, axis=1, keepdims=True)
    wanted = unit[0] - unit[2] + unit[3]
    expected = {WORDS[row]: cosine(unit[row], wanted) for row in (1, 4)}
    assert dict(vectors.analogy("man", "king", "woman")) == pytest.approx(expected, abs=1e-6)
    assert vectors.analogy("man", "king", "woman", 1)[0][0] == "queen"
    with pytest.raises(KeyError, match="boy"):
        vectors.analogy("man", "king", "boy")


def test_embedding_layer(vectors):
    layer = vectors.embedding_layer()
    np.testing.assert_array_equal(layer(np.array([[4, 0]])), MATRIX[None, [4, 0]])
    assert not layer.trainable_weights
    tokenizer = WordTokenizer(["woman", "child", "king"])
    layer = vectors.embedding_layer(tokenizer, trainable=True, mask_zero=True)
    found = layer(tokenizer(["woman child king"]).to_tensor())[0]
    np.testing.assert_array_equal(found, [MATRIX[3], [0, 0, 0], MATRIX[0]])
    assert len(layer.trainable_weights) == 1 and layer.mask_zero
    model = keras.Sequential([layer, keras.layers.GlobalAveragePooling1D()])
    assert model(tokenizer(["king"]).to_tensor()).shape == (1, 3)


def test_fill(vectors):
    tokenizer = WordTokenizer(["woman", "child", "king"])
    embedding = keras.layers.Embedding(8, 3)
    embedding.build()
    before = embedding.get_weights()[0]
    assert vectors.fill(embedding, tokenizer, scale=2.0) == 2
    expected = before.copy()
    expected[[5, 7]] = 2 * np.array(MATRIX)[[3, 0]]
    np.testing.assert_allclose(embedding.get_weights()[0], expected)
    special = WordVectors(["[UNK]", "king", "[PAD]"], MATRIX[:3])
    tokenizer = WordTokenizer(["king", "[UNK]"])
    rows = special.embedding_layer(tokenizer).get_weights()[0]
    np.testing.assert_array_equal(rows, [*np.zeros((5, 3)), MATRIX[1], MATRIX[0]])
    narrow = keras.layers.Embedding(8, 2)
    narrow.build()
    with pytest.raises(ValueError, match=r"`embedding` must have the shape \(8, 3\)"):
        vectors.fill(narrow, WordTokenizer(WORDS[:3]))


@pytest.mark.parametrize(
    ("words", "matrix", "match"),
    [
        (["a"], [[1.0], [2.0]], r"each of the 1 words.*\(2, 1\)"),
        (["a"], [1.0], r"\(1,\)"),
        (["a", "a"], [[1.0], [2.0]], "`words` must differ"),
    ],
)
def test_bad_arguments(words, matrix, match):
    with pytest.raises(ValueError, match=match):
        WordVectors(words, matrix)


def test_presets_there_and_back(tmp_path):
    vectors = WordVectors(PRESET_WORDS, PRESET_MATRIX)
    tokenizer = WordTokenizer(PRESET_WORDS, split_punctuation=True, normalization=["lowercase"])
    vectors.save_to_preset(tmp_path / "new", tokenizer, {"description": "Three words."})
    loaded = WordVectors.from_preset(tmp_path / "new")
    assert loaded.words == PRESET_WORDS
    np.testing.assert_array_equal(
        loaded.matrix, PRESET_MATRIX.astype(np.float16).astype(np.float32)
    )
    same = TextTokenizer.from_preset(str(tmp_path / "new"))
    assert same("King,QUEEN").numpy().tolist() == [5, 7, 6]
    found = loaded.embedding_layer(same)(same("King,QUEEN"))
    np.testing.assert_array_equal(found, loaded.matrix[[0, 2, 1]])
    metadata = json.loads((tmp_path / "new" / "metadata.json").read_text())
    assert metadata == {"description": "Three words.", "parameter_count": 9}


def test_a_tokenizer_may_have_control_tokens(tmp_path):
    tokenizer = WordTokenizer(PRESET_WORDS, control_tokens=["<2fr>"])
    WordVectors(PRESET_WORDS, PRESET_MATRIX).save_to_preset(tmp_path, tokenizer)
    assert WordVectors.from_preset(tmp_path).words == PRESET_WORDS


def test_a_preset_takes_the_place_of_another(tmp_path):
    vectors = WordVectors(PRESET_WORDS, PRESET_MATRIX)
    vectors.save_to_preset(tmp_path)
    (tmp_path / "README.md").write_text("card")
    WordVectors(["cat", "dog"], PRESET_MATRIX[:2, :2]).save_to_preset(tmp_path)
    loaded = WordVectors.from_preset(tmp_path)
    assert loaded.words == ["cat", "dog"] and loaded.matrix.shape == (2, 2)
    assert (tmp_path / "README.md").read_text() == "card"


def test_presets_that_cannot_be_loaded(tmp_path):
    vectors = WordVectors(PRESET_WORDS, PRESET_MATRIX)
    with pytest.raises(ValueError, match="`tokenizer` must be"):
        vectors.save_to_preset(tmp_path / "new", WordTokenizer(PRESET_WORDS[:2]))
    with pytest.raises(ValueError, match="`matrix` must have numbers within float16"):
        WordVectors(PRESET_WORDS, PRESET_MATRIX * 1e5).save_to_preset(tmp_path / "new")
    assert not (tmp_path / "new").exists()
    with pytest.raises(ValueError, match="got 'skipgram_imdb'"):
        WordVectors.from_preset("skipgram_imdb")
    with pytest.raises(ValueError, match="it must be WordVectors, got RecurrentBackbone"):
        WordVectors.from_preset("lstm_char_shakespeare")
    vectors.save_to_preset(tmp_path)
    (tmp_path / "vectors.h5").write_bytes(b"no HDF5")
    with pytest.raises(ValueError, match="cannot be loaded"):
        WordVectors.from_preset(tmp_path)
