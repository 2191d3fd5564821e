"""Counts of n-grams."""

from typing import NamedTuple

import numpy as np


class NGramTable(NamedTuple):
    """The different n-grams of one order, sorted by context and last word.

    The context of an n-gram is its first n - 1 words, and its suffix the last n - 1 words. Both are
    given as rows of the table of order n - 1. In the table of order 1, the row of a word is its id,
    and contexts and suffixes are 0.

    Attributes:
        contexts: int32 array `(M,)`.
        words: int32 array `(M,)`, the last word.
        suffixes: int32 array `(M,)`.
        counts: int64 array `(M,)`.
        begins: bool array `(M,)`, whether the first word is `[BOS]`.
    """

    contexts: np.ndarray
    words: np.ndarray
    suffixes: np.ndarray
    counts: np.ndarray
    begins: np.ndarray

    def sums(self, values, size):
        """Sum values `(M,)` by context: float64 `(size,)` for `size` contexts."""
        return np.bincount(self.contexts, values, minlength=size)


def count_ngrams(ids, order, vocabulary_size, begin):
    """Count all n-grams up to an order, within sentences.

    The n-grams of each order are sorted as pairs of a context and a word. The time is
    O(order · tokens · log tokens). The memory is at most about 100 bytes per token, and 21 bytes
    per n-gram for the tables.

    Args:
        ids: int array `(tokens,)`, concatenated sentences. Each starts with `begin`, and may end
            with `[EOS]`.
        order: int, at least 1.
        vocabulary_size: int.
        begin: int, the id of `[BOS]`.

    Returns:
        A list of `NGramTable`, of orders 1 to `order`, or to the length of the longest sentence.

    Raises:
        ValueError: if `order` is below 1, or `ids` are empty, not in the vocabulary, or do not
            start with `begin`.

    Example:
    >>> unigrams, bigrams = count_ngrams(np.array([0, 1, 2, 0, 1, 1]), 2, 3, begin=0)
    >>> list(zip(bigrams.contexts.tolist(), bigrams.words.tolist(), bigrams.counts.tolist()))
    [(0, 1, 2), (1, 1, 1), (1, 2, 1)]
    """
    ids = np.asarray(ids, np.int32)
    if order < 1:
        raise ValueError(f"`order` must be at least 1, got {order}.")
    if ids.ndim != 1 or not len(ids) or ids[0] != begin:
        raise ValueError(
            f"`ids` must be an array (tokens,) that starts with `begin` ({begin}), got shape "
            f"{ids.shape}{f' that starts with {ids.flat[0]}' if ids.size else ''}."
        )
    if ids.min() < 0 or ids.max() >= vocabulary_size:
        raise ValueError(
            f"`ids` must be from 0 to {vocabulary_size - 1}, got {ids.min()} to {ids.max()}."
        )
    words = np.arange(vocabulary_size, dtype=np.int32)
    tables = [
        NGramTable(
            contexts=np.zeros_like(words),
            words=words,
            suffixes=np.zeros_like(words),
            counts=np.bincount(ids, minlength=vocabulary_size),
            begins=words == begin,
        )
    ]
    ends = np.arange(len(ids))  # positions in the text where n-grams end
    starts = np.maximum.accumulate(np.where(ids == begin, ends, 0))
    rows = ids  # the row in its table of the n-gram that ends at each position
    for n in range(2, order + 1):
        ends = ends[ends - starts[ends] >= n - 1]
        if not len(ends):
            break
        keys = rows[ends - 1].astype(np.int64) * vocabulary_size + ids[ends]
        ranked = np.argsort(keys)
        keys = keys[ranked]
        new = np.ones(len(keys), bool)
        new[1:] = keys[1:] != keys[:-1]
        first = np.flatnonzero(new)
        contexts, words = np.divmod(keys[first], vocabulary_size)
        tables.append(
            NGramTable(
                contexts=contexts.astype(np.int32),
                words=words.astype(np.int32),
                suffixes=rows[ends[ranked[first]]],
                counts=np.diff(first, append=len(keys)),
                begins=tables[-1].begins[contexts],
            )
        )
        longer = np.empty_like(rows)
        longer[ends[ranked]] = np.cumsum(new) - 1
        rows = longer
    return tables
