"""The command line as a process: what only shows outside of this one."""

import pytest

from keras_seqzoo.cli.presets import DEFAULT_PRESET
from keras_seqzoo.decoding import BeamSearch
from tests.cli.processes import run_python, start

# Files have no room after the first bytes.
LIMITED = """
import resource
from keras_seqzoo import cli
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
cli.main()
"""


@pytest.mark.slow
def test_results_alone_are_printed(zoo, model):
    texts = ["a red dog", "", "😀 犬"]
    process = start("translate", "--preset", zoo / DEFAULT_PRESET, LC_ALL="C", PYTHONUTF8="0")
    output, errors = process.communicate("\n".join(texts).encode("utf-8"), timeout=300)
    assert errors.decode() == "" and process.returncode == 0
    expected = [best.text for [best] in model.translate(texts, BeamSearch(5, max_source_ratio=3.0))]
    assert output.decode("utf-8").split("\n") == [*expected, ""]


@pytest.mark.slow
def test_a_reader_that_goes_away(zoo):
    process = start("translate", "--preset", zoo / DEFAULT_PRESET, "--beam", 1, "--max-length", 2)
    process.stdout.close()
    process.stdin.write(b"a dog\n" * 10)
    process.stdin.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=300) == 1


def test_another_backend(zoo):
    process = start("translate", "x", KERAS_BACKEND="jax")
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 2 and output == b""
    [line] = errors.decode().splitlines()
    assert line.startswith("seqzoo: error: ") and "'jax'" in line and "tensorflow" in line


@pytest.mark.slow
def test_a_full_disk(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("a red dog\nan old cat\n" * 20, encoding="utf-8")
    folder = tmp_path / "folder"
    folder.mkdir()
    options = ("--kind", "word", "--train", text, "--out", folder / "new")
    done = run_python(LIMITED, "train", "tokenizer", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1] == (  # TensorFlow may have said something before
        "seqzoo: error: a file gets too large for the limit of this process (ulimit -f), in "
        f"{folder}"
    )
    assert list(folder.iterdir()) == []
