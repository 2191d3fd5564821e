"""Versions on disk: whole or not at all, swept, flushed, and kept to a number."""

import errno
import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import tensorflow as tf

from keras_seqzoo.data.file_lock import FileLock
from keras_seqzoo.models import NGramLanguageModel
from keras_seqzoo.serving import export, saved_model
from keras_seqzoo.serving.saved_model import check_directory, write_version

WRITER = """
import os, sys
from keras_seqzoo.serving.saved_model import write_version

def write(path):
    os.makedirs(path)
    print("writing", flush=True)
    sys.stdin.read()

write_version(sys.argv[1], write)
"""


def writing(text):
    def write(path):
        os.makedirs(f"{path}/variables")
        Path(path, "saved_model.pb").write_text(text)
        Path(path, "variables", "data").write_text(text)

    return write


def test_versions_are_added_and_never_replaced(tmp_path):
    folder, expected = tmp_path / "models" / "owl", []

    def write(path):
        writing("first")(path)
        assert sorted(p.name for p in folder.iterdir() if p.name.isdigit()) == expected

    assert write_version(folder, write) == str(folder / "1")
    (folder / "007").mkdir()
    (folder / "notes").mkdir()
    expected = ["007", "1"]
    assert write_version(str(folder), write) == str(folder / "8")
    assert (folder / "1/saved_model.pb").read_text() == "first"
    assert (folder / "8").stat().st_mode & 0o777 == (folder / "notes").stat().st_mode & 0o777

    def fail(path):
        writing("half")(path)
        raise OSError(errno.EIO, "it broke")

    with pytest.raises(OSError, match="it broke"):
        write_version(folder, fail)
    assert sorted(os.listdir(folder)) == ["007", "1", "8", "notes"]


def test_what_tensorflow_cannot_write_leaves_nothing(tmp_path, monkeypatch):
    model = NGramLanguageModel.train(["a b"], order=2)

    def fail(module, path, signatures):
        writing("half")(path)
        raise tf.errors.ResourceExhaustedError(None, None, "no space left")

    monkeypatch.setattr(tf.saved_model, "save", fail)
    with pytest.raises(OSError, match="no space left"):
        export(model, tmp_path / "new", signatures=["score"])
    assert list(tmp_path.iterdir()) == []


def test_a_number_that_is_taken_meanwhile(tmp_path, monkeypatch):
    def rename(source, target, original=os.rename):
        with monkeypatch.context() as patch:
            patch.setattr(os, "rename", original)
            if not taken:
                taken.append(write_version(tmp_path, writing("other")))
            original(source, target)

    taken = []
    monkeypatch.setattr(os, "rename", rename)
    assert write_version(tmp_path, writing("own")) == str(tmp_path / "2")
    assert (tmp_path / "1/saved_model.pb").read_text() == "other"
    assert sorted(os.listdir(tmp_path)) == ["1", "2"]


def test_as_many_as_asked_for_are_kept(tmp_path):
    for name in ("2", "10", "9", "09b", "notes", ".hidden"):
        (tmp_path / name).mkdir()
    (tmp_path / "1").write_text("a file")
    assert write_version(tmp_path, writing("new"), keep=2) == str(tmp_path / "11")
    assert sorted(os.listdir(tmp_path)) == [".hidden", "09b", "10", "11", "notes"]
    assert write_version(tmp_path, writing("new"), keep=1) == str(tmp_path / "12")
    assert sorted(os.listdir(tmp_path)) == [".hidden", "09b", "12", "notes"]


def test_an_old_version_that_stays_is_a_warning(tmp_path, monkeypatch):
    write_version(tmp_path, writing("old"))

    def rename(source, target, original=os.rename):
        if Path(source).name == "1":
            raise PermissionError(errno.EACCES, "not yours")
        original(source, target)

    monkeypatch.setattr(os, "rename", rename)
    with pytest.warns(UserWarning, match="1 could not be removed: not yours"):
        assert write_version(tmp_path, writing("new"), keep=1) == str(tmp_path / "2")
    assert sorted(os.listdir(tmp_path)) == ["1", "2"]


def test_everything_is_flushed_before_it_appears(tmp_path, monkeypatch):
    flushed = []

    def fsync(descriptor):
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        flushed.append((os.path.relpath(path, tmp_path), (tmp_path / "1").exists()))

    monkeypatch.setattr(saved_model.os, "fsync", fsync)
    write_version(tmp_path, writing("text"))
    *before, last = flushed
    names = {"/".join(name.split("/")[1:]) for name, _ in before}
    expected = {"version", "version/variables"}
    expected |= {"version/saved_model.pb", "version/variables/data"}
    assert names == expected
    assert not any(there for _, there in before) and last == (".", True)


@pytest.mark.slow
@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs file locks")
def test_what_killed_exports_left_is_swept(tmp_path):
    command = [sys.executable, "-c", WRITER, tmp_path]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen(command, **pipes) for _ in range(2)]
    try:
        for process in processes:
            assert process.stdout.readline() == "writing\n"
        killed, running = processes
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        (tmp_path / ".export-of-old").mkdir()
        assert len(os.listdir(tmp_path)) == 5  # two folders with locks, and one without
        assert write_version(tmp_path, writing("new")) == str(tmp_path / "1")
        assert len(os.listdir(tmp_path)) == 3  # one folder with its lock
        running.communicate("")
        assert running.returncode == 0
        assert sorted(os.listdir(tmp_path)) == ["1", "2"]
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def test_nothing_is_swept_where_nothing_is_locked(tmp_path, monkeypatch):
    (tmp_path / ".export-other").mkdir()
    lock = FileLock.__enter__

    def enter(self):
        lock(self)
        self.effective = False
        return self

    monkeypatch.setattr(FileLock, "__enter__", enter)
    write_version(tmp_path, writing("new"))
    assert (tmp_path / ".export-other").is_dir()


ADDRESSES = {
    "gs://bucket/owl/": "gcloud storage cp --recursive exported/1 gs://bucket/owl/1",
    "S3://bucket/owl": "aws s3 cp --recursive exported/1 S3://bucket/owl/1",
    "hdfs://host:9000/owl": "hdfs dfs -put exported/1 hdfs://host:9000/owl/1",
    "ram://owl": "the copy command of the store, as in cp -r exported/1 ram://owl/1",
}


@pytest.mark.parametrize("address, command", ADDRESSES.items())
def test_addresses_are_refused_with_the_command_that_copies(address, command):
    with pytest.raises(ValueError, match="`directory` must be a local folder, got") as error:
        export(None, address)
    assert str(error.value).endswith(command)
    with pytest.raises(ValueError, match="`directory` must be a local folder"):
        check_directory(Path(address))


def test_local_folders_are_accepted(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for path in ("served/owl", "C:/served", "a:b", tmp_path):
            assert check_directory(path) == os.fspath(path)
