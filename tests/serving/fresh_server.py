"""Asking the process of `server.py`."""

import json
import subprocess
import sys
from pathlib import Path


def answers_of(requests):
    """What a fresh process that has TensorFlow alone answers to requests, see `server.py`."""
    process = subprocess.run(
        [sys.executable, "-I", str(Path(__file__).with_name("server.py"))],
        input=json.dumps(requests),
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)
