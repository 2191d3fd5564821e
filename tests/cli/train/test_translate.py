import errno
import json
import os
import signal

import pytest

from keras_seqzoo.cli.presets import DEFAULT_PRESET
from keras_seqzoo.cli.train import translate as command
from keras_seqzoo.models import RecurrentSeq2SeqLM
from keras_seqzoo.training import RunState, TranslationTraining
from tests.cli.processes import run_python
from tests.cli.training_files import arguments, write_files
from tests.training.interrupts import assert_equal


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("texts"))


def interrupt(*arguments, **options):
    os.kill(os.getpid(), signal.SIGINT)


# A process of its own that stops in its second epoch.
INTERRUPTED = """
from keras_seqzoo import cli
from keras_seqzoo.cli.train import preset as train_preset
from tests.cli.training_files import InterruptedAt
train_preset.TrainingProgress = InterruptedAt(step=4)
cli.main()
"""


@pytest.mark.slow
def test_a_run_that_was_stopped_goes_on_in_another_process(seqzoo, files, tmp_path, monkeypatch):
    whole = seqzoo(*arguments(files, tmp_path / "whole"))
    assert (whole.status, whole.output) == (0, "")
    shapes, *epochs, last = (
        line for line in whole.errors.splitlines() if not line.startswith("BLEU is 0")
    )
    assert shapes == "3 batches an epoch, of 1 shape: each is compiled once"
    assert [line.split("  ")[0] for line in epochs] == ["epoch 1", "epoch 2"]
    for line in epochs:
        figures = [part.split()[0] for part in line.split("  ")]
        assert figures[:6] == ["epoch", "loss", "seconds", "val_loss", "bleu", "chrf"]
    assert "(best so far, saved)" in epochs[0]
    assert "finished: 2 epochs, best validation chrf" in last

    out = tmp_path / "parts"
    stopped = run_python(INTERRUPTED, *arguments(files, out))
    assert (stopped.returncode, stopped.stdout) == (130, "")
    assert stopped.stderr.splitlines()[-1] == (
        "stopped in epoch 2 after step 1; the same command resumes from there"
    )

    # Other options or other text cannot go on with it, nor can it go on twice at a time.
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    other = tmp_path / "other"
    other.write_text("x\n" * 4, encoding="utf-8")
    for change, message in [
        ({"learning_rate": 0.02}, "--learning-rate was 0.01, got 0.02"),
        ({"attention": "dot"}, "--attention was 'general', got 'dot'"),
        ({"context": "every_step"}, "--context was 'initial', got 'every_step'"),
        ({"measure": "loss"}, "--measure was 'chrf', got 'loss'"),
        ({"valid_target": other}, "--valid-target was '4 lines, sha256"),
    ]:
        refused = seqzoo(*arguments(files, out, **change))
        assert (refused.status, refused.output) == (2, "")
        [line] = refused.errors.splitlines()
        assert message in line and line.count(", got ") == 1
    assert before == {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    with RunState(out).lock:
        refused = seqzoo(*arguments(files, out, source="none"))  # before files are read
    assert (refused.status, refused.output) == (2, "")
    [line] = refused.errors.splitlines()
    assert line.startswith(f"seqzoo: error: another run trains here: process {os.getpid()} on ")
    with monkeypatch.context() as patch:
        patch.setattr(command, "_make_model", interrupt)
        early = seqzoo(*arguments(files, out))
    assert early == (
        130,
        "",
        "interrupted before training resumed; the run stays in epoch 2 after step 1, and the same "
        "command resumes from there\n",
    )

    packages = json.loads((out / "training" / "packages.json").read_text(encoding="utf-8"))
    old = json.dumps({**packages, "keras": "3.0.0"})
    (out / "training" / "packages.json").write_text(old, encoding="utf-8")
    free = {"description": "Other words.", "checkpoint_minutes": 0.1, "patience": 5}
    resumed = seqzoo(*arguments(files, out, **free))
    assert resumed.status == 0
    assert (
        f"goes on with other packages: keras was 3.0.0, is {packages['keras']}." in resumed.errors
    )
    assert json.loads((out / "training" / "packages.json").read_text()) == packages
    assert "description: Other words.\n" in (out / "run.yaml").read_text(encoding="utf-8")
    assert "resumed at epoch 2 after step 1" in resumed.errors
    assert resumed.errors.splitlines()[-1] == last.replace("whole", "parts")
    for preset in ("", "training/last"):
        models = [
            RecurrentSeq2SeqLM.from_preset(str(tmp_path / name / preset))
            for name in ("whole", "parts")
        ]
        assert_equal(*(model.get_weights() for model in models))
    metadata = json.loads((out / "metadata.json").read_text(encoding="utf-8"))
    assert (metadata["training"]["measure"], metadata["training"]["bleu_tokenizer"]) == (
        "chrf",
        "13a",
    )

    again = seqzoo(*arguments(files, out))
    assert again.status == 0 and again.errors.splitlines() == resumed.errors.splitlines()[-1:]
    assert seqzoo("translate", "--preset", out / "training" / "last", "a dog").status == 0

    more = seqzoo(*arguments(files, out, epochs=3))
    assert more.status == 0 and "resumed at epoch 3 after step 0" in more.errors
    assert "finished: 3 epochs" in more.errors.splitlines()[-1]


def test_an_interrupt_before_training_loses_nothing(seqzoo, files, tmp_path, monkeypatch):
    said = "interrupted before training began: nothing is lost; give the same command again\n"
    made = []
    for name in ("ParallelFiles", "_make_model"):
        with monkeypatch.context() as patch:
            patch.setattr(command, name, interrupt)
            assert seqzoo(*arguments(files, tmp_path / "new")) == (130, "", said)
        assert not (tmp_path / "new").exists()
    with monkeypatch.context() as patch:  # when the folder is this run's already
        patch.setattr(RunState, "restore", interrupt)
        assert seqzoo(*arguments(files, tmp_path / "new")) == (130, "", said)
    with monkeypatch.context() as patch:
        patch.setattr(TranslationTraining, "run", lambda training, *_, **__: made.append(training))
        seqzoo(*arguments(files, tmp_path / "new"))
    assert made  # the same command goes as far as before


def test_a_second_interrupt_ends_the_run_within_a_step(seqzoo, files, tmp_path, monkeypatch):
    def run(training, *arguments, callbacks, **options):
        callbacks[0].set_params({"steps": 3})
        callbacks[0].on_train_begin()
        interrupt()

    monkeypatch.setattr(TranslationTraining, "run", run)
    result = seqzoo(*arguments(files, tmp_path / "new"))
    assert (result.status, result.output) == (130, "")
    assert result.errors == (
        "stopped within a step; the same command resumes from the last saved step\n"
    )


def test_options_reach_the_model(files, tmp_path, seqzoo, monkeypatch):
    made = []

    def stop(model, *arguments, **options):
        made.append((model, options))
        raise ValueError("enough")

    monkeypatch.setattr(command, "TranslationTraining", stop)
    changes = {"attention": "none", "context": "every_step", "cell": "lstm", "decoder_layers": 2}
    sizes = {"vocabulary_size": 266, "attention_units": None}
    flags = ("--untied", "--residual", "--separate-vocabularies", "--mixed-bfloat16")
    flags += ("--measure", "loss", "--bleu-tokenizer", "char")
    result = seqzoo(*arguments(files, tmp_path / "new", **sizes, **changes), *flags)
    assert "enough" in result.errors
    flags = ("--no-scaled-attention", "--input-feeding", "--attend", "before")
    flags += ("--attention-terms", "coverage", "--attention-terms", "position")
    flags += ("--attention-losses", "fertility", "--attention-weighting", "monotonic")
    flags += ("--encoder", "lstm", "--readout", "deep")
    seqzoo(*arguments(files, tmp_path / "new"), *flags)
    flags = ("--encoder", "convolution", "--encoder-layers", 2, "--convolution-width", 5)
    seqzoo(*arguments(files, tmp_path / "new"), *flags, "--convolution-activation", "glu")
    (plain, options), (attentive, _), (convolutional, _) = made
    config = plain.backbone.get_config()
    for name, value in {**changes, "attention": None, "residual": True, "dropout": 0.3}.items():
        assert config[name] == value
    assert not config["share_embeddings"] and not plain.tie_softmax
    assert plain.backbone.dtype_policy.name == "mixed_bfloat16"
    assert options["boundaries"] == (8,) and options["batch_size"] == 8
    assert (options["measure"], options["bleu_tokenizer"]) == ("loss", "char")
    config = attentive.backbone.get_config()
    assert (config["attention"], config["attention_units"]) == ("general", 4)
    assert config["input_feeding"] and not config["scaled_attention"]
    parts = [config[f"attention_{name}"] for name in ("terms", "losses", "weighting")]
    assert parts == [["coverage", "position"], ["fertility"], "monotonic"]
    assert (config["attend"], config["readout"]) == ("before", "deep")
    assert (config["encoder"], config["cell"]) == ("lstm", "gru") and config["encoder_units"] == 3
    encoder = convolutional.encoder
    assert (encoder.num_layers, encoder.width, encoder.activation) == (2, 5, "glu")
    assert plain.backbone.get_config()["encoder"] is None
    assert not (tmp_path / "new").exists()


def test_a_run_starts_from_a_preset(seqzoo, files, model, tmp_path, monkeypatch):
    made = []

    def stop(model, *arguments, **options):
        made.append((model, options))
        raise ValueError("enough")

    monkeypatch.setattr(command, "TranslationTraining", stop)
    paths = [part for name, file in files.items() for part in (f"--{name.replace('_', '-')}", file)]
    start = ("train", "translate", *paths, "--out", tmp_path / "new", "--start")
    risk = ("--objective", "minimum-risk", "--risk-samples", 3, "--no-risk-reference")
    result = seqzoo(*start, DEFAULT_PRESET, "--max-length", 9, "--early-stopping", *risk)
    assert "enough" in result.errors
    [(started, options)] = made
    assert_equal(started.get_weights(), model.get_weights())
    for side in ("tokenizer", "encoder_tokenizer"):
        vocabularies = [
            getattr(one.preprocessor, side).get_vocabulary() for one in (started, model)
        ]
        assert vocabularies[0] == vocabularies[1]
    assert options["boundaries"] == (8, 9) and options["patience"] == 3
    assert not options["risk_reference"]
    assert started.backbone.dropout == model.backbone.dropout == 0
    assert "enough" in seqzoo(*start, DEFAULT_PRESET, "--dropout", 0.2).errors
    changed = made.pop()[0]
    assert changed.backbone.dropout == 0.2
    assert_equal(changed.get_weights(), model.get_weights())
    assert options["objective"] == "minimum-risk" and options["risk_samples"] == 3
    for option in (("--cell", "gru"), ("--separate-vocabularies",), ("--untied",)):
        result = seqzoo(*start, DEFAULT_PRESET, *option)
        assert result.status == 2 and f"{option[0]} cannot be used with --start" in result.errors
    # What is not given is the preset's, and is recorded so: given later, it is another option.
    recorded = options["metadata"]["training"]
    for name in ("tokenizer", "dropout", "readout", "decoder_units"):
        assert options["options"][name] is recorded[name] is None
    for name, message in (("none", "got 'none'"), (files["source"].parent, "got")):
        result = seqzoo(*start, name)
        assert result.status == 2 and message in result.errors.splitlines()[-1]
    assert len(made) == 1 and not (tmp_path / "new").exists()


def test_names_of_options_in_errors(seqzoo, files, tmp_path):
    other = {"valid_target": files["target"]}
    result = seqzoo(*arguments({**files, **other}, tmp_path / "new"))
    assert "--valid-source and --valid-target must have the same number" in result.errors


@pytest.mark.parametrize("gone", [False, True])
def test_a_full_disk_at_the_end_of_an_epoch(seqzoo, files, tmp_path, monkeypatch, gone):
    def run(training, *arguments, **options):
        checkpoints = training.state._checkpoints
        checkpoints.folder.mkdir(parents=True, exist_ok=True)
        (checkpoints.folder / "weights").write_text("w", encoding="utf-8")
        checkpoints.checkpoints.append({"files": {"weights": {"name": "weights"}}})
        if gone:
            (checkpoints.folder / "weights").unlink()
        raise OSError(errno.ENOSPC, "no space left in some/folder")

    monkeypatch.setattr(TranslationTraining, "run", run)
    result = seqzoo(*arguments(files, tmp_path / "new"))
    assert (result.status, result.output) == (2, "")
    *kept, error = result.errors.splitlines()
    resumed = ["the last checkpoint is kept; the same command resumes from it"]
    assert kept == ([] if gone else resumed)
    assert error.startswith("seqzoo: error: ") and error.endswith("no space left in some/folder")


def test_defaults_are_those_of_the_pretrained_models(seqzoo, files, tmp_path, monkeypatch):
    seen = {}

    def stop(model, directory, metadata, **_):
        seen.update(metadata["training"])
        raise ValueError("enough")

    monkeypatch.setattr(command, "_make_model", lambda *_: None)
    monkeypatch.setattr(command, "TranslationTraining", stop)
    paths = [part for name, file in files.items() for part in (f"--{name.replace('_', '-')}", file)]
    seqzoo("train", "translate", *paths, "--out", tmp_path / "new")
    expected = {
        "tokenizer": "bpe",
        "vocabulary_size": None,
        "separate_vocabularies": False,
        "cell": "gru",
        "embedding_dim": 256,
        "encoder_units": 256,
        "decoder_units": 512,
        "attention": "general",
        "attention_units": 256,
        "scaled_attention": True,
        "dropout": 0.3,
        "label_smoothing": 0.1,
        "batch_size": 64,
        "learning_rate": 2e-3,
        "warmup_steps": 400,
        "epochs": 30,
        "early_stopping": False,
        "patience": None,
        "checkpoint_minutes": 5.0,
        "checkpoint_steps": None,
        "ema_momentum": 0.999,
        "max_length": 64,
        "measure": "chrf",
        "bleu_tokenizer": "13a",
    }
    assert {name: seen[name] for name in expected} == expected
    assert command._boundaries(64) == (8, 12, 16, 20, 24, 32, 48, 64)
    assert command._boundaries(10) == (8, 10)


BAD = {
    "missing file": ({"source": "{folder}/no"}, "{folder}/no: no such file"),
    "folder as file": ({"valid_source": "{folder}"}, "must be a file, got the folder"),
    "unequal lengths": ({"source": "{short}"}, "got 1 in {short} and"),
    "unequal validation": ({"valid_target": "{short}"}, "and 1 in {short}"),
    "not UTF-8": ({"target": "{latin}"}, "{latin}, line 1 must be UTF-8"),
    "no text": (
        {"source": "{empty}", "target": "{empty}"},
        "{empty} must have at least one line of text",
    ),
    "no validation text": (
        {"valid_source": "{empty}", "valid_target": "{empty}"},
        "{empty} must have sources and targets of the same number",
    ),
    "out is a file": ({"out": "{short}"}, "--out must be a folder, got a file: {short}"),
    "out is below a file": ({"out": "{short}/x"}, "{short}"),
    "out is full": ({"out": "{folder}"}, "got {folder}, which has other files"),
    "vocabulary": ({"vocabulary_size": 100}, "--vocabulary-size must be above 261"),
    "large vocabulary": ({"vocabulary_size": 90000}, "--vocabulary-size must be at most"),
    "units": ({"decoder_units": 0}, "--decoder-units must be "),
    "dropout": ({"dropout": 1.0}, "--dropout must be "),
    "dropout nan": ({"dropout": "nan"}, "--dropout must be "),
    "ema": ({"ema_momentum": 1.0}, "--ema-momentum must be "),
    "label smoothing": ({"label_smoothing": 1.5}, "--label-smoothing must be "),
    "rate": ({"learning_rate": "nan"}, "--learning-rate must be "),
    "patience": ({"patience": 0}, "--patience must be "),
    "minutes": ({"checkpoint_minutes": 0}, "--checkpoint-minutes must be a number above 0"),
    "steps": ({"checkpoint_steps": 0}, "--checkpoint-steps must be "),
    "start": ({"start": "{folder}"}, "{folder}"),
    "decay": ({"weight_decay": "inf"}, "--weight-decay must be "),
    "cell": ({"cell": "transformer"}, "--cell must be "),
    "measure": ({"measure": "meteor"}, "--measure must be "),
    "objective": ({"objective": "ter"}, "--objective must be "),
    "risk without a start": ({"objective": "minimum-risk"}, "must be given with --start"),
    "options of another objective": (
        {"risk_samples": 3},
        "--risk-samples must not be given without the objective minimum-risk, got 3",
    ),
    "samples": ({"risk_samples": 0}, "--risk-samples must be "),
    "BLEU tokenizer": ({"bleu_tokenizer": "13b"}, "--bleu-tokenizer must be one of"),
    "order": ({"attend": "between", "attend_from": "bottom"}, "--attend-from must be 'top'"),
    "readout": ({"readout": "state"}, "--readout must be "),
    "encoder": ({"encoder": "transformer"}, "--encoder must be "),
    "direction of convolutions": (
        {"encoder": "convolution", "direction": "reversed"},
        "--direction must not be given with a convolutional --encoder, got 'reversed'",
    ),
    "width of another encoder": (
        {"encoder": "lstm", "convolution_width": 5},
        "--convolution-width must not be given with a recurrent --encoder, got 5",
    ),
    "bridge to another cell": (
        {"encoder": "lstm", "bridge": "copy", "direction": "forward", "encoder_units": 5},
        '--bridge must be "tanh" unless the encoder',
    ),
    "term": ({"attention_terms": "cover"}, "--attention-terms must be one of position"),
    "terms without attention": (
        {"attention": "none", "attention_units": None, "attention_losses": "coverage"},
        "--attention must not be None with --attention-losses",
    ),
    "units without attention": (
        {"attention": "none"},
        "--attention-units must not be given without --attention, got 4",
    ),
    "the default of units without attention": (
        {"attention": "none", "attention_units": 256},
        "--attention-units must not be given without --attention, got 256",
    ),
    "scale of no losses": (
        {"attention_loss_scale": 0.5},
        "--attention-loss-scale must not be given without --attention-losses, got 0.5",
    ),
    "options that do not go together": ({"context": "every_step"}, "context"),
    "pairs too long": (
        {"max_length": 2},
        "of at most 2 tokens a side (the last of --max-length ",
    ),
}


@pytest.mark.parametrize("changes, message", BAD.values(), ids=BAD)
def test_bad_input(seqzoo, files, tmp_path, changes, message):
    contents = {"short": b"a\n", "latin": b"caf\xe9\n", "empty": b""}
    folder = tmp_path / "folder"
    folder.mkdir()
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    places = {"folder": folder, **{name: folder / name for name in contents}}
    changes = {
        name: value.format(**places) if isinstance(value, str) else value
        for name, value in changes.items()
    }
    out = changes.pop("out", tmp_path / "new")
    result = seqzoo(*arguments(files, out, **changes))
    assert (result.status, result.output) == (2, "")
    [line] = result.errors.splitlines()
    assert line.startswith("seqzoo: error: ") and message.format(**places) in line
    assert sorted(path.name for path in tmp_path.rglob("*")) == sorted(["folder", *contents])
    assert {name: (folder / name).read_bytes() for name in contents} == contents


@pytest.mark.slow
def test_unknown_words_are_copied_from_the_command_line(seqzoo, tmp_path):
    files = write_files(tmp_path)
    options = {"tokenizer": "word", "source_output": "copy", "epochs": 1}
    command = arguments(files, tmp_path / "copying", **options)
    place = command.index("--vocabulary-size")
    result = seqzoo(*command[:place], *command[place + 2 :])
    assert result.status == 0, result.errors
    result = seqzoo("translate", "--preset", tmp_path / "copying", stdin=b"the xylophone\n")
    assert result.status == 0 and "[UNK]" not in result.output and "\u2047" not in result.output
    command = arguments(
        files, tmp_path / "new", **{**options, "tokenizer": "bpe", "vocabulary_size": 265}
    )
    refused = seqzoo(*command, "--separate-vocabularies")
    message = "--separate-vocabularies must not be given with the --source-output copy"
    assert refused.status == 2 and message in refused.errors
