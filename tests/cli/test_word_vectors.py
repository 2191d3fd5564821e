"""`seqzoo train vectors`, `seqzoo similar`, and models that begin with word vectors."""

import gzip

import numpy as np
import pytest

from keras_seqzoo.cli.progress.training import EpochProgress
from keras_seqzoo.cli.train import vectors as train_vectors
from keras_seqzoo.data import write_columns
from keras_seqzoo.data.file_lock import FileLock
from keras_seqzoo.models import RecurrentTagger, RecurrentTextClassifier
from keras_seqzoo.models.word_vectors import WordVectors
from keras_seqzoo.tokenizers import TextTokenizer
from tests.cli.training_files import InterruptedAt

TEXT = "King rules land.\nQueen rules land.\n\nDog eats bone\nCat eats bone\n" * 30
OPTIONS = (
    "--embedding-dim",
    8,
    "--window",
    2,
    "--subsample",
    0,
    "--epochs",
    2,
    "--minimum-count",
    2,
)
SHORT = ("--units", 3, "--epochs", 1, "--batch-size", 2)
KINDS = {"tag": RecurrentTagger, "classify": RecurrentTextClassifier}
MORE = {"tag": ("--pieces", "none"), "classify": ()}


def test_there_and_back(seqzoo, tmp_path):
    out, text = tmp_path / "vectors", tmp_path / "text.gz"
    text.write_bytes(gzip.compress(TEXT.encode()))
    flags = ("--normalization", "lowercase", "--split-punctuation", "--collocation-passes", 1)
    result = seqzoo("train", "vectors", *OPTIONS, *flags, "--train", text, "--out", out)
    assert result.status == 0, result.errors
    first, *epochs = result.errors.splitlines()
    assert first == "150 lines, 420 words of 9 kinds"
    assert [line.split("  loss ")[0] for line in epochs] == ["epoch 1", "epoch 2"]
    vectors = WordVectors.load(out)
    assert vectors.matrix.shape == (9, 8) and "king" in vectors and "." in vectors
    again = tmp_path / "again"
    seqzoo("train", "vectors", *OPTIONS, *flags, "--out", again, stdin=TEXT.encode())
    np.testing.assert_allclose(WordVectors.load(again).matrix, vectors.matrix, atol=1e-5)
    found = seqzoo("similar", "--vectors", out, "--number", 2, "king", "dog")
    rows = [line.split("\t") for line in found.output.splitlines()]
    expected = [(word, *near) for word in ("king", "dog") for near in vectors.most_similar(word, 2)]
    assert [tuple(row[:2]) for row in rows] == [row[:2] for row in expected]
    assert [float(row[2]) for row in rows] == pytest.approx([row[2] for row in expected], abs=1e-3)
    found = seqzoo("similar", "--vectors", out, "--analogy", "--number", 1, "dog", "eats", "king")
    assert found.output.split("\t")[1] == vectors.analogy("dog", "eats", "king", 1)[0][0]


@pytest.mark.slow
def test_other_kinds(seqzoo, tmp_path):
    out = tmp_path / "vectors"
    kinds = ("--architecture", "cbow", "--objective", "hierarchical", "--format", "word2vec-binary")
    result = seqzoo("train", "vectors", *OPTIONS, *kinds, "--out", out, stdin=TEXT.encode())
    assert result.status == 0
    result = seqzoo("similar", "--vectors", out, "--format", "word2vec-binary", "King")
    assert len(result.output.splitlines()) == len(WordVectors.load(out, "word2vec-binary")) - 1


@pytest.mark.slow
def test_a_run_that_is_stopped_resumes(seqzoo, tmp_path, monkeypatch):
    text = tmp_path / "text"
    text.write_text(TEXT * 120)  # three batches an epoch
    command = ("train", "vectors", *OPTIONS, "--train", text, "--out")
    assert seqzoo(*command, tmp_path / "whole").status == 0

    interrupted = InterruptedAt(5, EpochProgress)
    monkeypatch.setattr(train_vectors, "EpochProgress", interrupted)
    stopped = seqzoo(*command, tmp_path / "parts")
    assert stopped.status == 130 and "stopped in epoch 2 after step 2; the same" in stopped.errors
    assert (tmp_path / "parts.training").is_dir() and not (tmp_path / "parts").exists()
    other = seqzoo(*command, tmp_path / "parts", "--seed", 1)
    assert other.status == 2 and "has other options: --seed was 0, got 1" in other.errors
    with FileLock(tmp_path / "parts.training" / "run.lock"):
        assert "another run trains here" in seqzoo(*command, tmp_path / "parts").errors

    resumed = seqzoo(*command, tmp_path / "parts", "--checkpoint-minutes", 1)
    assert resumed.status == 0 and "resumed at epoch 2 after step 2" in resumed.errors
    assert {path.name for path in tmp_path.iterdir()} == {"text", "whole", "parts"}
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "vectors"), "'--out'"),
        (("train", "vectors", "--out", "none/file"), "no such folder: none"),
        (
            ("train", "vectors", "--out", "good"),
            "--out must be a new file, got the existing file good",
        ),
        (("train", "vectors", "--out", "new", "--train", "none"), "none: no such file"),
        (("train", "vectors", "--out", "new"), "standard input must have a word, got none."),
        (("train", "vectors", "--out", "new", "--normalization", "x"), "--normalization must be "),
        (("similar", "--vectors", "none", "king"), "none: no such file"),
        (("similar", "--vectors", "good", "kings"), "'kings'; did you mean king?"),
        (
            ("similar", "--vectors", "good", "--analogy", "king"),
            "must be given three times with --analogy, got 1.",
        ),
        (("similar", "--vectors", "good", "--format", "glove", "king"), "in the format 'word2vec'"),
        (
            ("similar", "--vectors", "good", "--preset", "p", "king"),
            "--preset cannot be used with --vectors",
        ),
        (("similar", "--format", "glove", "king"), "--format can only be used with --vectors"),
        (("similar", "--vectors", "good"), "WORD"),
    ],
)
def test_errors(seqzoo, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good").write_text("2 2\nking 1 2\nqueen 1 3\n")
    result = seqzoo(*arguments)
    assert result.status == 2
    assert message in result.errors and result.errors.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["good"]


@pytest.mark.slow
def test_a_preset(seqzoo, tmp_path):
    out = tmp_path / "new"
    flags = ("--normalization", "lowercase", "--split-punctuation", "--format", "preset")
    result = seqzoo("train", "vectors", *OPTIONS, *flags, "--out", out, stdin=TEXT.encode())
    assert result.status == 0, result.errors
    vectors, tokenizer = WordVectors.from_preset(out), TextTokenizer.from_preset(out)
    assert tokenizer.words == vectors.words and "king" in vectors
    layer = vectors.embedding_layer(tokenizer)
    found = layer(tokenizer(["KING."]))[0]
    np.testing.assert_array_equal(found, [vectors["king"], vectors["."]])
    result = seqzoo("similar", "--preset", out, "--number", 1, "king")
    assert result.status == 0 and result.output.startswith("king\t")
    again = seqzoo("train", "vectors", *OPTIONS, *flags, "--out", out, stdin=TEXT.encode())
    assert again.status == 2 and "got one with files" in again.errors
    for option in (("--collocation-passes", 1), ("--format", "glove", "--description", "x")):
        refused = seqzoo("train", "vectors", *flags, *option, "--out", tmp_path / "other")
        assert refused.status == 2 and "--format preset" in refused.errors
    assert not (tmp_path / "other").exists()


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
    assert "--embedding-dim must be the dimension of --vectors, 5, got 4." in result.errors
