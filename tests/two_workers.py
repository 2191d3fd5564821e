"""Two processes of this machine that train one model."""

import json
import socket

from tests.cli.processes import start_python


class TwoWorkers:
    """Two processes with the same arguments of Python, and a cluster of them in `TF_CONFIG`."""

    def __init__(self, *arguments):
        with socket.create_server(("", 0)) as one, socket.create_server(("", 0)) as other:
            ports = [server.getsockname()[1] for server in (one, other)]
        cluster = {"worker": [f"127.0.0.1:{port}" for port in ports]}
        self.processes = []
        for index in range(2):
            task = {"type": "worker", "index": index}
            config = json.dumps({"cluster": cluster, "task": task})
            self.processes.append(start_python(*arguments, TF_CONFIG=config))

    def wait(self):
        """Return exit status, output and messages of both."""
        found = []
        for process in self.processes:
            output, errors = process.communicate(timeout=300)
            found.append((process.returncode, output.decode(), errors.decode()))
        return found
