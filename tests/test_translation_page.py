"""The Python of docs/translation.md runs, and its commands and options are there."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from keras_seqzoo.cli.application import app
from keras_seqzoo.cli.command.lazy import LazyCommand

PAGE = Path(__file__).parent.parent / "docs" / "translation.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
SHELL = "".join(re.findall(r"```bash\n(.*?)```", TEXT, flags=re.DOTALL)).replace("\\\n", " ")


@pytest.mark.slow
def test_blocks_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for block in BLOCKS:
        exec(compile(block, PAGE.name, "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("['Two', 'dogs', 'run', 'through', 'the', 'snow.']")
    assert f"# {lines[-1]}" in TEXT


@pytest.mark.parametrize("line", SHELL.splitlines())
def test_commands_are_there(line):
    name, *words = shlex.split(line)
    assert name == "seqzoo"
    command = typer.main.get_command(app)
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]
    command = command.load() if isinstance(command, LazyCommand) else command
    flags = {flag for option in command.params for flag in (*option.opts, *option.secondary_opts)}
    assert {word for word in words if word.startswith("--")} <= flags
