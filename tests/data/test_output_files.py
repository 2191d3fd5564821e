import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from keras_seqzoo.data.output_files import (
    check_new_file,
    check_output_path,
    check_writable,
    new_folder,
    replacing,
)
from keras_seqzoo.training import RunState
from keras_seqzoo.zoo import average_presets


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text("old")
    with pytest.raises(RuntimeError), replacing(path) as draft:
        draft.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]
    with replacing(str(path)) as draft:
        assert draft.suffix == ".tsv"
        draft.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new" and list(tmp_path.iterdir()) == [path]


def test_a_link_stays_one(tmp_path):
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with replacing(tmp_path / "link") as draft:
        draft.write_text("new")
    assert (tmp_path / "file").read_text() == "new" and (tmp_path / "link").is_symlink()


@pytest.fixture
def read_only(tmp_path, monkeypatch):
    """A folder that cannot be written to, as on a read-only file system."""
    own_access, own_statvfs = os.access, os.statvfs

    def statvfs(path):
        flags = os.ST_RDONLY if Path(path) == tmp_path else own_statvfs(path).f_flag
        return SimpleNamespace(f_flag=flags)

    access = lambda path, mode: Path(path) != tmp_path and own_access(path, mode)  # noqa: E731
    monkeypatch.setattr(os, "access", access)
    monkeypatch.setattr(os, "statvfs", statvfs)
    return tmp_path


def test_the_cause_of_an_unwritable_path_is_told(read_only, monkeypatch):
    for path in (read_only / "x", read_only / "new" / "x", read_only):
        with pytest.raises(OSError, match=f"`out` must be writable, got {path}: Read-only file s"):
            check_writable(path, "out")
    with pytest.raises(OSError, match="Read-only file system"):
        check_new_file(read_only / "x")
    with pytest.raises(OSError, match="Read-only file system"), new_folder(read_only / "x"):
        pass
    with pytest.raises(OSError, match="`directory` must be writable, got .*: Read-only"):
        RunState(read_only / "x").check()
    with pytest.raises(OSError, match="`directory` must be writable, got .*: Read-only"):
        average_presets(["a", "b"], read_only / "x")
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_flag=0))
    with pytest.raises(PermissionError, match="`path` must be writable, got .*: Permission denied"):
        check_writable(read_only / "x")


def test_unwritable_paths(tmp_path):
    assert check_output_path(str(tmp_path / "x")) == tmp_path / "x"
    with pytest.raises(OSError, match="got the folder"):
        check_output_path(tmp_path)
    with pytest.raises(OSError, match="no such folder: .*no"):
        check_output_path(tmp_path / "no" / "x")
    with pytest.raises(OSError, match="got the device"):
        check_output_path(os.devnull)


def test_the_current_folder_is_not_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in (".", tmp_path, "../" + tmp_path.name):
        message = "new or empty folder, not the current one"
        with pytest.raises(FileExistsError, match=message), new_folder(path):
            pass
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_gone_or_full_of_what_cannot_be_removed(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "runs" / "file"):
        pass
    (tmp_path / "runs").mkdir()
    with pytest.raises(PermissionError), replacing(tmp_path / "runs" / "file") as draft:
        draft.write_text("x", encoding="utf-8")

        def refuse(*arguments, **options):
            raise PermissionError(13, "Permission denied")

        # As in a folder that was made read-only meanwhile.
        for name in ("replace", "unlink", "rmdir"):
            monkeypatch.setattr(os, name, refuse)
