"""Files of word vectors: word2vec's two formats and GloVe's."""

import re

import numpy as np

from keras_seqzoo.checks import check_choice
from keras_seqzoo.data.output_files import replacing
from keras_seqzoo.data.text_files import decode_text, read_bytes

FORMATS = ("word2vec", "word2vec-binary", "glove")


def write_vectors(path, words, matrix, format="word2vec"):
    """Writes words and their vectors; an old file is replaced when the new one is whole.

    Args:
        path: string or path.
        words: list of strings without white space.
        matrix: float32 array `(words, dimensions)`.
        format: `"word2vec"` (a line with both numbers, then a line for each word), `"glove"` (the
            same without the first line), `"word2vec-binary"` (numbers as little-endian float32).

    Raises:
        ValueError: if the format is unknown, or a word has white space, which the formats cannot
            hold.
        OSError: if the file cannot be written.
    """
    check_choice("format", format, FORMATS)
    for word in words:
        if word.split() != [word]:
            raise ValueError(f"a file of vectors cannot hold the word {word!r}: it has white space")
    matrix = np.asarray(matrix, "<f4")
    with replacing(path) as draft, draft.open("wb") as file:
        if format != "glove":
            file.write(f"{matrix.shape[0]} {matrix.shape[1]}\n".encode())
        for word, row in zip(words, matrix, strict=True):
            if format == "word2vec-binary":
                file.write(word.encode() + b" " + row.tobytes() + b"\n")
            else:
                file.write(f"{word} {' '.join(map(_shortest, row))}\n".encode())


def read_vectors(path, format="word2vec"):
    """Reads what `write_vectors`, word2vec, gensim or GloVe wrote.

    Args:
        path: string or path of the file, or a `.gz` of it.
        format: see `write_vectors`.

    Returns:
        A pair of the words, a list of strings, and a float32 array `(words, dimensions)`.

    Raises:
        ValueError: if the format is unknown or the file is not in it; the message names the line.
        OSError: if the file cannot be read.
    """
    check_choice("format", format, FORMATS)
    content = read_bytes(path)
    if format == "word2vec-binary":
        return _read_binary(content, path)
    lines = decode_text(content, path).split("\n")
    if lines[-1] == "":
        lines.pop()
    first, number, size = 1, len(lines), None
    if format == "word2vec":
        number, size = _numbers(lines[0].removeprefix("\ufeff") if lines else "", path)
        del lines[0]
        first = 2
        if len(lines) != number:
            raise ValueError(f"{path}: line 1 says {number} words, but there are {len(lines)}")
    elif lines and re.fullmatch(r"\d+ \d+", lines[0]):
        raise ValueError(f"{path}: {lines[0]!r} is the first line of a file in word2vec's format")
    words, rows = [], []
    for place, line in enumerate(lines, first):
        # From the right: GloVe has words with a space in them.
        parts = line.rstrip(" ").rsplit(" ", size) if size else line.rstrip(" ").split(" ")
        size = size or len(parts) - 1
        try:
            row = np.array(parts[1:], np.float32)
        except ValueError:
            row = ()
        if len(row) != size or not size:
            raise ValueError(f"{path}, line {place}: a word and {size} numbers are needed")
        words.append(parts[0])
        rows.append(row)
    matrix = np.array(rows, np.float32).reshape(number, size or 0)
    return _checked(words, matrix, path)


def _read_binary(content, path):
    head, _, rest = content.partition(b"\n")
    number, size = _numbers(head.decode("ascii", "replace"), path)
    words, matrix, place = [], np.empty((number, size), np.float32), 0
    for row in range(number):
        end = rest.find(b" ", place)
        values = rest[end + 1 : end + 1 + 4 * size]
        if end < 0 or len(values) < 4 * size:
            raise ValueError(f"{path}: {number} words are promised, but it ends after {row}")
        words.append(decode_text(rest[place:end].lstrip(b"\n"), f"{path}, word {row + 1}"))
        matrix[row] = np.frombuffer(values, "<f4")
        place = end + 1 + 4 * size
    return _checked(words, matrix, path)


def _numbers(line, path):
    parts = line.split()
    if len(parts) != 2 or not all(part.isdecimal() for part in parts):
        raise ValueError(
            f"{path}: the first line must have two numbers, of words and dimensions, got "
            f"{line[:80]!r} (files without it have the format 'glove')"
        )
    return int(parts[0]), int(parts[1])


def _checked(words, matrix, path):
    if len(set(words)) < len(words):
        raise ValueError(f"{path}: the same word comes twice")
    if not np.isfinite(matrix).all():
        raise ValueError(f"{path}: the vector of {words[_first_bad(matrix)]!r} is not finite")
    return words, matrix


def _first_bad(matrix):
    return int(np.flatnonzero(~np.isfinite(matrix).all(axis=1))[0])


def _shortest(value):
    return np.format_float_positional(value, unique=True, trim="0")
