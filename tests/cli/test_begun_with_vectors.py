"""`seqzoo train tag` and `classify` with word vectors to begin with."""

import numpy as np
import pytest

from keras_seqzoo.data import write_columns
from keras_seqzoo.models import RecurrentTagger, RecurrentTextClassifier
from keras_seqzoo.models.word_vectors import WordVectors

SHORT = ("--units", 3, "--epochs", 1, "--batch-size", 2)
KINDS = {"tag": RecurrentTagger, "classify": RecurrentTextClassifier}
MORE = {"tag": ("--pieces", "none"), "classify": ()}


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    matrix = np.arange(10.0).reshape(2, 5)  # exact in float16, as a preset has them
    WordVectors(["dogs", "cats"], matrix).save_to_preset("vectors")
    write_columns("tag", [["the", "dogs"], ["dogs", "run"]], [["D", "N"], ["N", "V"]])
    (tmp_path / "classify").write_text("good\tthe dogs\nbad\tdogs run\n")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_vectors_say_how_wide_embeddings_are(seqzoo, files, kind):
    common = ("--train", kind, "--valid", kind, "--vectors", "vectors", "--freeze-embeddings")
    common += MORE[kind]
    result = seqzoo("train", kind, *common, *SHORT, "--out", "new")
    assert result.status == 0, result.errors
    model = KINDS[kind].from_preset("new")
    [row] = model.preprocessor.tokenizer.word_ids([["cats"]]).numpy()
    found = model.backbone.token_embedding(row)
    np.testing.assert_array_equal(found, [[5, 6, 7, 8, 9]])
    result = seqzoo("train", kind, *common, *SHORT, "--out", "other", "--embedding-dim", 4)
    assert result.status == 2
    assert "--embedding-dim must be that of --vectors, 5, got 4." in result.errors
