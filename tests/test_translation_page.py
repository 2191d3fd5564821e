"""The Python of docs/translation.md runs, and its commands and options are there."""

import re
import shlex
from pathlib import Path

import pytest

from tests.command_tree import all_commands, flags

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
    command = all_commands()[" ".join(words[: 2 if words[0] == "train" else 1])]
    assert {word for word in words if word.startswith("--")} <= flags(command)
