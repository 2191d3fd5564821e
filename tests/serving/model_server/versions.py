"""The versions of a model: watching its folder, loading, switching, dropping."""

import contextlib
import os
import threading
import time

from tests.serving.model_server.errors import CODES, ServingError, internal, not_served

RETRIES = 5  # after the first failure to load


class ServedModel:
    """A model of which the highest version in a folder is served.

    Args:
        name: the name that requests give.
        folder: has a folder for each version, named with its number.
        load: `load(folder, number)` gives something that runs.
        unload: `unload(loaded)` ends it.
        poll_seconds: between two looks at the folder.
        retry_seconds: after a failure to load.
    """

    def __init__(self, name, folder, load, unload, poll_seconds, retry_seconds):
        self.name = name
        self.folder = folder
        self._load = load
        self._unload = unload
        self._poll_seconds = poll_seconds
        self._retry_seconds = retry_seconds
        self._changed = threading.Condition()
        self._ready = {}
        self._users = {}
        self._states = {}
        self._failures = {}  # by version: how often it failed, when it may be tried again
        self._stopping = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name=f"watch {name}", daemon=True)

    def start(self):
        self._watcher.start()

    def wait_until_decided(self):
        """Waits for the first version: True if it serves, False if it cannot."""
        with self._changed:
            self._changed.wait_for(lambda: self._ready or self._given_up())
            return bool(self._ready)

    def stop(self, seconds):
        """Drops all versions whose requests are done in some seconds, and tells if that is all."""
        self._stopping.set()
        self._watcher.join(seconds)
        return all([self._drop(number, seconds) for number in list(self._ready)])

    @contextlib.contextmanager
    def version(self, number=None):
        """Lends a version, the highest for None; it stays in memory until it is given back."""
        with self._changed:
            wanted = max(self._ready, default=None) if number is None else number
            if wanted not in self._ready:
                raise not_served(self.name, number)
            loaded = self._ready[wanted]
            self._users[wanted] += 1
        try:
            yield loaded
        finally:
            with self._changed:
                self._users[wanted] -= 1
                self._changed.notify_all()

    def states(self):
        """Gives (state, error or None) by version, of all versions that were ever seen."""
        with self._changed:
            return dict(sorted(self._states.items()))

    def _given_up(self):
        return any(state == "END" and error for state, error in self._states.values())

    def _watch(self):
        while not self._stopping.is_set():
            with contextlib.suppress(OSError):  # a folder out of reach changes nothing
                self._follow(self._numbers())
            self._stopping.wait(self._poll_seconds)

    def _numbers(self):
        children = os.listdir(self.folder)
        return {int(child): child for child in children if child.isascii() and child.isdigit()}

    def _follow(self, numbers):
        aspired = max(numbers, default=None)
        if aspired is not None and aspired not in self._ready:
            self._try_to_load(aspired, os.path.join(self.folder, numbers[aspired]))
        for number in set(self._failures) - {aspired}:
            del self._failures[number]  # there again, it is tried again
            self._say(number, "END", self._states[number][1])
        if aspired is None or aspired in self._ready:
            for number in set(self._ready) - {aspired}:
                self._drop(number)

    def _try_to_load(self, number, folder):
        failed, again = self._failures.get(number, (0, 0.0))
        if failed > RETRIES or time.monotonic() < again:
            return
        self._say(number, "LOADING")
        try:
            loaded = self._load(folder, number)
        except Exception as error:
            self._failures[number] = (failed + 1, time.monotonic() + self._retry_seconds)
            self._say(number, "END" if failed == RETRIES else "LOADING", _status(error))
            return
        self._failures.pop(number, None)
        with self._changed:
            self._ready[number] = loaded
            self._users[number] = 0
            self._states[number] = ("AVAILABLE", None)
            self._changed.notify_all()

    def _drop(self, number, seconds=None):
        with self._changed:
            loaded = self._ready.pop(number)
            self._states[number] = ("UNLOADING", None)
            self._changed.notify_all()
            if not self._changed.wait_for(lambda: not self._users[number], seconds):
                return False
            del self._users[number]
        self._unload(loaded)
        self._say(number, "END")
        return True

    def _say(self, number, state, error=None):
        with self._changed:
            self._states[number] = (state, error)
            self._changed.notify_all()


def _status(error):
    if isinstance(error, ServingError):
        return error
    code = CODES.get(getattr(error, "error_code", None))
    return ServingError(code, str(error)) if code else internal(f"{error}" or repr(error))
