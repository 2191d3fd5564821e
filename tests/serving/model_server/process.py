"""The double as a process that tests start and stop."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[3]


class ServerProcess:
    """A running double; it ends with the `with` block.

    Args:
        models: folders of models by name.
        batching: text of the batching parameters, None for no batching.
        grpc_port: 0 takes a free one, as `rest_port` does.
        options: further options of the command.
    """

    def __init__(self, models, batching=None, grpc_port=0, rest_port=0, options=()):
        self._folder = tempfile.TemporaryDirectory()
        command = [sys.executable, "-m", "tests.serving.model_server", "--with-parent"]
        command += [f"--model={name}={folder}" for name, folder in models.items()]
        command += [f"--grpc-port={grpc_port}", f"--rest-port={rest_port}", *map(str, options)]
        if batching is not None:
            file = Path(self._folder.name, "batching_parameters.txt")
            file.write_text(batching)
            command.append(f"--batching-parameters-file={file}")
        self._errors = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=self._errors, text=True
        )
        self.ports = None

    def wait(self):
        """Waits until every model is loaded."""
        line = self.process.stdout.readline()
        if not line:
            status = self.process.wait()
            raise AssertionError(f"the double ended with {status}:\n{self.said()}")
        self.ports = json.loads(line)
        return self

    def said(self):
        """What the process wrote to its standard error."""
        self._errors.seek(0)
        return self._errors.read()

    @property
    def grpc(self):
        return f"127.0.0.1:{self.ports['grpc']}"

    @property
    def rest(self):
        return f"127.0.0.1:{self.ports['rest']}"

    def stop(self):
        """Ends it with SIGTERM and gives its exit status."""
        self.process.terminate()
        return self.process.wait(60)

    def kill(self):
        """Ends it at once, in the midst of what it does."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def __enter__(self):
        return self.wait()

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self._errors.close()
        self._folder.cleanup()
