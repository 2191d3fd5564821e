"""A lock, so that one process at a time trains in a folder."""

import contextlib
import errno
import os
import socket
import time
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows, where nothing is locked
    fcntl = None

# Of file systems that have no locks: there nothing is locked.
WITHOUT_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP)
# Seconds: who only looks whether a lock is held has it no longer.
PATIENCE = 0.5


class RunLock:
    """Keeps other processes out while it is held, as a context manager.

    The operating system holds the lock on a file and lets go of it when the process ends, whatever
    ends it, so that a lock is never left behind. The file stays, unless it is removed; in it is who
    had it last. On Windows, and on file systems without locks, nothing is locked.

    Args:
        path: string or path of the file. Its folder is made if there is none.

    Raises:
        BlockingIOError: on entering, if another process, or another `RunLock` of this one, holds
            the lock; the message names the process and its machine.
        OSError: on entering, if the file cannot be written. It is then removed.

    Example:
        >>> import tempfile
        >>> with RunLock(Path(tempfile.mkdtemp(), "run.lock")) as lock:
        ...     print(lock.path.read_text().split()[0])
        process
    """

    def __init__(self, path):
        self.path = Path(path)
        self._descriptor = None

    def check(self):
        """Raise what entering would raise, unless this object holds the lock itself."""
        if self._descriptor is None:
            try:
                descriptor = os.open(self.path, os.O_RDWR)
            except FileNotFoundError:
                return
            try:
                self._lock(descriptor, exclusive=False)  # two that look do not see each other
            finally:
                os.close(descriptor)

    def __enter__(self):
        """Take the lock."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = self._take()
        try:
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()}".encode())
        except BaseException:
            self.remove()
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        return self

    def __exit__(self, *exception):
        """Let go of the lock."""
        os.close(self._descriptor)
        self._descriptor = None

    def remove(self):
        """Remove the file, while the lock is held, where the system lets one remove it."""
        with contextlib.suppress(OSError):
            self.path.unlink()

    def _take(self):
        """Return the descriptor of the file, made where there is none, with the lock on it."""
        until = time.monotonic() + PATIENCE
        while True:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
            with contextlib.ExitStack() as stack:
                stack.callback(os.close, descriptor)
                try:
                    self._lock(descriptor, exclusive=True)
                    if self._is_at_path(descriptor):
                        stack.pop_all()
                        return descriptor
                except BlockingIOError:
                    if time.monotonic() > until:
                        raise
                    time.sleep(PATIENCE / 50)

    def _is_at_path(self, descriptor):
        """Return whether the file that was opened was not removed by who had the lock before."""
        try:
            return os.path.samestat(os.fstat(descriptor), os.stat(self.path))
        except FileNotFoundError:
            return False

    def _lock(self, descriptor, exclusive):
        if fcntl is None:
            return
        kind = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, 1000).decode("utf-8", errors="replace")
            raise BlockingIOError(
                f"another run goes on here: {holder} holds {self.path}. Wait until it has ended, "
                "or give another folder"
            ) from None
        except OSError as error:
            if error.errno not in WITHOUT_LOCKS:
                raise
