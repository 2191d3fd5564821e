"""A browser without a window, driven over the pipe of the DevTools protocol."""

import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PROGRAM = shutil.which("chromium") or shutil.which("google-chrome")
OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",  # WebGL without a graphics card
    "--window-size=1280,1024",
    "--remote-debugging-pipe",
)
# The text and the pictures of a page, also within shadow roots and frames of its own.
PAGE = """
(() => {
  const texts = [], pictures = [];
  const visit = (node) => {
    if (node.nodeType === Node.TEXT_NODE) texts.push(node.data.trim());
    if (['STYLE', 'SCRIPT'].includes(node.nodeName)) return;
    if (node.nodeName === 'IMG') pictures.push([node.src, node.naturalWidth, node.naturalHeight]);
    if (node.nodeName === 'IFRAME' && node.contentDocument) visit(node.contentDocument);
    if (node.shadowRoot) visit(node.shadowRoot);
    for (const child of node.childNodes) visit(child);
  };
  visit(document);
  return JSON.stringify({text: texts.filter(Boolean).join(' '), pictures});
})()
"""


class Browser:
    """One page; use it as a context manager."""

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            profile = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
            read_commands, self._commands = os.pipe()
            self._answers, write_answers = os.pipe()
            # The browser reads commands from 3 and answers to 4; none of the pipes may be these.
            ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (read_commands, write_answers)]

            def connect():
                os.dup2(ends[0], 3)
                os.dup2(ends[1], 4)

            process = subprocess.Popen(
                [PROGRAM, *OPTIONS, f"--user-data-dir={profile}", "about:blank"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                close_fds=False,
                preexec_fn=connect,
            )
            for end in (read_commands, write_answers, *ends):
                os.close(end)
            stack.callback(os.close, self._commands)
            stack.callback(os.close, self._answers)
            stack.callback(_end, process)
            self._pending = b""
            self._number = 0
            self._events = []
            self._session = None
            target = self.call("Target.createTarget", url="about:blank")["targetId"]
            attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
            self._session = attached["sessionId"]
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception):
        self._stack.close()

    def call(self, method, **parameters):
        """Call a method of the protocol and return its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            self._events.append(answer)

    def evaluate(self, expression):
        """Evaluate JavaScript, wait for what it promises, and return the value."""
        found = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def open(self, address, width, height, scheme):
        """Open an address in a window of a size, and wait until the page is loaded.

        Args:
            address: string.
            width: int, pixels.
            height: int, pixels.
            scheme: the colors that the user prefers, "light" or "dark".

        Returns:
            A list of strings, the errors that the page wrote to the console.
        """
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self._load("about:blank")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=features)
        self._load(address)
        self.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))")
        return [text for event in self._events if (text := _error_of(event))]

    def _load(self, address):
        """Open an address, and wait until it is loaded."""
        self._events.clear()
        self.call("Page.navigate", url=address)
        while not any(event.get("method") == "Page.loadEventFired" for event in self._events):
            self._events.append(self._read())

    def wait_for(self, address, is_there, seconds=120):
        """Open an address, and look at the page until it has what is wanted; return the page."""
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=address)
        end = time.monotonic() + seconds
        while True:
            found = self.call("Runtime.evaluate", expression=PAGE, returnByValue=True)
            page = json.loads(found["result"].get("value", '{"text": "", "pictures": []}'))
            if is_there(page):
                return page
            assert time.monotonic() < end, f"{address} shows {page}"
            time.sleep(0.5)

    def _read(self):
        while b"\0" not in self._pending:
            readable, _, _ = select.select([self._answers], [], [], 120)
            part = os.read(self._answers, 1 << 16) if readable else b""
            assert part, "the browser does not answer"
            self._pending += part
        message, _, self._pending = self._pending.partition(b"\0")
        return json.loads(message)


def _error_of(event):
    """Return what an event of the protocol says of an error, or `None`."""
    parameters = event.get("params", {})
    if event.get("method") == "Runtime.exceptionThrown":
        return json.dumps(parameters["exceptionDetails"])
    if event.get("method") == "Log.entryAdded" and parameters["entry"]["level"] == "error":
        return parameters["entry"]["text"] + " " + parameters["entry"].get("url", "")
    if event.get("method") == "Runtime.consoleAPICalled" and parameters["type"] == "error":
        return json.dumps(parameters["args"])
    return None


def _end(process):
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
