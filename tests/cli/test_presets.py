"""One rule for --preset: a default wherever a command is for one family of models."""

import pytest
import typer

from keras_seqzoo.zoo import list_presets
from tests.command_tree import all_commands

ANY_FAMILY = {"evaluate", "export", "score", "tokenize"}


def preset_options():
    for name, command in all_commands().items():
        for option in command.params:
            if "--preset" in option.opts:
                yield name, command, option


def test_every_command_that_takes_a_preset_is_here():
    names = {name for name, *_ in preset_options()}
    own = {"align", "classify", "generate", "lexicon", "rescore", "similar", "tag", "translate"}
    assert names == own | ANY_FAMILY


@pytest.mark.parametrize("name, command, option", list(preset_options()))
def test_a_preset_of_the_package_is_the_default(name, command, option):
    default = option.default
    if name in ANY_FAMILY:
        assert not default
        return
    default = default if isinstance(default, str) else "".join(default)
    assert default in list_presets()
    context = typer.Context(command, info_name=name)
    assert f"[default: {default}]" in " ".join(command.get_help(context).split())


@pytest.mark.slow
@pytest.mark.parametrize("command", ["classify", "tag", "generate"])
def test_commands_without_a_preset(command, seqzoo, monkeypatch):
    monkeypatch.undo()  # the presets of the package
    result = seqzoo(command, "A dog barks.")
    assert result.status == 0 and len(result.output.splitlines()) == 1
