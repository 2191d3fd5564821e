"""Processes that answer each line of standard input with one of standard output."""

import contextlib
import subprocess
import sys
import tempfile


class AnsweringProcess:
    """Runs a script apart from what surrounds this process, as long as this one runs.

    Args:
        script: path of the script.
    """

    def __init__(self, script):
        self.script = script
        self.errors = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115
        self.process = subprocess.Popen(
            [sys.executable, "-I", str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
        )

    def ask(self, line):
        """The answer to a line; where the process has ended, an error with what it said."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(f"{line}\n")
            self.process.stdin.flush()
        answer = self.process.stdout.readline().rstrip("\n")
        if not answer:
            status = self.process.wait()
            self.errors.seek(0)
            raise AssertionError(f"{self.script} ended with {status}:\n{self.errors.read()}")
        return answer
