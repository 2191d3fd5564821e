"""Counts of n-grams."""

from typing import NamedTuple

import numpy as np

from keras_seqzoo.models.language_model.ngram.sorted_runs import SortedRuns


class NGramTable(NamedTuple):
    """The distinct n-grams of one order, sorted by context and last word.

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

    def keys(self, vocabulary_size):
        """Return the sorted keys of the n-grams, context · V + word: int64 `(M,)`."""
        return self.contexts.astype(np.int64) * vocabulary_size + self.words

    def sums(self, values, size):
        """Sum values `(M,)` by context: float64 `(size,)` for `size` contexts."""
        return np.bincount(self.contexts, values, minlength=size)


def count_ngrams(ids, order, vocabulary_size, begin):
    """Count all n-grams up to an order, within sentences.

    The n-grams of each order are sorted as pairs of a context and a word. The time is
    O(order · tokens · log tokens). The memory is at most about 100 bytes per token, plus 21 bytes
    per n-gram for the tables.

    Args:
        ids: int array `(tokens,)`, concatenated sentences. Each starts with `begin` and may end
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
    rows = ids  # the table row of the n-gram that ends at each position
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


def count_ngrams_on_disk(batches, order, vocabulary_size, begin, memory):
    """Count the n-grams of a text that does not fit in memory, as `count_ngrams` does.

    `SortedRuns` counts the n-grams of `order` words that start at each position, shorter at the end
    of a sentence. Their beginnings are all shorter n-grams. This takes `memory`, and about 50 bytes
    per n-gram for the tables.

    Args:
        batches: iterable of int arrays `(tokens,)`, whole sentences; see `count_ngrams`.
        order: see `count_ngrams`.
        vocabulary_size: see `count_ngrams`.
        begin: see `count_ngrams`.
        memory: int, MiB for sorting.

    Returns:
        A list of `NGramTable`; see `count_ngrams`.
    """
    with SortedRuns(order, vocabulary_size, memory) as runs:
        for ids in batches:
            runs.add(_ngrams_from_each_position(np.asarray(ids, np.int32), order, begin))
        return tables_of_counts(runs.merged(), order, vocabulary_size, begin)


def tables_of_counts(blocks, order, vocabulary_size, begin):
    """Make n-gram tables from the counts of the n-grams that start at each position.

    Args:
        blocks: iterable of pairs: n-grams int32 `(M, width)`, -1 after the end of a sentence, and
            their counts `(M,)`. The n-grams of all blocks are distinct and sorted.
        order: int, at most `width`.
        vocabulary_size: int.
        begin: int, the id of `[BOS]`.

    Returns:
        A list of `NGramTable`, of orders 1 to `order`, or to the length of the longest n-gram.
    """
    unigrams = np.zeros(vocabulary_size, np.int64)
    longer = [_GrowingTable() for _ in range(2, order + 1)]
    last = np.full([1, order], -1, np.int32)
    for rows, counts in blocks:
        rows = rows[:, :order]
        np.add.at(unigrams, rows[:, 0], counts)
        before = np.concatenate([last, rows[:-1]])
        last = rows[-1:]
        new = np.logical_or.accumulate(rows != before, axis=1)  # (M, order)
        contexts = rows[:, 0]
        for n, table in enumerate(longer, 2):
            words = rows[:, n - 1]
            contexts = table.extend(contexts, words, counts, new[:, n - 1] & (words >= 0))
    words = np.arange(vocabulary_size, dtype=np.int32)
    zeros = np.zeros_like(words)
    tables = [NGramTable(zeros, words, zeros, unigrams, words == begin)]
    while longer and (columns := longer.pop(0)).size:
        contexts, words, counts = columns.concatenated()
        suffixes = words
        if len(tables) > 1:
            keys = tables[-1].keys(vocabulary_size)
            suffixes = tables[-1].suffixes[contexts].astype(np.int64) * vocabulary_size + words
            suffixes = np.searchsorted(keys, suffixes).astype(np.int32)
        begins = tables[-1].begins[contexts]
        tables.append(NGramTable(contexts, words, suffixes, counts, begins))
    return tables


class _GrowingTable:
    """The contexts, words and counts of the n-grams of one order, in sorted order."""

    def __init__(self):
        self.size = 0
        self._contexts, self._words, self._counts = ([] for _ in range(3))

    def extend(self, contexts, words, counts, new):
        """Add n-grams of the rows `(M,)` where `new` is true; return the table row of each row."""
        rows = self.size - 1 + np.cumsum(new)
        # Sums of the last n-gram of the previous block, which may continue, and of the new ones.
        known = words >= 0
        sums = np.zeros(1 + np.count_nonzero(new), np.int64)
        np.add.at(sums, rows[known] - (self.size - 1), counts[known])
        if self._counts:
            self._counts[-1][-1] += sums[0]
        if new.any():
            self._contexts.append(contexts[new].astype(np.int32))
            self._words.append(words[new])
            self._counts.append(sums[1:])
            self.size += len(sums) - 1
        return rows

    def concatenated(self):
        """Return the three columns."""
        return [np.concatenate(column) for column in (self._contexts, self._words, self._counts)]


def _ngrams_from_each_position(ids, order, begin):
    """Return the ids at and after each position up to the end of its sentence, -1 after that."""
    positions = np.arange(len(ids))
    starts = np.append(np.flatnonzero(ids == begin), len(ids))
    ends = starts[np.searchsorted(starts, positions, side="right")]
    padded = np.concatenate([ids, np.full(order, -1, np.int32)])
    return [
        np.where(positions + place < ends, padded[place : place + len(ids)], -1)
        for place in range(order)
    ]
