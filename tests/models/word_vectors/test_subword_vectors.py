import json

import keras
import numpy as np
import pytest

from keras_seqzoo.models.word_vectors import (
    SubwordVectors,
    WordVectors,
    evaluate_analogies,
    evaluate_similarities,
)
from keras_seqzoo.models.word_vectors.character_ngrams import CharacterNgrams
from keras_seqzoo.tokenizers import WordTokenizer

WORDS = ["cat", "dog", "éclair"]
MATRIX = np.array([[3, 1], [-1, 2], [0.5, -1]], np.float32)
TABLE = np.arange(14, dtype=np.float32).reshape(7, 2) - 5


@pytest.fixture
def vectors():
    return SubwordVectors(WORDS, MATRIX, TABLE, 3, 4)


def expected(word):
    return TABLE[CharacterNgrams(3, 4, 7).hash([word])[0]].sum(axis=0)


def test_unknown_words_have_the_vectors_of_their_ngrams(vectors):
    np.testing.assert_array_equal(vectors["cat"], MATRIX[0])
    np.testing.assert_array_equal(vectors["cats"], expected("cats"))
    assert "cat" in vectors and "cats" in vectors and len(vectors) == 3
    cosine = expected("cats") @ MATRIX[1] / np.linalg.norm(expected("cats")) / 5**0.5
    assert vectors.similarity("cats", "dog") == pytest.approx(cosine, abs=1e-6)
    assert {word for word, _ in vectors.most_similar("cats")} == set(WORDS)
    assert {word for word, _ in vectors.most_similar("cat")} == {"dog", "éclair"}
    assert {word for word, _ in vectors.analogy("cat", "cats", "dog")} == {"éclair"}


def test_words_without_ngrams(vectors):
    assert "" not in vectors
    longer = SubwordVectors(WORDS, MATRIX, TABLE, 4, 5)
    assert "a" not in longer and "ab" in longer
    with pytest.raises(KeyError, match="no vector for 'a'"):
        longer["a"]
    with pytest.raises(KeyError, match="'cats'"):
        vectors.row_of("cats")


def test_preset(vectors, tmp_path):
    vectors.save_to_preset(tmp_path / "preset", metadata={"description": "x"})
    metadata = json.loads((tmp_path / "preset" / "metadata.json").read_text())
    assert metadata == {"description": "x", "parameter_count": 20}
    for kind in (WordVectors, SubwordVectors):
        loaded = kind.from_preset(tmp_path / "preset")
        assert type(loaded) is SubwordVectors and loaded.words == WORDS
        for word in ("éclair", "cats"):
            np.testing.assert_array_equal(loaded[word], vectors[word])
    WordVectors(WORDS, MATRIX).save_to_preset(tmp_path / "plain")
    assert type(WordVectors.from_preset(tmp_path / "plain")) is WordVectors
    with pytest.raises(ValueError, match="must be SubwordVectors, got WordVectors"):
        SubwordVectors.from_preset(tmp_path / "plain")
    large = SubwordVectors(WORDS, MATRIX, 1e6 * TABLE)
    with pytest.raises(ValueError, match="`ngram_matrix` must have numbers within float16, got 8"):
        large.save_to_preset(tmp_path / "large")
    assert not (tmp_path / "large").exists()


def test_file_of_the_known_words(vectors, tmp_path):
    vectors.save(tmp_path / "file")
    loaded = SubwordVectors.load(tmp_path / "file")
    assert type(loaded) is WordVectors and loaded.words == WORDS
    np.testing.assert_array_equal(loaded.matrix, MATRIX)


def test_an_embedding_takes_the_vectors_of_unknown_words_too(vectors):
    tokenizer = WordTokenizer(["dog", "dogs"])
    layer = vectors.embedding_layer(tokenizer)
    assert isinstance(layer, keras.layers.Embedding)
    found = layer(tokenizer(["dog dogs"]).to_tensor())[0]
    np.testing.assert_array_equal(found, [MATRIX[1], expected("dogs")])


def test_evaluation(vectors, tmp_path):
    (tmp_path / "pairs").write_text("a,b,score\ncat,dog,1\ncats,dogs,5\n")
    (tmp_path / "analogies").write_text("cat dog cats dogs\ncat dog cat dog\n")
    assert evaluate_similarities(vectors, tmp_path / "pairs").covered == 2
    assert evaluate_analogies(vectors, tmp_path / "analogies").covered == 1  # of known words


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"ngram_matrix": TABLE[:, :1]}, "`ngram_matrix` must have vectors of 2 numbers"),
        ({"ngram_matrix": TABLE[0]}, r"`ngram_matrix` .* shape \(2,\)"),
        ({"ngram_matrix": TABLE[:0]}, "`buckets`"),
        ({"maximum_ngram": 2}, "`maximum_ngram`"),
        ({"words": ["cat", "cat", "dog"]}, "`words` must differ"),
    ],
)
def test_bad_arguments(arguments, match):
    with pytest.raises(ValueError, match=match):
        SubwordVectors(**{"words": WORDS, "matrix": MATRIX, "ngram_matrix": TABLE, **arguments})
