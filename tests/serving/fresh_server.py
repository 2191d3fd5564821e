"""Asking the process of `server.py`."""

import functools
import json
import subprocess
import sys
from pathlib import Path


def answers_of(requests):
    """What a process that has TensorFlow alone answers to requests, see `server.py`."""
    process = server()
    process.stdin.write(json.dumps(requests) + "\n")
    process.stdin.flush()
    answers = json.loads(process.stdout.readline())
    assert isinstance(answers, list), answers
    return answers


def outputs_of(path, text, signature="serving_default"):
    """What a signature of a SavedModel gives for texts, in that process."""
    request = [path, [[signature, {"text": hexadecimal(text)}]], "v2"]
    return answers_of([request])[0]["outputs"][0]


def hexadecimal(texts):
    """Texts, strings or bytes, as the process takes them."""
    return [(text if isinstance(text, bytes) else text.encode()).hex() for text in texts]


@functools.cache
def server():
    return subprocess.Popen(
        [sys.executable, "-I", str(Path(__file__).with_name("server.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
