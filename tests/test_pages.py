"""The manual: its Python runs, its commands and options are there, and its links lead somewhere."""

import re
import shlex
from pathlib import Path

import pytest

from tests.command_tree import all_commands, flags
from tests.made_up import parallel_text

ROOT = Path(__file__).parent.parent
PAGES = {page.stem: page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md")}
PAGES["README"] = (ROOT / "README.md").read_text(encoding="utf-8")
# Their blocks go on from files and servers that the reader has; `test_readme` runs the README's.
NOT_RUN = {"training", "serving", "README"}


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", PAGES[page], flags=re.DOTALL)


def command_lines():
    """Yield the page and each line that calls `seqzoo`, of all pages."""
    for page in sorted(PAGES):
        shell = "".join(blocks(page, "bash")).replace("\\\n", " ")
        for line in shell.splitlines():
            line = re.split(r"#| [|<>] |$", line.strip())[0]
            if line.startswith("seqzoo "):
                yield page, line


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(set(PAGES) - NOT_RUN))
def test_blocks_run(page, tmp_path, monkeypatch, capsys):
    """The blocks of a page go on from each other, and print what comments say they print."""
    monkeypatch.chdir(tmp_path)
    english, french = parallel_text(16)
    monkeypatch.setattr("keras_seqzoo.data.load_multi30k", lambda *_, **__: (english, french))
    links = ["".join(f"{place}-{place} " for place in range(len(line.split()))) for line in english]
    Path("train.align").write_text("".join(f"{line.strip()}\n" for line in links))
    names = {}
    for number, block in enumerate(blocks(page, "python"), 1):
        exec(compile(block, f"{page}.md block {number}", "exec"), names)
    if page == "translation":
        lines = capsys.readouterr().out.splitlines()
        assert any(line.startswith("['Two', 'dogs', 'run', 'through',") for line in lines)
        assert f"# {lines[-1]}" in PAGES[page]


@pytest.mark.parametrize(("page", "line"), sorted(set(command_lines())))
def test_commands_are_there(page, line):
    _, *words = shlex.split(line)
    name = " ".join(words[: 2 if words[0] == "train" else 1])
    given = {word.partition("=")[0] for word in words if word.startswith("--")}
    assert given <= flags(all_commands()[name] if not name.startswith("-") else all_commands()[""])


@pytest.mark.parametrize("page", sorted(PAGES))
def test_links_within_the_repository(page):
    folder = ROOT if page == "README" else ROOT / "docs"
    targets = re.findall(r"\]\((?!https?:|#|reference/)([^)#\s]+)", PAGES[page])
    assert [target for target in targets if not (folder / target).exists()] == []
