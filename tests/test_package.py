"""What importing the package does: the backend check, the quiet command line, no other effect."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

import keras_seqzoo
from keras_seqzoo import _environment

SCRIPT = str(pathlib.Path(sys.executable).with_name("seqzoo"))  # as pip writes it


def run(code, *arguments, **environment):
    """Run Python code in a fresh process."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in ("KERAS_BACKEND", "KERAS_HOME") and not name.startswith(("TF_CPP", "TF_CPU"))
    }
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        cwd=os.path.dirname(os.path.dirname(keras_seqzoo.__file__)),
        timeout=300,
    )


def test_public_names():
    for name in keras_seqzoo.__all__:
        assert hasattr(keras_seqzoo, name)
    assert re.match(r"\d+(\.\d+)*", keras_seqzoo.__version__)


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_another_backend_is_one_clear_error(backend):
    result = run("import keras_seqzoo", KERAS_BACKEND=backend)
    assert result.returncode == 1
    assert result.stderr.count("Traceback") == 1
    *_, last = result.stderr.strip().splitlines()
    assert last == (
        f"ImportError: keras_seqzoo runs on Keras' TensorFlow backend only, got {backend!r} from "
        "the environment variable KERAS_BACKEND. Set KERAS_BACKEND=tensorflow before Keras is "
        "first imported."
    )


def test_another_backend_in_keras_configuration(tmp_path):
    (tmp_path / "keras.json").write_text(json.dumps({"backend": "jax"}))
    result = run("import keras_seqzoo", KERAS_HOME=str(tmp_path))
    assert result.returncode == 1
    assert f"got 'jax' from {tmp_path / 'keras.json'}." in result.stderr


def test_another_backend_at_the_command_line():
    code = f"import sys; sys.argv = [{SCRIPT!r}]; import keras_seqzoo"
    result = run(code, KERAS_BACKEND="jax")
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith("seqzoo: error: keras_seqzoo runs on Keras' TensorFlow")
    assert len(result.stderr.splitlines()) == 1


def test_the_backend_is_that_of_an_imported_keras(monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    assert _environment.keras_backend()[0] == "tensorflow"
    _environment.check_backend()


def test_damaged_keras_configuration_means_the_default(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "keras", None)
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    (tmp_path / "keras.json").write_text("{")
    assert _environment.keras_backend()[0] == "tensorflow"
    (tmp_path / "keras.json").write_text('{"floatx": "float32"}')
    assert _environment.keras_backend()[0] == "tensorflow"


@pytest.mark.parametrize(
    "argv, original, expected",
    [
        ([SCRIPT, "list"], ["python", SCRIPT, "list"], True),
        (["/none/seqzoo", "list"], ["python", "/none/seqzoo", "list"], False),
        (["seqzoo"], ["python", "seqzoo"], False),  # a folder, perhaps
        (["-m", "list"], ["python", "-m", "keras_seqzoo", "list"], True),
        (["-m", "list"], ["python", "-W", "ignore", "-m", "keras_seqzoo", "list"], True),
        (["-m"], ["python", "-mkeras_seqzoo"], True),
        (["/lib/keras_seqzoo/__main__.py"], ["python", "-m", "keras_seqzoo"], True),
        (["-m", "keras_seqzoo"], ["python", "-m", "other", "keras_seqzoo"], False),
        (["/lib/pytest/__main__.py"], ["python", "-m", "pytest"], False),
        (["train.py", "seqzoo"], ["python", "train.py", "seqzoo"], False),
        (["seqzoo.py"], ["python", "seqzoo.py"], False),
        (["-c"], ["python", "-c", "import keras_seqzoo"], False),
        ([""], ["python"], False),
    ],
)
def test_is_command_line(monkeypatch, argv, original, expected):
    monkeypatch.setattr(sys, "argv", argv)
    monkeypatch.setattr(sys, "orig_argv", original)
    assert _environment.is_command_line() is expected


USE = """
import tensorflow as tf
@tf.function(jit_compile=True)
def double(x):
    return 2 * x
assert double(tf.ones(2)).numpy().sum() == 4
"""


@pytest.mark.slow
def test_a_command_loads_its_parts_in_silence():
    code = f"""
import sys
sys.argv = [{SCRIPT!r}]
from keras_seqzoo.cli.command import lazy
assert "tensorflow" not in sys.modules
lazy.import_parts()
{USE}
"""
    result = run(code)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "environment", "keeps"),
    [
        ("lm", {}, True),
        ("lm", {"TF_CPU_ALLOCATOR_USE_BFC": "0"}, False),
        ("tokenizer", {}, False),
    ],
)
def test_a_command_that_trains_keeps_freed_memory(command, environment, keeps):
    code = f"""
from keras_seqzoo.cli.application import TrainCommands
TrainCommands.entries[{command!r}].load({command!r})
import tensorflow as tf
tf.zeros([3])
try:
    tf.config.experimental.get_memory_info("CPU:0")
    print("kept")
except ValueError:  # the C library's allocator has no statistics
    print("given back")
"""
    # With oneDNN, the default on recent Intel processors, TensorFlow always keeps this memory.
    result = run(code, TF_ENABLE_ONEDNN_OPTS="0", **environment)
    assert result.stdout == ("kept\n" if keeps else "given back\n"), result.stderr


@pytest.mark.slow
def test_a_library_leaves_logging_and_imports_alone():
    code = """
import logging, os, sys
import keras_seqzoo
assert "TF_CPP_MIN_LOG_LEVEL" not in os.environ
assert logging.getLogger("tensorflow").level in (logging.NOTSET, logging.INFO, logging.WARNING)
assert "sacrebleu" not in sys.modules
"""
    result = run(code)
    assert (result.returncode, result.stdout) == (0, ""), result.stderr


def test_what_a_failed_import_said_is_shown(tmp_path):
    (tmp_path / "loud.py").write_text(
        "import os\nos.write(2, b'what the library said')\nraise ValueError('loud')\n"
    )
    code = """
import os, sys
from keras_seqzoo import _environment
_environment.import_quietly("json")
os.write(2, b"after;")
sys.path.insert(0, sys.argv[1])
_environment.import_quietly("loud")
"""
    # The package is stubbed: this is about the one module, not about TensorFlow.
    stub = """
import sys, types
package = types.ModuleType("keras_seqzoo")
package.__path__ = ["keras_seqzoo"]
sys.modules["keras_seqzoo"] = package
"""
    result = run(stub + code, str(tmp_path))
    assert result.returncode == 1
    assert result.stderr.startswith("after;what the library said")
    assert "ValueError: loud" in result.stderr
