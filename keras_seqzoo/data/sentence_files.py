"""Files of sentences in columns: a word a line, and blank lines between the sentences."""

import os

from keras_seqzoo.data.text_files import read_lines


def is_blank(line):
    """Whether a line has nothing, or spaces and tabs only."""
    return not line.strip(" \t")


def read_blocks(path, is_border=is_blank):
    r"""Reads the runs of lines between borders from a UTF-8 file, plain or compressed (`.gz`).

    Lines may end in `"\r\n"`, and the file may begin with a byte order mark; both are dropped.

    Args:
        path: string or path.
        is_border: function from a line to a bool, whether it stands between sentences.

    Returns:
        A list of pairs: the number of the first line, from 1, and the list of the lines.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if the file is not UTF-8 or has borders only.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "two.txt")
        >>> _ = path.write_text("a\nb\n\nc\n")
        >>> read_blocks(path)
        [(1, ['a', 'b']), (4, ['c'])]
    """
    blocks, inside = [], False
    for number, line in enumerate(read_lines(path), 1):
        if is_border(line):
            inside = False
        elif inside:
            blocks[-1][1].append(line)
        else:
            blocks.append((number, [line]))
            inside = True
    if not blocks:
        raise ValueError(f"{os.fspath(path)}, line 1: sentences are needed, but the file has none")
    return blocks
