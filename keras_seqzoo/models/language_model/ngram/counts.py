"""Counting n-grams."""

from typing import NamedTuple

import numpy as np


class NGramTable(NamedTuple):
    """The different n-grams of one order, sorted by their context and then by their last word.

    An n-gram is known by its place in the table. Its context, the first n - 1 words, and its
    suffix, the last n - 1, are places in the table of the order below; in the table of order 1 each
    word of the vocabulary stands at the place of its id, and both are 0.

    Attributes:
        contexts: int32 array `(M,)`.
        words: int32 array `(M,)`, the last word.
        suffixes: int32 array `(M,)`.
        counts: int64 array `(M,)`, how often it occurs.
        begins: bool array `(M,)`, whether the first word is the beginning of a sentence.
    """

    contexts: np.ndarray
    words: np.ndarray
    suffixes: np.ndarray
    counts: np.ndarray
    begins: np.ndarray

    def sums(self, values, size):
        """Adds up values `(M,)` by context: float64 `(size,)`, a place for each context."""
        return np.bincount(self.contexts, values, minlength=size)


def count_ngrams(ids, order, vocabulary_size, begin):
    """Counts all n-grams up to an order, within sentences.

    Sorts the text's n-grams of each order, of which each is a pair of its context and a word: the
    time is O(order · tokens · log tokens), and at most some 100 bytes a token are taken beside the
    tables, which have 21 bytes an n-gram.

    Args:
        ids: int array `(tokens,)`, sentences one after the other. Each starts with `begin`; if the
            model is to know where sentences end, its last id says so.
        order: int, at least 1.
        vocabulary_size: int.
        begin: int, the id of the beginning of a sentence.

    Returns:
        A list of `NGramTable`, of orders 1 to `order`, or to the longest that a sentence has.

    Raises:
        ValueError: if `order` is below 1, or `ids` are none, not in the vocabulary, or begin
            otherwise.

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
            f"`ids` must be one list of tokens that starts with `begin` ({begin}), got shape "
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
    places = np.arange(len(ids))
    starts = np.maximum.accumulate(np.where(ids == begin, places, 0))
    ends = places  # of the n-grams, in the text
    found = ids  # the place in its table of the n-gram that ends there
    for n in range(2, order + 1):
        ends = ends[ends - starts[ends] >= n - 1]
        if not len(ends):
            break
        keys = found[ends - 1].astype(np.int64) * vocabulary_size + ids[ends]
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
                suffixes=found[ends[ranked[first]]],
                counts=np.diff(first, append=len(keys)),
                begins=tables[-1].begins[contexts],
            )
        )
        longer = np.empty_like(found)
        longer[ends[ranked]] = np.cumsum(new) - 1
        found = longer
    return tables
