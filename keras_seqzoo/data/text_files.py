"""Lines of plain or gzip-compressed text files."""

import gzip
import os
import zlib
from pathlib import Path


def read_lines(path):
    r"""Read a UTF-8 text file, plain or compressed (`.gz`), into a list of lines.

    Lines end at `"\n"` or `"\r\n"` alone: other characters that Unicode calls line ends (U+0085,
    U+2028, ...) stay in the text, so that the lines of parallel files stay aligned. The end of the
    last line may be missing. A byte order mark at the beginning is dropped.

    Args:
        path: The file's path, a string or a `pathlib.Path`.

    Returns:
        A list of strings, one per line, without the line ends.

    Raises:
        OSError: When the file is missing, unreadable or no gzip file in spite of its name.
        ValueError: When the file is not UTF-8; the message gives path, line and byte.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "two.txt")
        >>> _ = path.write_text("A dog.\nA cat.\n", encoding="utf-8")
        >>> read_lines(path)
        ['A dog.', 'A cat.']
    """
    text = decode_text(read_bytes(path), path).removeprefix("\ufeff")
    lines = text.split("\n")
    if lines[-1] == "":  # What follows the last line end is no line.
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def read_paragraphs(path):
    r"""Read a UTF-8 text file, plain or compressed (`.gz`), into a list of paragraphs.

    Paragraphs are separated by blank lines; the line ends within one stay in it.

    Args:
        path: The file's path, a string or a `pathlib.Path`.

    Returns:
        A list of strings, none of them blank.

    Raises:
        OSError: When the file cannot be read.
        ValueError: When the file is not UTF-8; the message gives path, line and byte.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "two.txt")
        >>> _ = path.write_text("A dog.\nIt barks.\n\nA cat.\n", encoding="utf-8")
        >>> read_paragraphs(path)
        ['A dog.\nIt barks.', 'A cat.']
    """
    paragraphs, lines = [], []
    for line in [*read_lines(path), ""]:
        if line.strip():
            lines.append(line)
        elif lines:
            paragraphs.append("\n".join(lines))
            lines = []
    return paragraphs


def read_parallel(source, target):
    r"""Read two files of which line i of one is the translation of line i of the other.

    Args:
        source: The path of the source language's file, read as `read_lines` does.
        target: The path of the target language's file.

    Returns:
        A pair of lists of strings, of equal length.

    Raises:
        OSError: When a file cannot be read.
        ValueError: When a file is not UTF-8, or when the numbers of lines differ.
    """
    source_lines, target_lines = read_lines(source), read_lines(target)
    if len(source_lines) != len(target_lines):
        raise ValueError(
            f"source and target must have equally many lines, but {os.fspath(source)} has "
            f"{len(source_lines)} and {os.fspath(target)} has {len(target_lines)}"
        )
    return source_lines, target_lines


def read_bytes(path):
    """Reads a whole file, decompressed where its name ends in `.gz`."""
    path = Path(path)
    try:
        if path.suffix != ".gz":
            return path.read_bytes()
        with gzip.open(path, "rb") as stream:
            return stream.read()
    except FileNotFoundError:
        raise FileNotFoundError(f"no such file: {path}") from None
    except IsADirectoryError:
        raise IsADirectoryError(f"a file is needed, but this is a folder: {path}") from None
    except PermissionError:
        raise PermissionError(f"no permission to read the file: {path}") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise OSError(f"not a whole gzip file: {path} ({error})") from None
    except OSError as error:
        raise OSError(f"cannot read the file: {path} ({error.strerror or error})") from None


def decode_text(content, path):
    """Decodes bytes as strict UTF-8; `path` is what an error calls them."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line = before.count(b"\n") + 1
        column = error.start - before.rfind(b"\n")
        raise ValueError(
            f"{os.fspath(path)}, line {line}: not UTF-8 text (byte 0x{content[error.start]:02x}, "
            f"number {column} of the line); UTF-8 is needed"
        ) from None
