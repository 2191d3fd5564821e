"""Tables of n-gram probabilities and backoff weights, as in ARPA files."""

from typing import NamedTuple

import numpy as np

from keras_seqzoo.models.language_model.ngram.counts import NGramTable, count_ngrams


class BackoffTable(NamedTuple):
    """The n-grams of one order with their probabilities, sorted by context and last word.

        log P(w | h) = log_probabilities[h w]              if h w is in the table,
                       log_backoffs[h] + log P(w | h')     otherwise

    where h' is h without its first word, and log_backoffs[h] is 0 if h is not in a table.

    Attributes:
        contexts, words: int32 arrays `(M,)`, see `NGramTable`.
        log_probabilities: float32 array `(M,)`, natural logarithms; `-inf` for `[BOS]`, which is
            never predicted.
        log_backoffs: float32 array `(M,)`, 0 in the longest order.
    """

    contexts: np.ndarray
    words: np.ndarray
    log_probabilities: np.ndarray
    log_backoffs: np.ndarray

    def keys(self, vocabulary_size):
        """Return the sorted keys of the n-grams; see `NGramTable`."""
        return NGramTable.keys(self, vocabulary_size)


def estimate_tables(ids, order, vocabulary_size, begin, estimator, excluded=()):
    """Count n-grams and estimate their probabilities.

    Args:
        ids: see `count_ngrams`.
        order: see `count_ngrams`.
        vocabulary_size: see `count_ngrams`.
        begin: see `count_ngrams`.
        estimator: `Estimator`.
        excluded: ids that never occur, such as padding. `begin` is always excluded.

    Returns:
        A list of `BackoffTable`, of orders 1 to `order`.
    """
    return smooth_counts(
        count_ngrams(ids, order, vocabulary_size, begin), begin, estimator, excluded
    )


def smooth_counts(tables, begin, estimator, excluded=()):
    """Estimate the probabilities of counted n-grams; see `estimate_tables`.

    Args:
        tables: list of `NGramTable`, of orders 1 and up.
        begin: int, the id of `[BOS]`.
        estimator: `Estimator`.
        excluded: ids that never occur.

    Returns:
        A list of `BackoffTable`, one for each of `tables`.
    """
    possible = np.ones(len(tables[0].words), bool)
    possible[[begin, *excluded]] = False
    lower = np.where(possible, 1.0 / possible.sum(), 0.0)  # (M,), P(w | h') of each n-gram
    contexts = 1  # the number of contexts of the order
    log_probabilities, log_backoffs = [], []
    with np.errstate(divide="ignore", invalid="ignore"):
        for n, (table, counts) in enumerate(zip(tables, estimator.counts(tables), strict=True), 1):
            probabilities, backoff = _estimate_order(n, table, counts, contexts, lower, estimator)
            if n == 1:
                # There is no lower order: unseen words get the remaining probability.
                probabilities = np.where(counts > 0, probabilities, backoff[0] * lower)
            else:
                log_backoffs.append(np.log(backoff).astype(np.float32))
            log_probabilities.append(np.log(probabilities).astype(np.float32))
            if n < len(tables):
                lower = probabilities[tables[n].suffixes]
                contexts = len(probabilities)
    log_backoffs.append(np.zeros(len(log_probabilities[-1]), np.float32))
    return [
        BackoffTable(table.contexts, table.words, *logs)
        for table, *logs in zip(tables, log_probabilities, log_backoffs, strict=True)
    ]


def _estimate_order(n, table, counts, contexts, lower, estimator):
    """Return the probabilities of n-grams `(M,)` and the backoff weights of contexts `(C,)`."""

    def sums(values):
        return table.sums(values, contexts)

    discounted, rest = estimator.share(n, counts, sums, lambda values: values[table.contexts])
    seen = sums(counts > 0) > 0
    discounted = np.where(counts > 0, discounted, 0.0)
    rest = np.where(seen, rest, 1.0)
    if estimator.interpolates:
        return discounted + rest[table.contexts] * lower, rest
    unseen = 1.0 - sums(np.where(counts > 0, lower, 0.0))
    # If all words were seen after a context, there is no word to back off to.
    full = seen & (unseen <= 1e-12)
    scale = np.where(full, 1.0 - rest, 1.0)[table.contexts]
    return discounted / scale, np.where(full, 0.0, rest / unseen)


def build_tables(rows, log_probabilities, log_backoffs):
    """Build tables from unsorted n-grams.

    If the context of an n-gram is missing, as in pruned models, it is inserted with its backoff
    probability. This does not change any score.

    Args:
        rows: list of int arrays `(M, n)`, the n-grams of order n = 1, 2, .... Order 1 has all words
            of the vocabulary, sorted by id.
        log_probabilities: list of float arrays `(M,)`, natural logarithms.
        log_backoffs: list of float arrays `(M,)`, natural logarithms.

    Returns:
        A list of `BackoffTable`.

    Raises:
        ValueError: if an n-gram occurs twice.
    """
    rows, scores, backoffs = list(rows), list(log_probabilities), list(log_backoffs)
    for n in range(len(rows), 2, -1):
        missing = _missing_rows(rows[n - 1][:, :-1], rows[n - 2])
        rows[n - 2] = np.concatenate([rows[n - 2], missing])
        # nan until the tables of the lower orders are built
        scores[n - 2] = np.concatenate([scores[n - 2], np.full(len(missing), np.nan)])
        backoffs[n - 2] = np.concatenate([backoffs[n - 2], np.zeros(len(missing))])
    vocabulary_size = len(rows[0])
    tables = []
    for ngrams, score, backoff in zip(rows, scores, backoffs, strict=True):
        unknown = np.isnan(score)
        if unknown.any():
            score = score.copy()
            score[unknown] = log_probability(tables, ngrams[unknown], vocabulary_size)
        contexts = find_rows(tables, ngrams[:, :-1], vocabulary_size)
        columns = (
            np.int32(contexts),
            np.int32(ngrams[:, -1]),
            np.float32(score),
            np.float32(backoff),
        )
        keys = BackoffTable(*columns).keys(vocabulary_size)
        ranked = np.argsort(keys)
        if (np.diff(keys[ranked]) == 0).any():
            raise ValueError(f"`rows` must have different {ngrams.shape[1]}-grams, got one twice.")
        tables.append(BackoffTable(*(column[ranked] for column in columns)))
    return tables


def log_probability(tables, rows, vocabulary_size):
    """Compute log P of the last word of each n-gram `(M, n)` given the others: float64 `(M,)`."""
    result = tables[0].log_probabilities[rows[:, -1]].astype(np.float64)
    for n in range(2, min(rows.shape[1], len(tables) + 1) + 1):
        contexts = find_rows(tables, rows[:, -n:-1], vocabulary_size)
        backoffs = tables[n - 2].log_backoffs[np.maximum(contexts, 0)]
        result += np.where(contexts >= 0, backoffs, 0.0)
        if n <= len(tables):
            found = find_rows(tables, rows[:, -n:], vocabulary_size)
            scores = tables[n - 1].log_probabilities[np.maximum(found, 0)]
            result = np.where(found >= 0, scores, result)
    return result


def find_rows(tables, ngrams, vocabulary_size):
    """Return the rows of n-grams `(M, n)` in the table of order n, or -1: int64 `(M,)`.

    `tables` are `BackoffTable`s or `NGramTable`s.
    """
    rows = np.zeros(len(ngrams), np.int64)  # the empty context
    for table, words in zip(tables, ngrams.T, strict=False):
        table_keys = table.keys(vocabulary_size)
        keys = rows * vocabulary_size + words
        candidates = np.minimum(np.searchsorted(table_keys, keys), len(table_keys) - 1)
        rows = np.where((rows >= 0) & (table_keys[candidates] == keys), candidates, -1)
    return rows


def _missing_rows(rows, others):
    """Return the distinct rows of an array `(M, n)` that another array does not have."""
    width = rows.shape[1]
    bytes_dtype = np.dtype((np.void, 4 * width))
    rows, others = (
        np.ascontiguousarray(array, np.int32).view(bytes_dtype).ravel() for array in (rows, others)
    )
    missing = np.setdiff1d(rows, others)
    return missing.view(np.int32).reshape(len(missing), width)
