"""Texts to train on: read from files, lists and datasets, and counted."""

import collections
import collections.abc
import os
import random
import warnings

import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.data.text_files import iterate_lines
from keras_seqzoo.data.training_files import Rereading

BATCH_SIZE = 10_000
BATCH_CHARACTERS = 2**22


def iterate_texts(texts):
    """Yield the strings of a list or dataset, or the lines of files.

    Args:
        texts: path of a text file (plain or `.gz`), list of `pathlib.Path`s, iterable of strings,
            or `tf.data.Dataset` of strings, batched or not.

    Yields:
        Strings.

    Raises:
        OSError: if a file cannot be read.
        ValueError: if text is not UTF-8.
        TypeError: if `texts` holds something else.
    """
    if isinstance(texts, (str, os.PathLike)):
        yield from iterate_lines(texts)
        return
    if isinstance(texts, tf.data.Dataset):
        texts = (text for batch in texts for text in np.ravel(batch.numpy()))
    for text in texts:
        if isinstance(text, os.PathLike):
            yield from iterate_lines(text)
        elif isinstance(text, bytes):
            yield _decode(text)
        elif isinstance(text, str):
            yield text
        else:
            raise TypeError(f"`texts` must hold strings or paths, got {text!r}.")


def several_times(texts):
    """Return texts that can be iterated several times: an iterator becomes a list."""
    return list(texts) if isinstance(texts, collections.abc.Iterator) else texts


def mapped_texts(function, texts):
    """Return texts converted by a function, which runs again in each iteration.

    Args:
        function: function from a list of strings to a list of strings.
        texts: see `iterate_texts`.

    Returns:
        An iterable of strings.
    """
    texts = several_times(texts)
    return Rereading(lambda: (text for batch in list_batches(texts) for text in function(batch)))


def sample_texts(texts, number):
    """Draw a number of texts at random, the same in each call, and return them as a list."""
    check_integer("most_lines", number, minimum=1)
    generator, drawn = random.Random(0), []
    for index, text in enumerate(texts):
        if index < number:
            drawn.append(text)
        elif (place := generator.randrange(index + 1)) < number:
            drawn[place] = text
    return drawn


def list_batches(texts):
    """Yield the strings of `iterate_texts` in lists of a limited number of characters."""
    batch, characters = [], 0
    for text in iterate_texts(texts):
        batch.append(text)
        characters += len(text)
        if len(batch) == BATCH_SIZE or characters >= BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def text_batches(texts):
    """Yield the strings of `iterate_texts` as string tensors `(rows,)`."""
    for batch in list_batches(texts):
        with tf.device("CPU"):
            tensor = tf.constant(batch, tf.string)
        yield tensor


def count_pieces(texts, cut):
    """Return a `Counter` of pieces; `cut` splits texts `(rows,)` into ragged `(rows, None)`."""
    counts = collections.Counter()
    for batch in text_batches(texts):
        counts.update(cut(batch).flat_values.numpy().tolist())
    return collections.Counter({piece.decode(): count for piece, count in counts.items()})


def frequent_pieces(counts, most=None, minimum_count=1, kind="piece", default=1):
    """Return the most frequent pieces, in alphabetical order if equally frequent.

    Args:
        counts: dict from pieces to their counts.
        most: int, the maximum number of pieces, or `None` for all.
        minimum_count: int, the minimum count of a piece. `None` means `default`, or 1, with a
            warning, if no piece is that frequent.
        kind: string, the name of a piece in messages.
        default: int.

    Returns:
        A list of pieces.

    Raises:
        ValueError: if no piece is frequent enough.
    """
    if not counts:
        raise ValueError(f"`texts` must have a {kind}, got none.")
    if minimum_count is None:
        minimum_count = default if max(counts.values()) >= default else 1
        if minimum_count < default:
            warnings.warn(
                f"no {kind} occurs {default} times, the default minimum: taking rarer ones",
                stacklevel=3,
            )
    check_integer("minimum_count", minimum_count, minimum=1)
    pieces = [piece for piece, count in counts.items() if count >= minimum_count]
    if not pieces:
        raise ValueError(
            f"`minimum_count` must be at most the count of the most frequent {kind}, "
            f"{max(counts.values())}, got {minimum_count}."
        )
    pieces.sort(key=lambda piece: (-counts[piece], piece))
    return pieces[:most]


def _decode(text):
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"`texts` must be UTF-8, got {text[:80]!r}.") from error
