import gzip

import pytest

from keras_seqzoo.data import read_lines, read_parallel


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ("", []),
        ("\n", [""]),
        ("a", ["a"]),
        ("a\nb\n", ["a", "b"]),
        ("a\n\nb", ["a", "", "b"]),
        ("one\u0085line\u2028and\x0cone\n", ["one\u0085line\u2028and\x0cone"]),
        ("Ein Hund 🐕\n", ["Ein Hund 🐕"]),
        ("\ufeffa\r\n\r\nb \rc\r\n", ["a", "", "b \rc"]),
        ("\ufeff", []),
    ],
)
def test_lines_end_at_newline_alone(tmp_path, content, lines):
    plain, compressed = tmp_path / "text", tmp_path / "text.gz"
    plain.write_bytes(content.encode())
    compressed.write_bytes(gzip.compress(content.encode()))
    assert read_lines(plain) == lines
    assert read_lines(str(compressed)) == lines


def test_bad_byte_is_located(tmp_path):
    path = tmp_path / "latin1.txt"
    path.write_bytes("fein\ncafé\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"line 2 must be UTF-8, got byte 0xe9 at position 4"):
        read_lines(path)


def test_unreadable_files_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file: .*nothing.txt"):
        read_lines(tmp_path / "nothing.txt")
    with pytest.raises(IsADirectoryError, match=f"got the folder {tmp_path}"):
        read_lines(tmp_path)
    not_gzip, cut = tmp_path / "text.gz", tmp_path / "cut.gz"
    not_gzip.write_bytes(b"plain text")
    cut.write_bytes(gzip.compress(b"some text" * 100)[:-9])
    for path in (not_gzip, cut):
        with pytest.raises(OSError, match=f"not a whole gzip file: .*{path.name}"):
            read_lines(path)


def test_parallel_files_must_have_equally_many_lines(tmp_path):
    source, target = tmp_path / "t.en", tmp_path / "t.fr"
    source.write_text("a\nb\n")
    target.write_text("c\nd\n")
    assert read_parallel(source, target) == (["a", "b"], ["c", "d"])
    target.write_text("c\n")
    with pytest.raises(ValueError, match=r"got 2 in .*t\.en and 1 in .*t\.fr"):
        read_parallel(source, target)
