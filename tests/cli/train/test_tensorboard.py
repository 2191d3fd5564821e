import pytest
import tensorflow as tf

from keras_seqzoo.training import TranslationTraining
from tests.callbacks import events
from tests.cli.processes import run_python
from tests.cli.train.test_translate import INTERRUPTED
from tests.cli.training_files import arguments, write_files
from tests.tiers import slow


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("texts"))


@pytest.mark.parametrize(
    ("flags", "folder"),
    [
        slow((), None),
        slow(("--no-tensorboard",), None),
        slow(("--tensorboard",), "out/training/logs"),
        (("--tensorboard", "--no-progress"), "out/training/logs"),
        slow(("--tensorboard", "logs"), "logs"),
        slow(("--tensorboard=logs/run",), "logs/run"),
    ],
)
def test_the_folder(seqzoo, files, tmp_path, monkeypatch, flags, folder):
    runs = []

    def run(self, *arguments, **options):
        runs.append(self)
        raise ValueError("enough")

    monkeypatch.setattr(TranslationTraining, "run", run)
    monkeypatch.chdir(tmp_path)
    result = seqzoo(*arguments(files, "out"), *flags)
    assert "enough" in result.errors
    [training] = runs
    assert training.tensorboard is None if folder is None else str(training.tensorboard) == folder
    assert not any("tensorboard" in name for name in training.options)
    # The command line overrides a configuration, in both directions.
    others = ("no-tensorboard: true", "--tensorboard"), ("tensorboard: x", "--no-tensorboard")
    for text, flag in others:
        (tmp_path / "run.yaml").write_text(f"{text}\n")
        seqzoo(*arguments(files, "out"), "--config", "run.yaml", flag)
        assert (runs.pop().tensorboard is None) == (flag == "--no-tensorboard")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--tensorboard", "file"), "--tensorboard must be a folder, got a file: file."),
        (("--tensorboard", "--no-tensorboard"), "--no-tensorboard cannot be used with --tensor"),
    ],
)
def test_errors_come_before_everything_else(seqzoo, files, tmp_path, monkeypatch, flags, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    result = seqzoo(*arguments(files, "out"), *flags)
    assert (result.status, result.output) == (2, "")
    [line] = result.errors.splitlines()
    assert message in line
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_folder_that_the_writer_cannot_use(seqzoo, tmp_path, monkeypatch):
    """Such as on a disk that is full by then."""

    def full(folder):
        raise tf.errors.ResourceExhaustedError(None, None, "no space")

    monkeypatch.setattr(tf.summary, "create_file_writer", full)
    result = train_family(seqzoo, tmp_path, "lm", "--tensorboard", tmp_path / "logs")
    assert result.status == 2
    message = (
        f"--tensorboard must be a folder that can be written to, got {tmp_path}/logs: no space."
    )
    assert message in result.errors.splitlines()[-1]


TINY = ("--epochs", 2, "--batch-size", 4, "--units", 2, "--embedding-dim", 2)
TAGGED = "mia\tB-person\nsees\tO\n\nhe\tO\n\n"
FAMILIES = {
    "lm": ("a b\nb a\n" * 6, TINY, {"validation/perplexity", "samples/generations"}),
    "classify": (
        "yes\tgood film\nno\tbad film\n" * 6,
        TINY,
        {"validation/accuracy", "samples/classifications"},
    ),
    "tag": (TAGGED * 6, TINY, {"validation/accuracy", "samples/tags"}),
}


def train_family(seqzoo, folder, family, *arguments):
    text, flags, _ = FAMILIES[family]
    (folder / "train.txt").write_text(text, encoding="utf-8")
    files = ("--train", folder / "train.txt", "--valid", folder / "train.txt")
    return seqzoo("train", family, *files, *flags, "--out", folder / "new", *arguments)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_each_family(seqzoo, tmp_path, family):
    result = train_family(seqzoo, tmp_path, family, "--tensorboard")
    assert result.status == 0, result.errors
    found = events.read(tmp_path / "new" / "training" / "logs")
    for name in FAMILIES[family][2] | {"train/loss", "gradient_norm/all"}:
        assert len(found[name]) >= 2, name


@pytest.mark.slow
def test_translations_of_a_run_that_gets_it_later(seqzoo, files, tmp_path):
    out = tmp_path / "new"
    stopped = run_python(INTERRUPTED, *arguments(files, out))
    assert stopped.returncode == 130
    result = seqzoo(*arguments(files, out), "--tensorboard")
    assert result.status == 0, result.errors
    found = events.read(out / "training" / "logs")
    assert [step for step, _ in found["validation/chrf"]] == [6]
    assert found["samples/translations"] and found["alignments/1"]
