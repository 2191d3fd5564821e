"""Lines of text in and out of a command."""

import itertools
import sys
import warnings

import numpy as np
import tensorflow as tf

from keras_seqzoo.data.text_files import read_lines

CHUNK = 2000  # lines translated at a time: enough to batch by length, few enough to hold


def input_chunks(texts):
    r"""Yield the lines to work on, from arguments or standard input.

    Lines end at `"\n"` alone; a `"\r"` before it goes too, and so does a byte order mark at the
    beginning of standard input. At a terminal each line is a chunk.

    Args:
        texts: list of arguments, or `None` or an empty list to read standard input.

    Yields:
        Pairs of the number of the first line, counted from 1, and a list of lines.

    Raises:
        ValueError: if a line is not UTF-8.
    """
    if texts:
        lines, size = _argument_lines(texts), CHUNK
    elif sys.stdin is None:
        raise ValueError("no TEXT was given, and standard input is closed")
    else:
        lines, size = _stream_lines(sys.stdin.buffer), 1 if sys.stdin.isatty() else CHUNK
    first = 1
    while chunk := list(itertools.islice(lines, size)):
        yield first, chunk
        first += len(chunk)


def text_lines(path):
    """Return the lines of a text file, or of standard input where there is no path."""
    if path is not None:
        return read_lines(path)
    return [line for _, chunk in input_chunks(None) for line in chunk]


def check_lengths(model, lines, first=1, truncate=True, place="line"):
    """Warn of the lines that the model will cut, or refuse them.

    Args:
        model: a `RecurrentSeq2SeqLM`.
        lines: list of strings.
        first: int, number of the first line.
        truncate: bool, whether such lines are cut or an error.
        place: string, what the lines are called.

    Raises:
        ValueError: if a line is too long and `truncate=False`.
    """
    limit = model.preprocessor.encoder_sequence_length
    ids = model.preprocessor.encoder_tokenizer(tf.constant(lines))
    lengths = ids.row_lengths().numpy() + 1  # [EOS]
    for index in np.flatnonzero(lengths > limit):
        if lines[index].strip():
            message = (
                f"{place} {first + index} is too long: {lengths[index]} tokens, "
                f"the limit is {limit}"
            )
            if not truncate:
                raise ValueError(message)
            warnings.warn(f"{message}; it was cut", stacklevel=2)


def write_lines(lines):
    """Write lines to standard output as UTF-8, now."""
    output = sys.stdout.buffer
    output.write("".join(f"{line}\n" for line in lines).encode("utf-8"))
    output.flush()


def as_column(text, separator=""):
    """Replace what would end a line or a column by spaces."""
    for character in "\n\r" + separator:
        text = text.replace(character, " ")
    return text


def _argument_lines(texts):
    for number, text in enumerate(texts, 1):
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:  # what Python makes of bytes that it cannot decode
            raise ValueError(f"TEXT {number} is not UTF-8 text; UTF-8 is needed") from None
        yield from (line.removesuffix("\r") for line in text.split("\n"))


def _stream_lines(stream):
    for number, line in enumerate(stream, 1):
        try:
            text = line.decode("utf-8").removesuffix("\n").removesuffix("\r")
            yield text.removeprefix("\ufeff") if number == 1 else text
        except UnicodeDecodeError as error:
            raise ValueError(
                f"standard input, line {number}: not UTF-8 text (byte 0x{line[error.start]:02x}, "
                f"number {error.start + 1} of the line); UTF-8 is needed"
            ) from None
