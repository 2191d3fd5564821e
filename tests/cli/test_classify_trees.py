"""`seqzoo train classify --encoder tree`, `classify --conllu`, `evaluate` and `export`."""

import numpy as np
import pytest

from keras_seqzoo.models import RecurrentTextClassifier, TreeTextClassifier
from tests.models.classifier.test_tree import LABELS, PARSES, TEXTS
from tests.serving.fresh_server import outputs_of

TINY = ("--encoder", "tree", "--units", 8, "--embedding-dim", 6, "--batch-size", 4)
TINY += ("--learning-rate", 0.02, "--warmup-steps", 2, "--ema-momentum", 0.5, "--dropout", 0)


def with_labels(times):
    rows = zip(LABELS, TEXTS, strict=True)
    return "".join(f"# label = {label}\n{text}" for label, text in rows) * times


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trees")
    (folder / "train.conllu").write_text(with_labels(25))
    (folder / "test.conllu").write_text(with_labels(1))
    (folder / "bare.conllu").write_text("".join(TEXTS))
    (folder / "flat.conllu").write_text(with_labels(1).replace("\t0\t", "\t_\t"))
    (folder / "cycle.conllu").write_text(with_labels(1).replace("\t0\t", "\t1\t"))
    (folder / "some.tsv").write_text("yes\tgood\nno\tbad\n")
    return folder


def train(folder, out, *options, train="train.conllu", valid="test.conllu"):
    files = ("--train", folder / train, "--valid", folder / valid)
    return ("train", "classify", *files, *TINY, "--out", out, *options)


@pytest.mark.slow
def test_there_and_back(seqzoo, folder, tmp_path):
    out = tmp_path / "new"
    result = seqzoo(*train(folder, out, "--epochs", 4))
    assert result.status == 0, result.errors
    assert "best validation accuracy 1;" in result.errors.splitlines()[-1]
    result = seqzoo("classify", "--preset", out, "--conllu", folder / "bare.conllu")
    assert [line.split("\t")[0] for line in result.output.splitlines()] == LABELS
    model = TreeTextClassifier.from_preset(str(out))
    assert [row.labels[0] for row in model.classify(PARSES)] == LABELS
    assert "film" in model.preprocessor.tokenizer.words
    result = seqzoo("evaluate", "--preset", out, "--test", folder / "test.conllu")
    assert result.output.splitlines()[-1].split() == ["accuracy", "1.0000", "4"]
    for arguments, message in [
        (("classify", "A film."), "--conllu must be given with the model of trees"),
        (("evaluate", "--test", folder / "some.tsv"), "some.tsv must be a file of trees"),
        (("export", "--out", tmp_path / "x", "--compiled-shape", "1x8"), "compiled"),
    ]:
        result = seqzoo(arguments[0], "--preset", out, *arguments[1:])
        assert (result.status, result.output) == (2, "") and message in result.errors


@pytest.mark.slow
def test_a_resumed_run_and_the_export(seqzoo, folder, tmp_path):
    for epochs in (1, 4):
        result = seqzoo(*train(folder, tmp_path / "new", "--epochs", epochs))
        assert result.status == 0, result.errors
    assert "resumed at epoch 2 after step 0" in result.errors
    model = TreeTextClassifier.from_preset(str(tmp_path / "new"))
    result = seqzoo("export", "--preset", tmp_path / "new", "--out", tmp_path / "served")
    assert result.status == 0, result.errors
    texts = [*TEXTS, "", "The door was open."]  # a server answers whatever it is asked
    found = outputs_of(result.output.strip(), texts)
    assert found["label"][:4] == LABELS
    expected = model.predict_probabilities([*TEXTS, "", ""])
    np.testing.assert_allclose(found["probabilities"], expected, atol=1e-5)


@pytest.mark.slow
def test_other_encoders_read_the_text_of_a_conllu_file(seqzoo, folder, tmp_path):
    files = ("--train", folder / "train.conllu", "--valid", folder / "test.conllu")
    options = ("--units", 4, "--embedding-dim", 4, "--epochs", 1)
    result = seqzoo("train", "classify", *files, *options, "--out", tmp_path / "new")
    assert result.status == 0, result.errors
    model = RecurrentTextClassifier.from_preset(str(tmp_path / "new"))
    assert set(model.preprocessor.tokenizer.words) == {"a", "text"}  # the comment `# text`


@pytest.mark.parametrize(
    ("files", "options", "message"),
    [
        ({"train": "some.tsv"}, (), "some.tsv must be a file of trees in CoNLL-U (.conllu)"),
        ({"train": "bare.conllu"}, (), "bare.conllu, line 1: must have a comment `# label = "),
        ({"valid": "flat.conllu"}, (), "flat.conllu, line 1: "),
        ({"train": "cycle.conllu"}, (), "cycle.conllu, line 1: `heads` must form a tree"),
        ({}, ("--filters", 3), "--filters must not be given with the --encoder 'tree'"),
        ({}, ("--bidirectional",), "--bidirectional must not be given with the --encoder 'tree'"),
        ({}, ("--tokenizer", "bpe"), "--tokenizer must not be given with the --encoder 'tree'"),
        ({}, ("--truncation-side", "left"), "--truncation-side must not be given with the --enc"),
    ],
)
def test_bad_input(seqzoo, folder, tmp_path, files, options, message):
    result = seqzoo(*train(folder, tmp_path / "new", *options, **files))
    assert (result.status, result.output) == (2, "")
    [line] = result.errors.splitlines()
    assert message in line
    assert not (tmp_path / "new" / "config.json").exists()


def test_trees_are_for_models_of_trees(seqzoo, folder, tmp_path, monkeypatch):
    for arguments, message in [
        (("--conllu", folder / "bare.conllu", "A film."), "TEXT cannot be used with --conllu"),
        (("--conllu", "x", "--preset", "gru_plain"), "--conllu can only be used with a model of"),
    ]:
        result = seqzoo("classify", *arguments)
        assert (result.status, result.output) == (2, "")
        assert message in result.errors
