"""The README's Python runs as it stands there."""

import json
import re
import shlex
from pathlib import Path

import httpx
import pytest

from keras_seqzoo import cli
from tests.serving.model_server.process import ServerProcess

TEXT = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)


def test_readme_has_its_blocks():
    assert len(BLOCKS) == 3


@pytest.mark.slow
@pytest.mark.parametrize("block", range(len(BLOCKS) - 1))
def test_blocks_run(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(BLOCKS[block], f"README.md block {block + 1}", "exec"), {})


@pytest.mark.slow
def test_serving(tmp_path, monkeypatch, capfd):
    """Run the export and the requests of the section; a double stands for the server."""
    commands = re.findall(r"^(?:seqzoo|curl) .*", TEXT[TEXT.index("## Serving") :], re.MULTILINE)
    export, curl, translate = map(shlex.split, commands)
    monkeypatch.chdir(tmp_path)
    run_seqzoo(export)
    with ServerProcess({"en_fr": tmp_path / "models" / "en_fr"}) as server:
        url = curl[1].replace("localhost:8501", server.rest)
        answer = httpx.post(f"http://{url}", content=curl[3], timeout=60).json()
        [shown] = re.findall(r"```json\n(.*?)```", TEXT, flags=re.DOTALL)
        [shown], [found] = json.loads(shown)["predictions"], answer["predictions"]
        assert shown["score"] == pytest.approx(found["score"], abs=1e-4)
        assert {**shown, "score": 0} == {**found, "score": 0}
        capfd.readouterr()
        exec(BLOCKS[-1].replace("localhost:8500", server.grpc), {})
        run_seqzoo([word.replace("localhost:8500", server.grpc) for word in translate])
        lines = capfd.readouterr().out.splitlines()
    assert lines == [found["translation"]] * 2
    assert f"# {found['translation']}" in BLOCKS[-1]


def run_seqzoo(words):
    with pytest.raises(SystemExit) as end:
        cli.main(words[1:])
    assert end.value.code == 0
