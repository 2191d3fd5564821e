import numpy as np
import pytest
from google.protobuf import text_format
from tensorboard.plugins.projector import ProjectorConfig, projector_plugin

from keras_seqzoo.models.word_vectors import WordVectors, save_projector


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
