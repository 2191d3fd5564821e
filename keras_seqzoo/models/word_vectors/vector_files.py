"""Files of word vectors: formats of word2vec, GloVe and TensorBoard's projector."""

import re

import numpy as np

from keras_seqzoo.checks import check_choice
from keras_seqzoo.data.output_files import replacing, write_text, writing_into
from keras_seqzoo.data.text_files import decode_text, read_bytes

FORMATS = ("word2vec", "word2vec-binary", "glove")
PROJECTOR_CONFIG = """\
embeddings {
  tensor_name: "word_vectors"
  tensor_path: "vectors.tsv"
  metadata_path: "words.tsv"
}
"""


def write_vectors(path, words, matrix, format="word2vec"):
    """Write words and their vectors. An existing file is replaced when the new one is complete.

    Args:
        path: string or path.
        words: list of strings without white space.
        matrix: float32 array `(words, dimensions)`.
        format: `"word2vec"` (a line with the numbers of words and dimensions, then a line for each
            word), `"glove"` (the same without the first line), or `"word2vec-binary"` (vectors as
            little-endian float32).

    Raises:
        ValueError: if the format is unknown or a word has white space.
        OSError: if the file cannot be written.
    """
    check_choice("format", format, FORMATS)
    for word in words:
        if word.split() != [word]:
            raise ValueError(f"`words` must be words without white space, got {word!r}.")
    matrix = np.asarray(matrix, "<f4")
    with replacing(path) as draft, draft.open("wb") as file:
        if format != "glove":
            file.write(f"{matrix.shape[0]} {matrix.shape[1]}\n".encode())
        for word, row in zip(words, matrix, strict=True):
            if format == "word2vec-binary":
                file.write(word.encode() + b" " + row.tobytes() + b"\n")
            else:
                file.write(f"{word} {' '.join(map(_format_number, row))}\n".encode())


def read_vectors(path, format="word2vec"):
    """Read a file of `write_vectors`, word2vec, gensim or GloVe.

    Args:
        path: string or path of a file, plain or `.gz`.
        format: see `write_vectors`.

    Returns:
        A pair of the words, a list of strings, and a float32 array `(words, dimensions)`.

    Raises:
        ValueError: if the format is unknown or does not match the file.
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
        number, size = _parse_header(lines[0].removeprefix("\ufeff") if lines else "", path)
        del lines[0]
        first = 2
        if len(lines) != number:
            raise ValueError(
                f"{path}: must have {number} words, the number in line 1, got {len(lines)}."
            )
    elif lines and re.fullmatch(r"\d+ \d+", lines[0]):
        raise ValueError(
            f"{path}, line 1: must be a word and numbers, got {lines[0]!r}, the first line of a "
            "file in the format 'word2vec'."
        )
    words, rows = [], []
    for line_number, line in enumerate(lines, first):
        # Split from the right, because some words of GloVe have spaces.
        parts = line.rstrip(" ").rsplit(" ", size) if size else line.rstrip(" ").split(" ")
        size = size or len(parts) - 1
        try:
            row = np.array(parts[1:], np.float32)
        except ValueError:
            row = ()
        if len(row) != size or not size:
            raise ValueError(
                f"{path}, line {line_number}: must be a word and {size} numbers, got {line[:80]!r}."
            )
        words.append(parts[0])
        rows.append(row)
    matrix = np.array(rows, np.float32).reshape(number, size or 0)
    return _check_vectors(words, matrix, path)


def save_projector(vectors, folder, most=10_000):
    """Write the files that show word vectors in TensorBoard's embedding projector.

    `tensorboard --logdir FOLDER` shows them under "Projector".

    Args:
        vectors: `WordVectors`.
        folder: string or path of the folder, which is created if it does not exist.
        most: int, the maximum number of words, the first of `vectors`.

    Raises:
        ValueError: if a word has a tab or a line end.
        OSError: if a file cannot be written.
    """
    words = vectors.words[:most]
    for word in words:
        if not {"\t", "\n", "\r"}.isdisjoint(word):
            raise ValueError(f"`vectors` must have words without tabs and line ends, got {word!r}.")
    with writing_into(folder) as folder:
        with replacing(folder / "vectors.tsv") as draft:
            np.savetxt(draft, vectors.matrix[:most], fmt="%.7g", delimiter="\t")
        write_text(folder / "words.tsv", "".join(f"{word}\n" for word in words))
        write_text(folder / "projector_config.pbtxt", PROJECTOR_CONFIG)


def _read_binary(content, path):
    header, _, rest = content.partition(b"\n")
    number, size = _parse_header(header.decode("ascii", "replace"), path)
    words, matrix, position = [], np.empty((number, size), np.float32), 0
    for row in range(number):
        end = rest.find(b" ", position)
        values = rest[end + 1 : end + 1 + 4 * size]
        if end < 0 or len(values) < 4 * size:
            raise ValueError(f"{path}: must have {number} words, the number in line 1, got {row}.")
        words.append(decode_text(rest[position:end].lstrip(b"\n"), f"{path}, word {row + 1}"))
        matrix[row] = np.frombuffer(values, "<f4")
        position = end + 1 + 4 * size
    return _check_vectors(words, matrix, path)


def _parse_header(line, path):
    parts = line.split()
    if len(parts) != 2 or not all(part.isdecimal() for part in parts):
        raise ValueError(
            f"{path}, line 1: must be the numbers of words and dimensions, got {line[:80]!r}. "
            "Files without this line have the format 'glove'."
        )
    return int(parts[0]), int(parts[1])


def _check_vectors(words, matrix, path):
    if len(set(words)) < len(words):
        raise ValueError(f"{path}: must have different words, got one twice.")
    finite = np.isfinite(matrix).all(axis=1)
    if not finite.all():
        raise ValueError(
            f"{path}: must have finite numbers, got others for {words[finite.argmin()]!r}."
        )
    return words, matrix


def _format_number(value):
    return np.format_float_positional(value, unique=True, trim="0")
