"""Errors of a full disk, simulated and real."""

import errno
import os
import subprocess
import sys

import h5py
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.data import output_files
from keras_seqzoo.data.output_files import LITTER, new_folder, replacing, reserve, writing_into

MESSAGES = {
    OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)): "no space left in .*place$",
    OSError(errno.EDQUOT, os.strerror(errno.EDQUOT)): "no space left in .*place: the quota",
    OSError(errno.EFBIG, os.strerror(errno.EFBIG)): "ulimit -f.*, in .*place$",
    RuntimeError("Can't decrement id ref count (errno = 28, error message = '')"): "no space left",
    OSError("Can't write data (file write failed: errno = 27, )"): "ulimit -f",
    tf.errors.ResourceExhaustedError(
        None, None, "part-0; No space left on device"
    ): "no space left",
    tf.errors.OutOfRangeError(None, None, "part-0; File too large"): "ulimit -f",
}


@pytest.mark.parametrize("error, message", MESSAGES.items(), ids=map(repr, MESSAGES))
def test_every_library_s_full_disk_is_named(tmp_path, error, message):
    with pytest.raises(OSError, match=message), writing_into(tmp_path / "new" / "place") as folder:
        assert folder.is_dir()
        raise error
    assert list(tmp_path.iterdir()) == []


def test_other_errors_are_unchanged(tmp_path):
    with pytest.raises(tf.errors.ResourceExhaustedError), writing_into(tmp_path / "new"):
        raise tf.errors.ResourceExhaustedError(None, None, "OOM when allocating tensor")
    with pytest.raises(RuntimeError), writing_into(tmp_path / "new"):
        (tmp_path / "new" / "file").write_text("kept")
        raise RuntimeError
    assert (tmp_path / "new" / "file").read_text() == "kept"


@pytest.mark.parametrize("error", [ValueError("unrelated"), KeyboardInterrupt(), SystemExit(3)])
def test_errors_after_a_handled_full_disk_are_unchanged(tmp_path, error):
    with pytest.raises(type(error)) as raised, writing_into(tmp_path):
        try:
            raise OSError(errno.ENOSPC, "full")
        except OSError:
            raise error  # noqa: B904
    assert raised.value is error


def test_an_interrupt_is_unchanged(tmp_path):
    with pytest.raises(KeyboardInterrupt), writing_into(tmp_path):
        raise KeyboardInterrupt from OSError(errno.ENOSPC, "full")


def test_errors_that_a_full_disk_caused_are_named(tmp_path):
    with pytest.raises(OSError, match="no space left in"), writing_into(tmp_path):
        raise ValueError("cannot be saved") from OSError(errno.ENOSPC, "full")


@pytest.mark.parametrize("write", [replacing, new_folder])
def test_nothing_is_left_behind(tmp_path, write):
    with pytest.raises(OSError, match=f"no space left in {tmp_path}"), write(tmp_path / "x") as at:
        (at.parent / "half").write_text("half")
        raise OSError(errno.ENOSPC, "full")
    assert list(tmp_path.iterdir()) == []


def test_files_of_file_managers_do_not_count(tmp_path):
    folder = tmp_path / "new"
    folder.mkdir()
    for name in LITTER:
        (folder / name).write_text(name)
    with new_folder(folder) as draft:
        (draft / "file").write_text("new")
    assert {path.name for path in folder.iterdir()} == {*LITTER, "file"}
    with pytest.raises(FileExistsError, match="got one with files"), new_folder(folder):
        pass


def test_files_created_meanwhile_stay(tmp_path):
    folder = tmp_path / "new"
    with pytest.raises(FileExistsError, match="got one with files: "), new_folder(folder) as draft:
        (draft / "other").write_text("mine")
        folder.mkdir()
        for name in ("other", LITTER[0]):
            (folder / name).write_text("theirs")
    assert [path.name for path in tmp_path.iterdir()] == ["new"]
    contents = {path.name: path.read_text() for path in folder.iterdir()}
    assert contents == {"other": "theirs", LITTER[0]: "theirs"}


LIMITED = """
import importlib.util, resource, sys
import h5py, numpy as np
# The module alone: the package needs seconds.
spec = importlib.util.spec_from_file_location("output_files", sys.argv[2])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    with module.replacing(sys.argv[1]) as draft:
        module.reserve(draft.parent, 900_000)
        with h5py.File(draft, "w") as file:
            file["x"] = np.zeros(100_000)
except OSError as error:
    print(error.errno, error.strerror)
"""


def test_hdf5_under_a_limit_does_not_crash(tmp_path):
    """Without `reserve` there is a segmentation fault when HDF5 closes the file."""
    command = [sys.executable, "-c", LIMITED, tmp_path / "x.h5", output_files.__file__]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"{errno.EFBIG} a file gets too large for the limit")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def full(tmp_path):
    """Mount a file system of 256 KB."""
    folder = tmp_path / "full"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no `mount`")
    if done.returncode:
        pytest.skip(f"no file system can be mounted: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_file_system_that_is_full(full):
    with pytest.raises(OSError, match=f"no space left in {full}$"), replacing(full / "x") as draft:
        draft.write_bytes(bytes(300_000))
    with pytest.raises(OSError, match=f"no space left in {full}$"), replacing(full / "x") as draft:
        np.savez(draft, x=np.zeros(40_000))
    with pytest.raises(OSError, match=f"no space left in {full}$"), replacing(full / "x") as draft:
        reserve(draft.parent, 300_000)
    assert list(full.iterdir()) == []
    reserve(full, 100_000)  # gives back what it took
    with replacing(full / "x") as draft, h5py.File(draft, "w") as file:
        file["x"] = np.zeros(20_000)
    assert (full / "x").stat().st_size > 160_000
