import pytest

from keras_seqzoo.data import read_alignments, write_alignments


@pytest.mark.parametrize("name", ["some.align", "some.align.gz"])
def test_alignments_come_back(tmp_path, name):
    alignments = [[(0, 0), (2, 1), (1, 10)], [], [(3, 0)]]
    write_alignments(tmp_path / name, alignments)
    assert read_alignments(tmp_path / name) == alignments


def test_the_format(tmp_path):
    path = tmp_path / "some.align"
    write_alignments(path, iter([[(0, 0), (2, 1)], []]))
    assert path.read_text() == "0-0 2-1\n\n"
    path.write_text(" 0-0\t12-3 \r\n\r\n7-07")
    assert read_alignments(path) == [[(0, 0), (12, 3)], [], [(7, 7)]]


@pytest.mark.parametrize(
    "line, message",
    [
        ("0-0 1", "a link must be the positions of two words, such as 0-2, got '1'"),
        ("0-0-1", "got '0-0-1'"),
        ("0--1", "got '0--1'"),
        ("-1-0", "got '-1-0'"),
        ("a-b", "got 'a-b'"),
        ("\u0661-\u0662", "got '\u0661-\u0662'"),
        ("1-2 0-0 1-2", "a link must occur once in its line, got 1-2 again"),
        ("x" * 100, "got '" + "x" * 40 + "'$"),
    ],
)
def test_wrong_lines_are_named(tmp_path, line, message):
    path = tmp_path / "some.align"
    path.write_text(f"0-0\n{line}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=f"some.align, line 2: .*{message}"):
        read_alignments(path)


def test_wrong_positions_leave_the_file(tmp_path):
    path = tmp_path / "some.align"
    path.write_text("old")
    with pytest.raises(ValueError, match=r"at least 0, got \(0, -1\)"):
        write_alignments(path, [[(0, 0)], [(0, -1)]])
    assert path.read_text() == "old"
    with pytest.raises(FileNotFoundError):
        read_alignments(tmp_path / "none.align")
