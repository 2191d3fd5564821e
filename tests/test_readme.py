"""The README's Python runs as it stands there."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_readme_has_its_blocks():
    assert len(BLOCKS) == 10


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One folder for all blocks: what one exports, the next serves."""
    return tmp_path_factory.mktemp("readme")


@pytest.mark.parametrize("index", range(len(BLOCKS)))
def test_block_runs(index, folder, monkeypatch):
    monkeypatch.chdir(folder)
    exec(compile(BLOCKS[index], f"README.md block {index + 1}", "exec"), {})
