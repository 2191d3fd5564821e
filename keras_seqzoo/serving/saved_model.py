"""Numbered versions of a SavedModel on disk, which TensorFlow Serving watches."""

import contextlib
import errno
import os
import re
import secrets
import shutil
import warnings
from pathlib import Path

from keras_seqzoo.data.file_lock import FileLock
from keras_seqzoo.data.output_files import FULL, check_folder, writing_into

# Folders of versions that are being written or removed, and the locks of their processes.
PREFIX = ".export-"
LOCK = ".lock"
ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")  # not the drive C:/
COPIES = {
    "gs": "gcloud storage cp --recursive",
    "s3": "aws s3 cp --recursive",
    "hdfs": "hdfs dfs -put",
}


def check_directory(directory):
    """Check, before the work of an export, that versions can be written to a folder.

    A store such as `gs://…` cannot rename folders, so a server could see a part of a version.

    Args:
        directory: string or path, the model's folder.

    Returns:
        string. The path.

    Raises:
        ValueError: if it is an address such as `gs://…`.
        OSError: if it is a file, or cannot be written to.
    """
    directory = os.fspath(directory)
    address = ADDRESS.match(directory)
    if address:
        command = COPIES.get(address[1].lower(), "the copy command of the store, as in cp -r")
        raise ValueError(
            f"`directory` must be a local folder, got {directory!r}. Export to one, then copy the "
            f"version: {command} exported/1 {directory.rstrip('/')}/1"
        )
    check_folder(directory, "directory")
    return directory


def write_version(directory, write, keep=None):
    """Write the next version of a model.

    TensorFlow Serving serves the highest number in the folder. So a version is written under
    another name, flushed to the disk and then renamed: it appears whole or not at all. The remains
    of killed exports are removed.

    Args:
        directory: string or path, the model's folder; it is created if it does not exist.
        write: function that is called with the path of a folder, a string, and creates the folder.
        keep: int, the number of versions to keep, or `None` for all. Older ones are removed after
            the new one has appeared.

    Returns:
        string. The path of the new version, `directory/1` in an empty folder.

    Raises:
        OSError: if the folder cannot be created or written to, or the disk is full.
    """
    directory = os.fspath(directory)
    try:
        with writing_into(directory) as folder:
            _sweep(folder)
            with _workspace(folder) as workspace:
                written = workspace / "version"
                write(str(written))
                _flush(written)
                version = _publish(written, directory)
                _flush_one(folder)
    except OSError as error:
        if error.errno in FULL:
            raise  # it already names the folder
        raise OSError(
            error.errno,
            f"`directory` must be a folder that can be written to, got {directory!r}: "
            f"{error.strerror}",
        ) from error
    if keep is not None:
        _remove_oldest(Path(directory), keep)
    return version


def _publish(written, directory):
    """Rename a written version to the next free number."""
    while True:
        version = os.path.join(directory, str(max(map(int, _versions(directory)), default=0) + 1))
        try:
            os.rename(written, version)
        except OSError as error:
            # Another export was faster and took the number.
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
        else:
            return version


def _versions(directory):
    return [name for name in os.listdir(directory) if name.isascii() and name.isdigit()]


def _remove_oldest(folder, keep):
    """Remove all but the `keep` highest versions; rename each first: a server sees no part."""
    for name in sorted(_versions(folder), key=int)[:-keep]:
        try:
            with _workspace(folder) as workspace:
                os.rename(folder / name, workspace / name)
        except OSError as error:
            warnings.warn(
                f"the old version {folder / name} could not be removed: {error.strerror}",
                stacklevel=2,
            )


@contextlib.contextmanager
def _workspace(folder):
    """Create a folder that is removed at the end, and is locked until then."""
    name = f"{PREFIX}{secrets.token_hex(8)}"
    with FileLock(folder / f"{name}{LOCK}") as lock:
        try:
            (folder / name).mkdir(mode=0o700)
            yield folder / name
        finally:
            shutil.rmtree(folder / name, ignore_errors=True)
            lock.remove()


def _sweep(folder):
    """Remove the workspaces of processes that have ended."""
    names = (name.removesuffix(LOCK) for name in os.listdir(folder) if name.startswith(PREFIX))
    for name in sorted(set(names)):
        lock = FileLock(folder / f"{name}{LOCK}")
        with contextlib.suppress(OSError):  # another process holds it, or owns the files
            lock.check()
            with lock:
                if lock.effective:
                    shutil.rmtree(folder / name, ignore_errors=True)
                    lock.remove()


def _flush(folder):
    """Flush a folder, and all files and folders in it, to the disk."""
    for path, _, files in os.walk(folder):
        for name in files:
            _flush_one(os.path.join(path, name))
        _flush_one(path)


def _flush_one(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:  # of file systems that do not flush folders
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)
