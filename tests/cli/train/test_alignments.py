import pytest

from keras_seqzoo.models import RecurrentSeq2SeqLM
from tests.cli.processes import run_python
from tests.cli.training_files import arguments, write_files
from tests.tiers import slow
from tests.training.interrupts import assert_equal

INTERRUPTED = """
from keras_seqzoo import cli
from keras_seqzoo.cli.train import preset as train_preset
from tests.cli.training_files import InterruptedAt
train_preset.TrainingProgress = InterruptedAt(step=4)
cli.main()
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    path = folder / "train.align"
    path.write_text("0-0 1-1 2-2\n" * 23 + "\n", encoding="utf-8")
    return {**write_files(folder), "alignments": path, "objective": "supervised-attention"}


@pytest.mark.slow
def test_a_run_with_alignments_goes_on_in_another_process(seqzoo, files, tmp_path):
    whole = seqzoo(*arguments(files, tmp_path / "whole", alignment_weight=0.5))
    assert (whole.status, whole.output) == (0, "")
    epochs = [line for line in whole.errors.splitlines() if line.startswith("epoch")]
    for line in epochs:
        figures = [part.split()[0] for part in line.split("  ")]
        assert figures[:6] == ["epoch", "loss", "seconds", "val_loss", "bleu", "chrf"]
    out = tmp_path / "parts"
    stopped = run_python(INTERRUPTED, *arguments(files, out, alignment_weight=0.5))
    assert stopped.returncode == 130 and "stopped in epoch 2 after step 1" in stopped.stderr
    other = tmp_path / "other.align"
    other.write_text("0-0\n" * 24, encoding="utf-8")
    for change, message in [
        ({"alignments": other, "alignment_weight": 0.5}, "--alignments was '24 lines, sha256"),
        ({}, "--alignment-weight was 0.5, got 1"),
    ]:
        refused = seqzoo(*arguments(files, out, **change))
        assert refused.status == 2 and message in refused.errors
    resumed = seqzoo(*arguments(files, out, alignment_weight=0.5))
    assert resumed.status == 0 and "resumed at epoch 2 after step 1" in resumed.errors
    models = [
        RecurrentSeq2SeqLM.from_preset(str(tmp_path / name / "training" / "last"))
        for name in ("whole", "parts")
    ]
    assert_equal(*(model.get_weights() for model in models))


def refused(seqzoo, files, out, **changes):
    found = seqzoo(*arguments({**files, **changes}, out))
    assert (found.status, found.output) == (2, "")
    return found.errors


@pytest.mark.parametrize(
    ("text", "message"),
    [
        slow("0-0\n" * 23, "must have the same number of lines, got 24 in "),
        ("0-0\n" * 4 + "0-3\n" * 20, ", line 5: a link must be of one of the 3 target words, fro"),
        slow(
            "0-0\n" * 4 + "3-0\n" * 20, ", line 5: a link must be of one of the 3 source words, fro"
        ),
        slow("0-0\n\n0:0\n" * 8, ", line 3: a link must be the positions of two words"),
    ],
)
def test_wrong_alignments_are_refused(seqzoo, files, tmp_path, text, message):
    path = tmp_path / "wrong.align"
    path.write_text(text, encoding="utf-8")
    errors = refused(seqzoo, files, tmp_path / "out", alignments=path)
    assert message in errors and str(path) in errors
    assert not (tmp_path / "out" / "config.json").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"objective": "likelihood"}, "--alignments must be given with --objective supervised-at"),
        ({"alignments": None}, "--objective supervised-attention must be given with --alignment"),
        ({"subword_dropout": 0.1}, "--subword-dropout must not be given with the objective super"),
        slow(
            {"attention": "none", "attention_units": None},
            "must not be supervised-attention for a model without attention",
        ),
        ({"alignment_weight": -1}, "--alignment-weight must be at least 0, got -1"),
    ],
)
def test_options_that_contradict_are_refused(seqzoo, files, tmp_path, changes, message):
    found = seqzoo(*arguments(files, tmp_path / "out", **changes))
    assert found.status == 2 and message in found.errors
