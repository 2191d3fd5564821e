"""The command line as a process: what only shows outside of this one."""

import os
import pathlib
import signal
import subprocess
import sys

from keras_seqzoo.cli.options import DEFAULT_PRESET
from keras_seqzoo.decoding import BeamSearch
from tests.cli.training_files import OPTIONS, write_files

ROOT = pathlib.Path(__file__).parents[2]


def start(*arguments, **environment):
    inherited = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    return subprocess.Popen(
        [sys.executable, "-m", "keras_seqzoo", *map(str, arguments)],
        env={**inherited, **environment},
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


# A user's shell has none of what the tests set.
VARIABLES = ("KERAS_BACKEND", "TF_CPP_MIN_LOG_LEVEL", "SEQZOO_DEBUG")


def test_results_alone_are_printed(zoo, model):
    texts = ["a red dog", "", "😀 犬"]
    process = start("translate", "--preset", zoo / DEFAULT_PRESET, LC_ALL="C", PYTHONUTF8="0")
    output, errors = process.communicate("\n".join(texts).encode("utf-8"), timeout=300)
    assert errors.decode() == "" and process.returncode == 0
    expected = [best.text for [best] in model.translate(texts, BeamSearch(5, max_source_ratio=3.0))]
    assert output.decode("utf-8").split("\n") == [*expected, ""]


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


def test_interrupt_while_training(tmp_path):
    options = {**OPTIONS, "epochs": 10000, **write_files(tmp_path), "out": tmp_path / "run"}
    pairs = ((f"--{name.replace('_', '-')}", value) for name, value in options.items())
    process = start("train", "translate", *(part for pair in pairs for part in pair))
    shapes, first = (process.stderr.readline().decode() for _ in range(2))
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=300)
    assert "compiled once" in shapes
    assert first.startswith("epoch 1  loss ") and "(best so far, saved)" in first
    assert process.returncode == 130 and output == b""
    *epochs, last = errors.decode().splitlines()
    assert all(line.startswith("epoch ") for line in epochs)
    assert last.startswith("stopped in epoch ")
    assert last.endswith("the same command goes on from there")
    assert (tmp_path / "run" / "config.json").is_file()
