import builtins
import errno
import importlib.util
import os
import socket
import subprocess
import sys

import pytest

from keras_seqzoo.data import file_lock
from keras_seqzoo.data.file_lock import FileLock

# Without this package, so that it starts at once.
HOLDER = """
import fcntl, sys, time
file = open(sys.argv[1], "w")
fcntl.flock(file, fcntl.LOCK_EX)
print("process 4711 on elsewhere", file=file, end="", flush=True)
print("held", flush=True)
time.sleep(600)
"""


def test_one_holds_it_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(file_lock, "PATIENCE", 0.0)
    lock, other = FileLock(tmp_path / "new" / "lock"), FileLock(tmp_path / "new" / "lock")
    lock.check()
    with lock:
        assert lock.effective
        lock.check()
        holder = f"process {os.getpid()} on {socket.gethostname()} holds {lock.path}"
        with pytest.raises(BlockingIOError, match=holder):
            other.check()
        for late in (other, lock):
            with pytest.raises(BlockingIOError, match=holder), late:
                pass
    other.check()
    with other:
        pass


def test_who_only_looks_keeps_nobody_out(tmp_path, monkeypatch):
    lock = FileLock(tmp_path / "lock")
    with open(lock.path, "w") as looking:
        file_lock.fcntl.flock(looking, file_lock.fcntl.LOCK_SH)
        waits = []

        def sleep(seconds):
            waits.append(seconds)
            file_lock.fcntl.flock(looking, file_lock.fcntl.LOCK_UN)

        monkeypatch.setattr(file_lock.time, "sleep", sleep)
        with lock:
            assert len(waits) == 1 and waits[0] <= file_lock.PATIENCE / 10


def test_a_file_that_is_removed_meanwhile_locks_nothing(tmp_path, monkeypatch):
    """Else two would go on: the one that had it open, and one that makes a new one."""
    lock, other = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    lock.path.write_text("process 4711 on elsewhere")

    def flock(*arguments, original=file_lock.fcntl.flock):
        with monkeypatch.context() as patch:
            patch.setattr(file_lock.fcntl, "flock", original)
            if not removed:
                with other:
                    other.remove()
                removed.append(True)
            return original(*arguments)

    removed = []
    monkeypatch.setattr(file_lock.fcntl, "flock", flock)
    with lock, pytest.raises(BlockingIOError, match=f"process {os.getpid()} on "):
        other.check()


def test_a_lock_that_cannot_be_written_is_let_go_of(tmp_path, monkeypatch):
    lock = FileLock(tmp_path / "lock")
    with monkeypatch.context() as patch:
        patch.setattr(file_lock.os, "ftruncate", lambda *_: os.fstat(-1))
        with pytest.raises(OSError, match=os.strerror(errno.EBADF)), lock:
            pass
    assert list(tmp_path.iterdir()) == []
    with lock, pytest.raises(BlockingIOError):
        FileLock(lock.path).check()


def test_the_lock_of_a_process_that_was_killed_is_gone(tmp_path):
    path = tmp_path / "lock"
    command = [sys.executable, "-c", HOLDER, path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        with pytest.raises(BlockingIOError, match="process 4711 on elsewhere"):
            FileLock(path).check()
        process.kill()
    assert path.read_text() == "process 4711 on elsewhere"
    with FileLock(path) as lock:
        assert str(os.getpid()) in lock.path.read_text()


def test_a_file_system_without_locks(tmp_path, monkeypatch):
    def flock(*arguments):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(file_lock.fcntl, "flock", flock)
    number = errno.ENOLCK
    with FileLock(tmp_path / "lock") as lock:
        assert not lock.effective
        FileLock(tmp_path / "lock").check()
    number = errno.EIO
    with pytest.raises(OSError, match=os.strerror(errno.EIO)), FileLock(tmp_path / "lock"):
        pass


def test_a_system_without_file_locks(tmp_path, monkeypatch):
    def without(name, *arguments, original=builtins.__import__):
        if name == "fcntl":
            raise ImportError(name)
        return original(name, *arguments)

    spec = importlib.util.spec_from_file_location("file_lock_of_windows", file_lock.__file__)
    module = importlib.util.module_from_spec(spec)
    with monkeypatch.context() as patch:
        patch.setattr(builtins, "__import__", without)
        spec.loader.exec_module(module)
    with module.FileLock(tmp_path / "lock") as lock:
        assert not lock.effective
        module.FileLock(lock.path).check()
