"""A lock that lets one process at a time work in a folder."""

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

# File systems without locks: nothing is locked there.
WITHOUT_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP)
# Seconds to wait for a process that only checks whether the lock is held.
PATIENCE = 0.5


class FileLock:
    """Context manager that holds a file lock against other processes.

    The operating system releases the lock when the process ends for any reason. The file stays
    unless it is removed, and names the last holder. On Windows, and on file systems without locks,
    nothing is locked.

    Args:
        path: string or path of the file. Its folder is created if it does not exist.
        work: string, what the holder does, for messages.

    Attributes:
        effective: bool, whether the system locks the file, once entered.

    Raises:
        BlockingIOError: on entering, if another process, or another `FileLock` of this process,
            holds the lock; the message names the process and its machine.
        OSError: on entering, if the file cannot be written. It is then removed.

    Example:
        >>> import tempfile
        >>> with FileLock(Path(tempfile.mkdtemp(), "some.lock")) as lock:
        ...     print(lock.path.read_text().split()[0])
        process
    """

    def __init__(self, path, work="another process works here"):
        self.path = Path(path)
        self.work = work
        self.effective = False
        self._descriptor = None

    def check(self):
        """Raise an error if another process or object holds the lock."""
        if self._descriptor is None:
            try:
                descriptor = os.open(self.path, os.O_RDWR)
            except FileNotFoundError:
                return
            try:
                self._lock(descriptor, exclusive=False)  # two checks do not block each other
            finally:
                os.close(descriptor)

    def __enter__(self):
        """Acquire the lock."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = self._acquire()
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
        """Release the lock."""
        os.close(self._descriptor)
        self._descriptor = None

    def remove(self):
        """Remove the file while the lock is held, if the system permits it."""
        with contextlib.suppress(OSError):
            self.path.unlink()

    def _acquire(self):
        """Open or create the file, lock it, and return its descriptor."""
        until = time.monotonic() + PATIENCE
        while True:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
            with contextlib.ExitStack() as stack:
                stack.callback(os.close, descriptor)
                try:
                    self.effective = self._lock(descriptor, exclusive=True)
                    if self._is_at_path(descriptor):
                        stack.pop_all()
                        return descriptor
                except BlockingIOError:
                    if time.monotonic() > until:
                        raise
                    time.sleep(PATIENCE / 50)

    def _is_at_path(self, descriptor):
        """Return whether the opened file is at the path; an earlier holder may have removed it."""
        try:
            return os.path.samestat(os.fstat(descriptor), os.stat(self.path))
        except FileNotFoundError:
            return False

    def _lock(self, descriptor, exclusive):
        """Lock an open file, and return whether the system supports it."""
        if fcntl is None:
            return False
        kind = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            holder = os.read(descriptor, 1000).decode("utf-8", errors="replace")
            raise BlockingIOError(
                f"{self.work}: {holder} holds {self.path}. Wait until it has ended, "
                "or use another folder."
            ) from None
        except OSError as error:
            if error.errno not in WITHOUT_LOCKS:
                raise
            return False
