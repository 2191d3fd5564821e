"""The command line, or other Python, in another process."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
# A user's shell has none of what the tests set.
VARIABLES = ("KERAS_BACKEND", "TF_CPP_MIN_LOG_LEVEL", "SEQZOO_DEBUG")


def _options(environment):
    inherited = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    return {"env": {**inherited, **environment}, "cwd": ROOT}


def start(*arguments, **environment):
    """Start a command; return the `subprocess.Popen`, with pipes of bytes."""
    return start_python("-m", "keras_seqzoo", *arguments, **environment)


def start_python(*arguments, **environment):
    """Start Python; return the `subprocess.Popen`, with pipes of bytes."""
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **_options(environment),
    )


def run_python(code, *arguments, **environment):
    """Run Python code to its end; return the `subprocess.CompletedProcess`, with text."""
    return run_program("-c", code, *arguments, **environment)


def run_program(*arguments, **environment):
    """Run Python with these arguments; return the `subprocess.CompletedProcess`, with text."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        **_options(environment),
    )
