"""`seqzoo train vectors --architecture glove` and `--subwords`."""

import numpy as np
import pytest

from keras_seqzoo.cli.progress.training import EpochProgress
from keras_seqzoo.cli.train import vectors as train_vectors
from keras_seqzoo.models.word_vectors import SubwordVectors, WordVectors
from tests.cli.training_files import InterruptedAt
from tests.tiers import slow

TEXT = "king rules land\nqueen rules land\n\ndog eats bone\ncat eats bone\n" * 30
COMMON = ("--embedding-dim", 4, "--window", 2, "--epochs", 2, "--minimum-count", 2)
GLOVE = ("--architecture", "glove", "--x-max", 10)
SUBWORDS = ("--subwords", "--maximum-ngram", 4, "--buckets", 50)


def test_glove(seqzoo, tmp_path):
    out = tmp_path / "vectors"
    result = seqzoo("train", "vectors", *COMMON, *GLOVE, "--out", out, stdin=TEXT.encode())
    assert result.status == 0, result.errors
    first, *epochs = result.errors.splitlines()
    assert first == "150 lines, 360 words of 8 kinds"
    assert [line.split("  loss ")[0] for line in epochs] == ["epoch 1", "epoch 2"]
    vectors = WordVectors.load(out)
    assert vectors.matrix.shape == (8, 4) and np.isfinite(vectors.matrix).all()


@pytest.mark.parametrize("architecture", ["skip-gram", slow("cbow")])
def test_subwords(seqzoo, tmp_path, architecture):
    out = tmp_path / "preset"
    kind = (*SUBWORDS, "--subsample", 0, "--architecture", architecture, "--format", "preset")
    result = seqzoo("train", "vectors", *COMMON, *kind, "--out", out, stdin=TEXT.encode())
    assert result.status == 0, result.errors
    vectors = WordVectors.from_preset(out)
    assert isinstance(vectors, SubwordVectors) and vectors.ngram_matrix.shape == (50, 4)
    assert (vectors.minimum_ngram, vectors.maximum_ngram) == (3, 4)
    result = seqzoo("similar", "--preset", out, "--number", 3, "kings")
    assert result.status == 0, result.errors
    found = [line.split("\t")[1] for line in result.output.splitlines()]
    assert found == [word for word, _ in vectors.most_similar("kings", 3)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [GLOVE, SUBWORDS], ids=["glove", "subwords"])
def test_a_run_that_is_stopped_resumes(seqzoo, tmp_path, monkeypatch, kind):
    words = ["king", "queen", "rules", "land", "dog", "cat", "eats", "bone"]
    generator = np.random.default_rng(0)
    text = tmp_path / "text"
    lines = [" ".join(generator.choice(words, 10)) for _ in range(4000)]
    text.write_text("\n".join(lines))
    steps = {GLOVE: 1, SUBWORDS: 3}[kind]  # of an epoch
    command = ("train", "vectors", *COMMON, *kind, "--train", text, "--out")
    assert seqzoo(*command, tmp_path / "whole").status == 0
    monkeypatch.setattr(train_vectors, "EpochProgress", InterruptedAt(steps, EpochProgress))
    stopped = seqzoo(*command, tmp_path / "parts")
    assert stopped.status == 130, stopped.errors
    resumed = seqzoo(*command, tmp_path / "parts")
    assert resumed.status == 0 and "resumed at epoch 2 after step 0" in resumed.errors
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--architecture", "glove", "--subwords"), "--subwords cannot be used with --archi"),
        (("--architecture", "glove", "--negatives", 3), "--negatives cannot be used with"),
        (("--architecture", "glove", "--buckets", 3), "--buckets cannot be used with"),
        (("--x-max", 3), "--x-max can only be used with --architecture glove."),
        (("--buckets", 3), "--buckets can only be used with --subwords."),
        (
            ("--subwords", "--maximum-ngram", 2),
            "--maximum-ngram must be at least --minimum-ngram, 3, got 2.",
        ),
        (("--subwords", "--buckets", 0), "--buckets"),
        (("--architecture", "glove", "--x-max", 0), "--x-max"),
    ],
)
def test_errors(seqzoo, tmp_path, arguments, message):
    out = tmp_path / "new"
    result = seqzoo("train", "vectors", *arguments, "--out", out, stdin=TEXT.encode())
    assert result.status == 2
    assert message in result.errors and result.errors.count("\n") == 1
    assert not any(tmp_path.iterdir())


def test_a_text_without_pairs(seqzoo, tmp_path):
    result = seqzoo("train", "vectors", *GLOVE, "--out", tmp_path / "new", stdin=b"a\nb\na\nb\n")
    assert result.status == 2
    assert "must have two words with vectors in one" in result.errors.splitlines()[-1]
    assert not any(tmp_path.iterdir())
