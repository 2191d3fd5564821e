import inspect

import pytest

import keras_seqzoo
from keras_seqzoo.cli import translate
from keras_seqzoo.cli.application import MainCommands, TrainCommands
from tests.cli.processes import run_program, run_python

# As the installed script does, and then what was imported.
SCRIPT = """
import pathlib, sys
sys.argv[0] = str(pathlib.Path(sys.executable).with_name("seqzoo"))
from keras_seqzoo.cli import main
try:
    main()
finally:
    print([name for name in ("tensorflow", "keras") if name in sys.modules])
"""


def test_version(seqzoo):
    assert seqzoo("--version") == (0, f"seqzoo {keras_seqzoo.__version__}\n", "")


@pytest.mark.parametrize(
    "command",
    [
        (),
        ("list",),
        ("translate",),
        ("evaluate",),
        ("score",),
        ("align",),
        ("lexicon",),
        ("rescore",),
        ("export",),
        ("train",),
        ("generate",),
        ("train", "translate"),
        ("train", "ngram"),
    ],
)
def test_help(seqzoo, command):
    result = seqzoo(*command, "--help")
    assert result.status == 0 and result.errors == ""
    assert " ".join(("Usage: seqzoo", *command)) in result.output
    assert "..." not in result.output.partition("Commands:")[2]  # no summary is cut


@pytest.mark.parametrize("group", [MainCommands, TrainCommands])
def test_the_list_of_commands_says_what_their_own_help_does(group):
    for name, entry in group.entries.items():
        command = entry.load(name)
        assert inspect.getdoc(command.callback).partition("\n")[0] == entry.summary
        assert "Example" in command.epilog


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (("--help",), "Usage: seqzoo"),
        (("train", "--help"), "Usage: seqzoo train"),
        (("--version",), "seqzoo "),
        (("list",), "gru_attention_multi30k_en_fr"),
    ],
)
def test_what_needs_no_tensorflow_does_not_import_it(arguments, shown):
    done = run_python(SCRIPT, *arguments)
    *output, imported = done.stdout.splitlines()
    assert (done.returncode, imported, done.stderr) == (0, "[]", "")
    assert shown in "\n".join(output)


def test_completion_of_a_command_does_not_import_it_either():
    words = {"COMP_WORDS": "seqzoo tra", "COMP_CWORD": "1"}
    done = run_python(SCRIPT, _SEQZOO_COMPLETE="complete_bash", **words)
    assert done.stdout.split() == ["translate", "train", "[]"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["seqzoo", "seqzoo/__main__.py"])
def test_a_program_of_the_same_name_has_the_whole_package(tmp_path, name):
    program = tmp_path / name
    program.parent.mkdir(exist_ok=True)
    program.write_text("import keras_seqzoo\nprint(len(keras_seqzoo.zoo.list_presets()) > 1)\n")
    done = run_program(program.parent if name.endswith(".py") else program)
    assert (done.stdout, done.returncode) == ("True\n", 0)


@pytest.mark.parametrize("command", [(), ("train",)])
def test_without_a_command_there_is_help(seqzoo, command):
    result = seqzoo(*command)
    assert result.status == 2 and result.output == ""
    assert "Commands:" in result.errors


@pytest.mark.parametrize(
    "error, status, message",
    [
        (KeyboardInterrupt(), 130, ""),
        (
            RuntimeError("two\nlines"),
            1,
            "internal error: RuntimeError: two lines (set SEQZOO_DEBUG=1",
        ),
        (OSError(28, "No space left on device"), 2, "error: No space left on device"),
        (PermissionError(13, "Permission denied", "x.h5"), 2, "error: x.h5: Permission denied"),
        (MemoryError(), 1, "internal error: MemoryError"),
        (BrokenPipeError(32, "Broken pipe"), 1, ""),
    ],
)
def test_what_becomes_of_errors(seqzoo, monkeypatch, error, status, message):
    def fail(preset):
        raise error

    monkeypatch.setattr(translate, "load_translation_models", fail)
    result = seqzoo("translate", "A dog.")
    assert result.status == status and result.output == ""
    assert len(result.errors.splitlines()) == bool(message)
    assert message in result.errors


def test_debugging_shows_where(seqzoo, monkeypatch):
    monkeypatch.setenv("SEQZOO_DEBUG", "1")
    result = seqzoo("translate", "--preset", "nowhere", "A dog.")
    assert result.status == 2
    assert "Traceback" in result.errors and "preset_path" in result.errors
