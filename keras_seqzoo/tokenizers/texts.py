"""Texts to train on: files, lists and datasets, line by line and in batches."""

import collections
import gzip
import itertools
import os
import warnings

import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_integer

BATCH = 10_000


def iterate_texts(texts):
    """Yields strings.

    Args:
        texts: the path of a text file (plain or `.gz`), a list of paths (`pathlib.Path`; strings in
            a list are text), a list or other iterable of strings, or a `tf.data.Dataset` of
            strings, batched or not.

    Yields:
        Strings; of files their lines.

    Raises:
        OSError: if a file cannot be read.
        ValueError: if text is not UTF-8.
        TypeError: if `texts` holds something else.
    """
    if isinstance(texts, (str, os.PathLike)):
        yield from _read(texts)
        return
    if isinstance(texts, tf.data.Dataset):
        texts = (text for batch in texts for text in np.ravel(batch.numpy()))
    for text in texts:
        if isinstance(text, os.PathLike):
            yield from _read(text)
        elif isinstance(text, bytes):
            yield _decode(text, "`texts`")
        elif isinstance(text, str):
            yield text
        else:
            raise TypeError(f"`texts` must hold strings or paths, got {text!r}.")


def text_batches(texts):
    """Yields the strings of `iterate_texts` as string tensors `(rows,)`."""
    lines = iterate_texts(texts)
    while batch := list(itertools.islice(lines, BATCH)):
        with tf.device("CPU"):
            yield tf.constant(batch, tf.string)


def count_pieces(texts, cut):
    """Counts what `cut` makes of batches of texts, ragged strings `(rows, None)`: a `Counter`."""
    counts = collections.Counter()
    for batch in text_batches(texts):
        counts.update(cut(batch).flat_values.numpy().tolist())
    return collections.Counter({piece.decode(): count for piece, count in counts.items()})


def frequent_pieces(counts, most=None, minimum_count=1, kind="piece", default=1):
    """List the most frequent pieces, those equally frequent by the alphabet.

    Args:
        counts: dict from pieces to their counts.
        most: int, the most pieces, or `None` for all.
        minimum_count: int, how often a piece must come, or `None` for the default, and for 1 with
            a warning where no piece comes so often.
        kind: string, what the message calls a piece.
        default: int.

    Returns:
        A list of pieces.

    Raises:
        ValueError: if no piece is left.
    """
    if not counts:
        raise ValueError(f"`texts` must have a {kind}.")
    if minimum_count is None:
        minimum_count = default if max(counts.values()) >= default else 1
        if minimum_count < default:
            warnings.warn(
                f"no {kind} comes {default} times, the default: rarer ones are taken", stacklevel=3
            )
    check_integer("minimum_count", minimum_count, minimum=1)
    pieces = [piece for piece, count in counts.items() if count >= minimum_count]
    if not pieces:
        raise ValueError(
            f"`minimum_count` must be at most how often the most frequent {kind} comes, "
            f"{max(counts.values())}, got {minimum_count}."
        )
    pieces.sort(key=lambda piece: (-counts[piece], piece))
    return pieces[:most]


def _read(path):
    path = os.fspath(path)
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rb") as file:
        for number, line in enumerate(file, 1):
            yield _decode(line.rstrip(b"\r\n"), f"Line {number} of {path!r}")


def _decode(text, place):
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{place} must be UTF-8, got {text[:80]!r}.") from error
