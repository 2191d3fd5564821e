"""Lines, paragraphs and blocks of plain or gzip-compressed text files."""

import contextlib
import errno
import gzip
import itertools
import os
import zlib
from pathlib import Path

BYTE_ORDER_MARK = "\ufeff"
BLOCK = 2**20  # bytes read at a time
GZIP = b"\x1f\x8b"  # the first bytes of a file


def iterate_lines(path):
    """Yield the lines of a text file, one at a time; see `read_lines`."""
    with _opened(path) as file:
        yield from decode_lines(file, path)


def decode_lines(lines, path):
    """Yield lines of bytes as `read_lines` returns them; `path` is named in errors."""
    for number, line in enumerate(lines, 1):
        text = decode_text(line, path, number)
        if number == 1:
            text = text.removeprefix(BYTE_ORDER_MARK)
            if not text:  # there is nothing else
                return
        yield text.removesuffix("\n").removesuffix("\r")


def read_lines(path):
    r"""Read the lines of a UTF-8 text file, plain or compressed (`.gz`).

    Lines end only at `"\n"` or `"\r\n"`: other line ends of Unicode (U+0085, U+2028, ...) stay in
    the text, so that the lines of parallel files stay aligned. The last line end may be missing. A
    byte order mark at the beginning is dropped.

    Args:
        path: string or path.

    Returns:
        A list of strings, without the line ends.

    Raises:
        OSError: if the file is missing, unreadable or, despite its name, not a gzip file.
        ValueError: if the file is not UTF-8; the message names the path, the line and the byte.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "two.txt")
        >>> _ = path.write_text("A dog.\nA cat.\n", encoding="utf-8")
        >>> read_lines(path)
        ['A dog.', 'A cat.']
    """
    return list(iterate_lines(path))


def iterate_paragraphs(path):
    """Yield the paragraphs of a text file, one at a time; see `read_paragraphs`."""
    blocks = _split_blocks(iterate_lines(path), lambda line: not line.strip())
    return ("\n".join(lines) for _, lines in blocks)


def read_paragraphs(path):
    r"""Read the paragraphs of a UTF-8 text file; arguments and errors as in `read_lines`.

    Paragraphs are separated by blank lines and keep their inner line ends.

    Returns:
        A list of strings, none of them blank.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "two.txt")
        >>> _ = path.write_text("A dog.\nIt barks.\n\nA cat.\n", encoding="utf-8")
        >>> read_paragraphs(path)
        ['A dog.\nIt barks.', 'A cat.']
    """
    return list(iterate_paragraphs(path))


def is_blank(line):
    """Return whether a line is empty or has only spaces and tabs."""
    return not line.strip(" \t")


def iterate_blocks(path, is_border=is_blank):
    r"""Yield the blocks of lines between border lines of a UTF-8 text file; see `read_lines`.

    Args:
        path: string or path.
        is_border: function from a line to a bool, whether it separates blocks.

    Yields:
        Pairs: the number of the first line, from 1, and the list of lines.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if the file is not UTF-8 or has no block.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "two.txt")
        >>> _ = path.write_text("a\nb\n\nc\n")
        >>> list(iterate_blocks(path))
        [(1, ['a', 'b']), (4, ['c'])]
    """
    blocks = _split_blocks(iterate_lines(path), is_border)
    first = next(blocks, None)
    if first is None:
        raise ValueError(f"{os.fspath(path)}, line 1: must be a sentence, got none in the file.")
    yield first
    yield from blocks


def _split_blocks(lines, is_border):
    groups = itertools.groupby(enumerate(lines, 1), lambda item: is_border(item[1]))
    for border, group in groups:
        if not border:
            numbers, block = zip(*group, strict=True)
            yield numbers[0], list(block)


def read_parallel(source, target):
    """Read two parallel files: line i of one is the translation of line i of the other.

    Args:
        source: string or path, the file in the source language; see `read_lines`.
        target: string or path, the file in the target language.

    Returns:
        A pair of lists of strings, of equal length.

    Raises:
        OSError: if a file cannot be read.
        ValueError: if a file is not UTF-8, or the numbers of lines differ.
    """
    source_lines, target_lines = read_lines(source), read_lines(target)
    counts = len(source_lines), len(target_lines)
    check_as_many_lines(counts, (os.fspath(source), os.fspath(target)))
    return source_lines, target_lines


def check_as_many_lines(counts, paths, names=("source", "target")):
    """Check that the source and target, or two other arguments, have the same number of lines.

    Args:
        counts: the two numbers of lines.
        paths: two strings, the places of the lines.
        names: two strings, the names of the arguments.

    Raises:
        ValueError: if the numbers differ.
    """
    if counts[0] != counts[1]:
        raise ValueError(
            f"`{names[0]}` and `{names[1]}` must have the same number of lines, got {counts[0]} in "
            f"{paths[0]} and {counts[1]} in {paths[1]}."
        )


def read_bytes(path):
    """Read a whole file, decompressed if its name ends in `.gz`."""
    with _opened(path) as file:
        return file.read()


def content_size(path):
    """Return the number of bytes in a file, decompressed if its name ends in `.gz`."""
    with _opened(path) as file:
        if Path(path).suffix == ".gz":
            while file.read(BLOCK):
                pass
            return file.tell()
        return file.seek(0, os.SEEK_END)


@contextlib.contextmanager
def _opened(path):
    """Open a file to read bytes, and name it in the errors of opening and reading."""
    path = Path(path)
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            yield file
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, "no such file", str(path)) from None
    except IsADirectoryError:
        raise IsADirectoryError(f"`path` must be a file, got the folder {path}") from None
    except PermissionError:
        raise PermissionError(f"no permission to read the file: {path}") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise OSError(f"not a whole gzip file: {path} ({error})") from None
    except OSError as error:
        raise OSError(f"cannot read the file: {path} ({error.strerror or error})") from None


def decode_text(content, path, first_line=1):
    """Decode bytes as strict UTF-8; `path` and the line are named in the error."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        if first_line == 1 and content.startswith(GZIP):
            raise ValueError(
                f"{os.fspath(path)} must be UTF-8, got gzip data. Decompress it, or let the name "
                "of the file end in .gz."
            ) from None
        before = content[: error.start]
        line = first_line + before.count(b"\n")
        column = error.start - before.rfind(b"\n")
        raise ValueError(
            f"{os.fspath(path)}, line {line} must be UTF-8, got byte 0x{content[error.start]:02x} "
            f"at position {column}."
        ) from None
