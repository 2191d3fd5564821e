"""The README's Python runs as it stands there."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_readme_has_its_blocks():
    assert len(BLOCKS) == 10


# What the last block serves, the one before it exports: one test, so that one process runs both.
SCRIPTS = [*([block] for block in BLOCKS[:-2]), BLOCKS[-2:]]


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=range(len(SCRIPTS)))
def test_blocks_run(script, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for block in script:
        exec(compile(block, f"README.md block {BLOCKS.index(block) + 1}", "exec"), {})
