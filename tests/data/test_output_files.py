import os

import pytest

from keras_seqzoo.data.output_files import check_output_path, replacing


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


def test_unwritable_paths(tmp_path):
    assert check_output_path(str(tmp_path / "x")) == tmp_path / "x"
    with pytest.raises(OSError, match="got the folder"):
        check_output_path(tmp_path)
    with pytest.raises(OSError, match="no such folder: .*no"):
        check_output_path(tmp_path / "no" / "x")
    with pytest.raises(OSError, match="got the device"):
        check_output_path(os.devnull)
