"""Asking the process of `server.py`."""

import functools
import json
from pathlib import Path

from tests.answering import AnsweringProcess


def answers_of(requests):
    """What a process that has TensorFlow alone answers to requests, see `server.py`."""
    answers = json.loads(server().ask(json.dumps(requests)))
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
    return AnsweringProcess(Path(__file__).with_name("server.py"))
