"""`seqzoo train classify`, `classify`, `evaluate` and `export` of a text classifier."""

import json

import numpy as np
import pytest

from keras_seqzoo.training import make_text_classifier
from keras_seqzoo.zoo import save_preset
from tests.data.test_training_files import write_records
from tests.serving.fresh_server import outputs_of
from tests.training.test_classifier import LABELS, TEXTS

TINY = ("--embedding-dim", 8, "--batch-size", 4, "--learning-rate", 0.02)
TINY += ("--warmup-steps", 2, "--ema-momentum", 0.5, "--dropout", 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of texts with labels."""
    folder = tmp_path_factory.mktemp("classify")
    rows = list(zip(LABELS, TEXTS, strict=True))
    (folder / "train.tsv").write_text("".join(f"{l}\t{t}\n" for l, t in rows * 6))  # noqa: E741
    (folder / "test.tsv").write_text("".join(f"{l}\t{t}\n" for l, t in rows))  # noqa: E741
    (folder / "odd.tsv").write_text("yes\tA film\nmaybe\tA film\n")
    (folder / "one.tsv").write_text("yes\tA film\n")
    (folder / "other.tsv").write_text("perhaps\tA film\nmaybe\tA film\n")
    (folder / "old.png").write_text("old")
    many = [{"text": text, "label": ["x"] if "ood" in text else []} for text in TEXTS * 3]
    (folder / "many.jsonl").write_text("\n".join(map(json.dumps, many)))
    return folder


@pytest.fixture(scope="module")
def classifier(folder):
    """A preset among the files."""
    small = {"embedding_dim": 3, "units": 3}
    save_preset(make_text_classifier(TEXTS, LABELS, backbone_options=small), folder / "classifier")


@pytest.mark.slow
def test_records_are_evaluated_like_lines(seqzoo, folder, classifier, tmp_path):
    rows = [{"text": text, "label": label} for text, label in zip(TEXTS, LABELS, strict=True)]
    records = write_records(tmp_path / "test.tfrecord", rows)
    command = ("evaluate", "--preset", folder / "classifier", "--test")
    expected = seqzoo(*command, folder / "test.tsv")
    assert expected.status == 0 and expected.output.splitlines()[-1].startswith("accuracy")
    assert seqzoo(*command, records) == expected


def test_a_wrong_label_is_found_in_its_file(seqzoo, folder, tmp_path):
    (tmp_path / "1.csv").write_text('text,label\n"Not\nbad",yes\nBad,no\n')
    (tmp_path / "2.jsonl").write_text('{"text": "Dull", "label": ["no"]}\n')
    files = ("--train", tmp_path / "1.csv", "--train", tmp_path / "2.jsonl")
    valid = ("--valid", folder / "test.tsv", "--out", tmp_path / "new")
    result = seqzoo("train", "classify", *files, *valid)
    assert (result.status, result.output) == (2, "")
    assert f"{tmp_path}/2.jsonl, line 1: must have one label" in result.errors


@pytest.mark.slow
def test_there_and_back(seqzoo, folder, tmp_path):
    files = ("--train", folder / "train.tsv", "--valid", folder / "test.tsv")
    out = tmp_path / "new"
    result = seqzoo("train", "classify", *files, *TINY, "--units", 8, "--epochs", 3, "--out", out)
    assert result.status == 0, result.errors
    first, *epochs, last = result.errors.splitlines()
    assert first == "6 batches an epoch" and len(epochs) == 3
    assert "finished: 3 epochs, best validation accuracy 1;" in last
    result = seqzoo("classify", "--preset", out, stdin="\n".join([*TEXTS, ""]).encode())
    rows = [line.split("\t") for line in result.output.splitlines()]
    assert [row[0] for row in rows[:4]] == LABELS
    result = seqzoo("classify", "--preset", out, "--all", TEXTS[0], "")
    [(best, probability, other, rest), empty] = [r.split("\t") for r in result.output.splitlines()]
    assert (best, other) == ("yes", "no") and float(probability) + float(rest) == pytest.approx(1.0)
    assert float(empty[1]) == 0.5
    picture = tmp_path / "confusion.png"
    test = ("--test", folder / "test.tsv", "--confusion", picture)
    result = seqzoo("evaluate", "--preset", out, *test)
    assert result.status == 0 and picture.is_file()
    assert result.output.splitlines()[-1].split() == ["accuracy", "1.0000", "4"]
    version = seqzoo("export", "--preset", out, "--out", tmp_path / "served").output.strip()
    found = outputs_of(version, [*TEXTS, ""])
    assert found["label"][:4] == LABELS
    assert np.shape(found["labels"]) == np.shape(found["probabilities"]) == (5, 2)


def test_unknown_labels_count_as_wrong(seqzoo, folder, classifier):
    arguments = ("--preset", folder / "classifier", "--test", folder / "odd.tsv")
    result = seqzoo("evaluate", *arguments)
    assert result.status == 0, result.errors
    rows = {line.split()[0]: line.split()[1:] for line in result.output.splitlines()}
    assert list(rows) == ["class", "no", "yes", "maybe", "macro", "accuracy"]
    assert rows["maybe"] == ["0.0000", "0.0000", "0.0000", "1"]
    assert "labels are unknown to the model and count as errors: maybe" in result.errors


@pytest.mark.slow
def test_options_reach_the_model(seqzoo, folder, tmp_path):
    files = ("--train", folder / "many.jsonl", "--valid", folder / "many.jsonl")
    options = ("--encoder", "convolution", "--filters", 4, "--widths", 1, "--widths", 2)
    options += ("--pooling", "k-max", "--k", 2, "--sequence-length", 5, "--epochs", 1)
    with_one = tmp_path / "one.jsonl"
    with_one.write_text((folder / "many.jsonl").read_text() + '\n{"text": "a", "label": ["y"]}')
    files = ("--train", with_one, "--valid", folder / "many.jsonl")
    result = seqzoo("train", "classify", *files, *TINY, *options, "--out", tmp_path / "new")
    assert result.status == 0, result.errors
    metadata = json.loads((tmp_path / "new" / "task.json").read_text())["config"]
    assert metadata["multi_label"] and metadata["pooling"] == "k-max" and metadata["k"] == 2
    config = json.loads((tmp_path / "new" / "config.json").read_text())["config"]
    assert config["widths"] == [1, 2] and config["filters"] == 4
    result = seqzoo("evaluate", "--preset", tmp_path / "new", "--test", folder / "many.jsonl")
    assert result.output.startswith("accuracy ")
    test = ("--test", folder / "many.jsonl", "--confusion", tmp_path / "confusion.png")
    result = seqzoo("evaluate", "--preset", tmp_path / "new", *test)
    assert (
        result.status == 2
        and "--confusion can only be used if each text has one label" in result.errors
    )
    result = seqzoo("classify", "--preset", tmp_path / "new", stdin=b"a\nb\n")
    assert result.status == 0 and len(result.output.split("\n")) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("classify", "--preset", "gru_plain", "a"), "--preset must be a text classifier"),
        (("classify", "--preset", "none", "a"), "got 'none'"),
        (("train", "classify", "--train", "none"), "'--valid'"),
        (
            ("train", "classify", "--train", "none", "--valid", "none", "--out", "new"),
            "none: no such file",
        ),
        (
            ("train", "classify", "--train", "train.tsv", "--valid", "other.tsv", "--out", "new"),
            "other.tsv must have a label that train.tsv has, got maybe, perhaps.",
        ),
        (
            *(("train", "classify", "--start", "x", "--units", 3, "--train", "train.tsv",
               "--valid", "odd.tsv", "--out", "new"),),
            "--units cannot be used with --start",
        ),
        (
            *(("train", "classify", "--freeze-embeddings", "--train", "train.tsv", "--valid",
               "train.tsv", "--out", "new"),),
            "--freeze-embeddings cannot be used without --vectors or --start.",
        ),
        (
            *(("train", "classify", "--start", "gru_plain", "--train", "train.tsv", "--valid",
               "train.tsv", "--out", "new"),),
            "--start must be a recurrent language model, got gru_plain",
        ),
        (
            *(("train", "classify", "--encoder", "convolution", "--word-dropout", 0.1, "--train",
               "train.tsv", "--valid", "train.tsv", "--out", "new"),),
            "--word-dropout must not be given with the --encoder 'convolution', got 0.1",
        ),
        (("evaluate", "--preset", "gru_plain", "--test", "odd.tsv"), "--test can only be used"),
        (("evaluate", "--preset", "gru_plain"), "--source must be given"),
        (("evaluate", "--preset", "classifier"), "--test must be given"),
        (
            ("evaluate", "--preset", "classifier", "--source", "a"),
            "--source can only be used with a translation model",
        ),
        (
            ("evaluate", "--preset", "classifier", "--entities"),
            "--entities can only be used with a tagger",
        ),
        (
            ("evaluate", "--preset", "classifier", "--test", "many.jsonl"),
            "many.jsonl, line 1: must have one label",
        ),
        (
            ("train", "classify", "--train", "one.tsv", "--valid", "odd.tsv", "--out", "new"),
            "the labels of one.tsv must have two different names or more, got yes",
        ),
        (
            ("evaluate", "--preset", "classifier", "--test", "odd.tsv", "--confusion", "old.png"),
            "--confusion must be a new file, got the existing file old.png",
        ),
        (
            ("export", "--preset", "classifier", "--out", "x", "--beam", 2),
            "--beam can only be used with",
        ),
        (("evaluate", "--preset", "classifier", "--test", "odd.tsv", "--confusion", "x.doc"),
         "x.doc"),
    ],
)  # fmt: skip
def test_errors(seqzoo, folder, classifier, monkeypatch, arguments, message):
    monkeypatch.chdir(folder)
    result = seqzoo(*arguments)
    assert (result.status, result.output) == (2, "")
    [line] = result.errors.splitlines()
    assert message in line
    assert not (folder / "new" / "config.json").exists()
