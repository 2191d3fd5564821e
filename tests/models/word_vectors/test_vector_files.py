import gzip

import gensim
import numpy as np
import pytest
from google.protobuf import text_format
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tensorboard.plugins.projector import ProjectorConfig, projector_plugin

from keras_seqzoo.models.word_vectors import WordVectors, save_projector
from keras_seqzoo.models.word_vectors.vector_files import FORMATS, read_vectors, write_vectors
from tests.properties import examples

WORDS = ["the", "été", "New_York", "😀", "1.5", "\u200b-\u200d"]
words = st.lists(
    st.text(min_size=1, max_size=5).filter(lambda word: word.split() == [word]),
    unique=True,
    min_size=1,
    max_size=6,
)


def matrix_of(number, seed=0, size=7):
    return np.random.default_rng(seed).normal(size=(number, size)).astype(np.float32)


@pytest.mark.parametrize("format", FORMATS)
@examples(60)
@given(words, st.data())
def test_round_trip(tmp_path_factory, format, words, data):
    size = data.draw(st.integers(1, 5))
    finite = st.floats(width=32, allow_nan=False, allow_infinity=False)
    matrix = data.draw(arrays.arrays(np.float32, (len(words), size), elements=finite))
    path = tmp_path_factory.getbasetemp() / f"vectors-{format}"
    write_vectors(path, words, matrix, format)
    found, values = read_vectors(path, format)
    assert found == words
    np.testing.assert_array_equal(values, matrix)


@pytest.mark.parametrize("binary", [False, True])
def test_gensim_reads_and_writes_them(tmp_path, binary):
    path, format = tmp_path / "vectors", "word2vec-binary" if binary else "word2vec"
    matrix = matrix_of(len(WORDS))
    WordVectors(WORDS, matrix).save(path, format)
    read = gensim.models.KeyedVectors.load_word2vec_format(path, binary=binary)
    assert read.index_to_key == WORDS
    np.testing.assert_array_equal(read.vectors, matrix)
    read.save_word2vec_format(path, binary=binary)
    again = WordVectors.load(path, format)
    assert again.words == WORDS
    np.testing.assert_allclose(again.matrix, matrix, rtol=1e-6)


def test_glove_as_it_is_published(tmp_path):
    path = tmp_path / "glove.txt.gz"
    path.write_bytes(gzip.compress(b"the 0.5 -1\n. 1e-3 2\n"))
    vectors = WordVectors.load(path, "glove")
    assert vectors.words == ["the", "."]
    np.testing.assert_allclose(vectors.matrix, [[0.5, -1], [1e-3, 2]])


@pytest.mark.parametrize(
    ("format", "content", "match"),
    [
        ("word2vec", b"", "line 1: must be the numbers of words and dimensions, got ''"),
        (
            "word2vec",
            b"the 1.5 2\n",
            "words and dimensions, got 'the 1.5 2'.*'glove'",
        ),
        ("word2vec", b"2 1\nthe 1\n", "must have 2 words, the number in line 1, got 1"),
        ("word2vec", b"1 2\nthe 1\n", "line 2: must be a word and 2 numbers"),
        ("word2vec", b"1 1\nthe x\n", "line 2: must be a word and 1 numbers"),
        ("word2vec", b"2 1\na 1\na 1\n", "must have different words"),
        ("word2vec", b"1 1\na nan\n", "must have finite numbers, got others for 'a'"),
        ("word2vec", b"1 1\n\xff 1\n", "line 2 must be UTF-8"),
        ("glove", b"a 1 2\nb 1\n", "line 2: must be a word and 2 numbers"),
        ("glove", b"a\n", "line 1"),
        ("glove", b"1 2\na 1 2\n", "line 1: must be a word and numbers, got '1 2'"),
        (
            "word2vec-binary",
            b"2 1\na \x00\x00\x00\x00\n",
            "must have 2 words, the number in line 1, got 1",
        ),
        ("word2vec-binary", b"1 2\na \x00\x00", "must have 1 words, .* got 0"),
        ("gensim", b"", "`format`.*word2vec, word2vec-binary, glove"),
    ],
)
def test_bad_files(tmp_path, format, content, match):
    path = tmp_path / "vectors"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=match):
        read_vectors(path, format)


def test_words_that_no_file_can_hold(tmp_path):
    path = tmp_path / "vectors"
    path.write_text("precious")
    with pytest.raises(ValueError, match="'New York'"):
        write_vectors(path, ["New York"], matrix_of(1))
    assert path.read_text() == "precious"
    with pytest.raises(FileNotFoundError, match="no such file"):
        read_vectors(tmp_path / "none")


def test_tensorboard_reads_them(tmp_path):
    words = ["the", "été", "😀"]
    matrix = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    save_projector(WordVectors(words, matrix), tmp_path / "logs")
    config = ProjectorConfig()
    text_format.Parse((tmp_path / "logs" / "projector_config.pbtxt").read_text(), config)
    [embedding] = config.embeddings
    path = tmp_path / "logs" / embedding.tensor_path
    found = projector_plugin._read_tensor_tsv_file(str(path))
    np.testing.assert_allclose(found, matrix, rtol=1e-6)
    assert (tmp_path / "logs" / embedding.metadata_path).read_text().splitlines() == words
    save_projector(WordVectors(words, matrix), tmp_path / "logs", most=2)
    assert len(projector_plugin._read_tensor_tsv_file(str(path))) == 2


def test_words_that_the_files_cannot_hold(tmp_path):
    with pytest.raises(ValueError, match=r"'a\\tb'"):
        save_projector(WordVectors(["a\tb"], [[1.0]]), tmp_path / "logs")
    assert not (tmp_path / "logs").exists()
