"""Lines of text in and out of a command."""

import contextlib
import errno
import itertools
import os
import shlex
import shutil
import stat
import sys
import tempfile
import warnings

import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import ItemError
from keras_seqzoo.cli.progress import clear_line
from keras_seqzoo.data import ParallelFiles, TextFiles, read_lines, read_parallel
from keras_seqzoo.data.tagged_sentences import is_conllu
from keras_seqzoo.data.text_files import decode_lines
from keras_seqzoo.data.training_files import Rereading

CHUNK = 2000  # lines at a time: enough to batch by length, few enough to hold
PIECE = 8  # batches between two updates of a progress line
BLOCK = 2**20  # bytes
STANDARD_INPUT = "standard input"  # its name in errors


def input_chunks(texts):
    r"""Yield the lines of the arguments or of standard input, in chunks.

    Lines end only at `"\n"`; a `"\r"` before it is removed, and so is a byte order mark at the
    beginning of standard input. At a terminal each line is a chunk.

    Args:
        texts: list of arguments, or `None` or an empty list to read standard input.

    Yields:
        Pairs of the number of the first line, from 1, and a list of lines.

    Raises:
        ValueError: if a line is not UTF-8.
    """
    if texts:
        for text in texts:
            if os.path.isfile(text):
                warnings.warn(
                    f"TEXT {text!r} is the name of a file but is read as a text; give its lines by "
                    f"`< {shlex.quote(text)}`",
                    stacklevel=2,
                )
        lines, size = _argument_lines(texts), CHUNK
    elif sys.stdin is None:
        raise ValueError("TEXT must be given if standard input is closed.")
    else:
        lines = decode_lines(sys.stdin.buffer, STANDARD_INPUT)
        size = 1 if sys.stdin.isatty() else CHUNK
    first = 1
    while chunk := list(itertools.islice(lines, size)):
        yield first, chunk
        first += len(chunk)


def count_lines(texts):
    """Return how many lines `input_chunks` yields, or `None` if the number cannot be known.

    It is known for arguments and for a regular file on standard input, which is read ahead.
    """
    if texts:
        return sum(1 for _ in _argument_lines(texts))
    try:
        number = sys.stdin.fileno()
        position = os.lseek(number, 0, os.SEEK_CUR)
        if not stat.S_ISREG(os.fstat(number).st_mode):
            return None
    except (AttributeError, OSError, ValueError):  # closed, a pipe, or a stand-in
        return None
    count, last = 0, b"\n"
    while block := os.pread(number, BLOCK, position):
        count += block.count(b"\n")
        position += len(block)
        last = block[-1:]
    return count + (last != b"\n")


def run_in_pieces(function, line, batch_size, *columns):
    """Run a function on a few batches of items at a time, and show the progress.

    Args:
        function: takes lists of items and the batch size, and returns a result for each item.
        line: a `ProgressLine`.
        batch_size: int.
        *columns: lists of items, all of one length.

    Returns:
        A list of the results.
    """
    results = []
    for begin in range(0, len(columns[0]), PIECE * batch_size):
        piece = [column[begin : begin + PIECE * batch_size] for column in columns]
        results += function(*piece, batch_size)
        line.advance(len(piece[0]))
    return results


def training_texts(paths):
    """Return the lines of files, or of standard input: an iterable that can be read several times.

    Standard input is kept in a temporary file, not in memory.

    Args:
        paths: list of strings, files or patterns, or `None` for standard input.
    """
    if paths:
        return TextFiles(paths)
    if sys.stdin is None:
        raise ValueError("--train must be given if standard input is closed.")
    file = tempfile.TemporaryFile()  # noqa: SIM115 (open as long as it is read)
    shutil.copyfileobj(sys.stdin.buffer, file)

    def read():
        file.seek(0)
        return decode_lines(file, STANDARD_INPUT)

    return Rereading(read)


def read_pairs(source, target, option="--target"):
    """Read the source and target sentences of two files, at least one pair.

    Args:
        source: string, path of the source sentences: lines or, for a model of trees, CoNLL-U
            (`.conllu`); `None` if it was not given.
        target: string, path of their translations, or `None`.
        option: string, the option that names the translations.

    Returns:
        Two lists of strings.

    Raises:
        ValueError: if a file is not given, empty, or not as long as the other.
    """
    for name, path in (("--source", source), (option, target)):
        if path is None:
            raise ValueError(f"{name} must be given with a translation model.")
    with renamed(target=option):
        if is_conllu(source):
            sources, targets = held_in_memory(ParallelFiles(source, target))
        else:
            sources, targets = read_parallel(source, target)
    if not sources:
        raise ValueError(f"--source must be a file with at least one line, got {source}.")
    return sources, targets


def held_in_memory(files):
    """Return the two columns of `TrainingFiles` as a pair of lists."""
    return tuple(map(list, zip(*files, strict=True))) or ([], [])


@contextlib.contextmanager
def renamed(**options):
    """Replace names of arguments in the message of a `ValueError` by those of options."""
    try:
        yield
    except ItemError:
        raise
    except ValueError as error:
        message = str(error)
        for name, option in options.items():
            message = message.replace(f"`{name}`", option)
        raise ValueError(message) from error


def read_sources(path):
    """Return the sources of a file: lines or, for a model of trees, sentences in CoNLL-U."""
    return list(TextFiles(path)) if is_conllu(path) else read_lines(path)


def check_lengths(model, lines, first=1, truncate=True, place="line"):
    """Warn about lines that a model will cut, or refuse them.

    Args:
        model: a `RecurrentSeq2SeqLM`.
        lines: list of strings.
        first: int, number of the first line.
        truncate: bool, whether the model cuts long lines; otherwise they are an error.
        place: string, the name of a line in messages.

    Raises:
        ValueError: if a line is too long and `truncate=False`.
    """
    limit = model.preprocessor.encoder_sequence_length
    ids = model.preprocessor.encoder_tokenizer(tf.constant(lines))
    # [EOS], and the token of a target language
    lengths = ids.row_lengths().numpy() + 1 + bool(model.languages)
    for index in np.flatnonzero(lengths > limit):
        if lines[index].strip():
            message = f"{place} {first + index} must have at most {limit} tokens"
            if not truncate:
                raise ValueError(f"{message}, got {lengths[index]}.")
            warnings.warn(f"{message}, got {lengths[index]}; it was cut", stacklevel=2)


def check_sources(model, path, lines, first=1):
    """Refuse a file of another kind than a model reads; warn about what the model will cut.

    Args:
        model: a `RecurrentSeq2SeqLM`.
        path: string, the file: lines or, for a model of trees, CoNLL-U (`.conllu`).
        lines: list of strings, all or some of its lines or sentences.
        first: int, number of the first one.

    Raises:
        ValueError: if the file is of the other kind.
    """
    reads_trees = model.preprocessor.reads_trees
    if reads_trees and not is_conllu(path):
        raise ValueError(f"{path} must be in CoNLL-U (.conllu) for a model of trees.")
    if is_conllu(path) and not reads_trees:
        raise ValueError(f"{path} must be lines of text for a model that reads no trees.")
    check_lengths(model, lines, first, place=f"{path}, {'sentence' if reads_trees else 'line'}")


def write_lines(lines):
    """Write lines to standard output as UTF-8, and flush; remove a progress line first."""
    clear_line()
    if sys.stdout is None:
        raise OSError(errno.EBADF, "standard output is closed")
    output = sys.stdout.buffer
    output.write("".join(f"{line}\n" for line in lines).encode("utf-8"))
    output.flush()


def as_column(text, separator=""):
    """Replace characters that would end a line or a column by spaces."""
    for character in "\n\r" + separator:
        text = text.replace(character, " ")
    return text


def _argument_lines(texts):
    for number, text in enumerate(texts, 1):
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:  # Python has replaced bytes that it could not decode
            raise ValueError(f"TEXT {number} must be UTF-8.") from None
        yield from (line.removesuffix("\r") for line in text.split("\n"))
