"""--config and --print-config: what is printed is read, and what cannot be read is named."""

import re

import pytest
import yaml

from keras_seqzoo.cli.command.config import option_name, option_parameters, read_config
from keras_seqzoo.cli.train import classify
from tests.cli.test_commands import commands
from tests.tiers import mostly_slow

WITHOUT_OPTIONS = ("list", "show")
COMMANDS = [name for name, _ in commands() if name not in WITHOUT_OPTIONS]
GIVEN = (
    *("--train", "a: b.tsv", "--valid", "é #1.tsv", "--out", "null", "--description", "a\nb"),
    *("--learning-rate", "1e-5", "--widths", 2, "--widths", 6, "--encoder", "convolution"),
    *("--balanced", "--pooling", "max", "--no-progress"),
)


@pytest.fixture
def called(monkeypatch):
    """List what `seqzoo train classify` trains instead of training it."""
    calls = []

    def train_preset(ctx, **options):
        calls.append((dict(ctx.params), options["training"]))

    monkeypatch.setattr(classify, "train_labelled_preset", train_preset)
    return calls


@pytest.mark.parametrize("name", mostly_slow(COMMANDS, "translate", "export", "train classify"))
def test_the_printed_defaults_are_all_options_and_are_not_given(seqzoo, tmp_path, name):
    result = seqzoo(*name.split(), "--print-config")
    assert (result.status, result.errors) == (0, "")
    assert result.output.startswith(f"# seqzoo {name} --config FILE\n")
    [command] = [command for own, command in commands() if own == name]
    parameters = option_parameters(command)
    uncommented = re.sub("(?m)^#(?! )", "", result.output)
    assert set(yaml.safe_load(uncommented)) == {option_name(own) for own in parameters}
    required = {option_name(own) for own in parameters if own.required}
    marked = [line for line in result.output.splitlines() if line.endswith("null  # required")]
    assert {line.partition(":")[0] for line in marked} == required
    path = tmp_path / "run.yaml"
    path.write_text(result.output, encoding="utf-8")
    assert read_config(path, command) == {}


def test_a_printed_command_line_is_the_same_run(seqzoo, tmp_path, called):
    path = tmp_path / "run.yaml"
    printed = seqzoo("train", "classify", *GIVEN, "--print-config").output
    path.write_text(printed, encoding="utf-8")
    assert called == []
    again = seqzoo("train", "classify", "--config", path, "--print-config")
    assert again == (0, printed, "")
    assert seqzoo("train", "classify", *GIVEN) == (0, "", "")
    assert seqzoo("train", "classify", "--config", path) == (0, "", "")
    assert called[0] == called[1]
    assert called[0][0]["description"] == "a\nb" and called[0][0]["widths"] == [2, 6]


def test_options_of_the_command_line_win(seqzoo, tmp_path, called):
    path = tmp_path / "run.yaml"
    text = "{train: t, valid: v, out: o, epochs: 7, widths: [1, 2], encoder: convolution, seed: 1}"
    path.write_text(text, encoding="utf-8")
    result = seqzoo("train", "classify", "--epochs", 8, "--widths", 4, "--config", path)
    assert result == (0, "", "")
    [(options, training)] = called
    assert (training.epochs, training.seed) == (8, 1) and options["widths"] == [4]


def test_what_the_file_has_is_given(seqzoo, tmp_path, called):
    """The printed file has options of both encoders, which exclude each other, as comments."""
    given = ("--train", "t", "--valid", "v", "--out", "o")
    path = tmp_path / "run.yaml"
    printed = seqzoo("train", "classify", *given, "--print-config").output
    assert "\n#filters: 100\n" in printed and "\n#units: 128\n" in printed
    path.write_text(printed, encoding="utf-8")
    assert seqzoo("train", "classify", "--config", path) == (0, "", "")
    path.write_text(printed.replace("#filters: 100", "filters: 100"), encoding="utf-8")
    result = seqzoo("train", "classify", "--config", path)
    assert (result.status, result.output) == (2, "")
    assert "--filters must not be given with the --encoder 'lstm', got 100" in result.errors


def test_a_run_from_a_preset_keeps_the_options_as_they_were_given(
    seqzoo, tmp_path, called, monkeypatch
):
    """The preset of --start decides options; the file of the run does not give them."""
    monkeypatch.setattr(classify, "check_task", lambda *_: None)
    configs = []
    train_preset = classify.train_labelled_preset

    def keep(ctx, **options):
        configs.append(ctx.command.config(ctx))
        train_preset(ctx, **options)

    monkeypatch.setattr(classify, "train_labelled_preset", keep)
    given = ("--train", "t", "--valid", "v", "--out", "o", "--start", "lm")
    assert seqzoo("train", "classify", *given) == (0, "", "")
    path = tmp_path / "run.yaml"
    path.write_text(configs[0], encoding="utf-8")
    assert seqzoo("train", "classify", "--config", path) == (0, "", "")
    assert configs[0] == configs[1] and called[0] == called[1]
    assert "\n#units: 128\n" in configs[0] and called[0][0]["units"] is None


BAD = {
    "misspelt": ("seed: 3\nepohcs: 3", ", line 2: epohcs is no option of this command. Did you "
                 "mean epochs?"),
    "underscores": ("batch_size: 3", ", line 1: batch_size is no option of this command. Did you "
                    "mean batch-size?"),
    "no name": ("3: 4", ", line 1: 3 is no option"),
    "config": ("config: x.yaml", ", line 1: config is no option"),
    "twice": ("seed: 3\n\nseed: 3", ", line 3: seed must be given once, got it in line 1 too."),
    "no int": ("epochs: many", ", line 1: epochs must be an int, got 'many'."),
    "bool": ("epochs: true", ", line 1: epochs must be an int, got true."),
    "float": ("epochs: 1.5", ", line 1: epochs must be an int, got 1.5."),
    "no number": ("dropout: [0.5]", ", line 1: dropout must be a number, got [0.5]."),
    "no flag": ("balanced: 1", ", line 1: balanced must be true or false, got 1."),
    "no string": ("description: 5", ", line 1: description must be a string, got 5. Put it in "
                  "quotes."),
    "date": ("out: 2026-11-24", ", line 1: out must be a string, got 2026-11-24. Put it in quotes"),
    "dict": ("out: {a: b}", ", line 1: out must be a string, got {a: b}."),
    "no list": ("widths: x", ", line 1: widths must be a list of one int or more, got 'x'."),
    "empty list": ("pooling: []", ", line 1: pooling must be a list of one string or more, got"),
    "item": ("widths: [3, x]", ", line 1: widths must be an int, got 'x'."),
    "range": ("epochs: 0", ": epochs must be at least 1, got 0."),
    "rate": ("dropout: 1.5", ": dropout must be a number of at least 0 and below 1, got 1.5."),
    "choice": ("encoder: transformer", ": encoder must be one of lstm, gru, elman, convolution, "
               "tree, got 'transformer'."),
    "not YAML": ("seed: 3\nepochs: 3: 4", ", line 2 must be YAML: mapping values are not allowed"),
    "merge": ("a: &b {seed: 1, epochs: 2}\n<<: *b", ", line 2 must be option: value, got a merge"),
    "tag": ("seed: !!python/object:os.system 3", ", line 1 must be YAML: could not determine"),
    "list": ("- seed", " must be lines of option: value, got [seed]."),
    "text": ("epochs", " must be lines of option: value, got 'epochs'."),
    "control": ("a\x00", " must be YAML: "),
    "deep": ("[" * 1500, " must be YAML: "),
    "not UTF-8": (b"out: caf\xe9", " must be UTF-8, got 0xe9."),
    "missing": (None, ": No such file or directory"),
}  # fmt: skip
QUICK = ("misspelt", "twice", "no int", "item", "range", "not YAML", "tag", "missing")


@pytest.mark.parametrize(("text", "message"), mostly_slow(BAD, *QUICK))
def test_bad_files(seqzoo, tmp_path, monkeypatch, called, text, message):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "run.yaml"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    arguments = ("--train", "t", "--valid", "v", "--out", "o", "--config", "run.yaml")
    result = seqzoo("train", "classify", *arguments)
    assert (result.status, result.output) == (2, "")
    [line] = result.errors.splitlines()
    assert line.startswith(f"seqzoo: error: run.yaml{message}")
    assert called == [] and sorted(tmp_path.iterdir()) == [path] * (text is not None)


def test_numbers_without_a_point_and_empty_files_are_read(seqzoo, tmp_path, called):
    path = tmp_path / "run.yaml"
    required = ("--train", "t", "--valid", "v", "--out", "o")
    for text, rate in (("learning-rate: 1e-4", 1e-4), ("learning-rate: 2", 2.0), ("", 1e-3)):
        path.write_text(text, encoding="utf-8")
        assert seqzoo("train", "classify", *required, "--config", path).status == 0
        assert called.pop()[1].learning_rate == rate


def test_what_the_file_lacks_must_be_given(seqzoo, tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text("train: t\nvalid: null\nout: o", encoding="utf-8")
    result = seqzoo("train", "classify", "--config", path)
    assert result.status == 2 and "Missing option '--valid'" in result.errors
