"""N-gram models in the form that ARPA files have: probabilities and backoff weights."""

from typing import NamedTuple

import numpy as np

from keras_seqzoo.models.language_model.ngram.counts import count_ngrams


class BackoffTable(NamedTuple):
    """The n-grams of one order with their probabilities, sorted by context and last word.

        log P(w | h) = log_probabilities[h w]              if h w is in the table,
                       log_backoffs[h] + log P(w | h')     otherwise

    where h' is h without its first word, and a context that is in no table has a backoff of 0.

    Attributes:
        contexts, words: int32 arrays `(M,)`, as in `NGramTable`.
        log_probabilities: float32 array `(M,)`, natural logarithms; of the beginning of a sentence,
            which is never predicted, `-inf`.
        log_backoffs: float32 array `(M,)`, 0 in the longest order.
    """

    contexts: np.ndarray
    words: np.ndarray
    log_probabilities: np.ndarray
    log_backoffs: np.ndarray

    def keys(self, vocabulary_size):
        """Gives what sorts the n-grams and finds them, context · V + word: int64 `(M,)`."""
        return self.contexts.astype(np.int64) * vocabulary_size + self.words


def estimate(ids, order, vocabulary_size, begin, estimator, excluded=()):
    """Counts n-grams and estimates their probabilities.

    Args:
        ids: see `count_ngrams`.
        order: see `count_ngrams`.
        vocabulary_size: int.
        begin: int, the id of the beginning of a sentence.
        estimator: `Estimator`.
        excluded: ids that can never come, such as padding. `begin` cannot either.

    Returns:
        A list of `BackoffTable`, of orders 1 to `order`.
    """
    tables = count_ngrams(ids, order, vocabulary_size, begin)
    possible = np.ones(vocabulary_size, bool)
    possible[[begin, *excluded]] = False
    lower = np.where(possible, 1.0 / possible.sum(), 0.0)  # P(w | h'), of each n-gram of the order
    contexts = 1  # how many the order has
    found, backoffs = [], []
    with np.errstate(divide="ignore", invalid="ignore"):
        for n, (table, counts) in enumerate(zip(tables, estimator.counts(tables), strict=True), 1):
            probabilities, backoff = _divide(n, table, counts, contexts, lower, estimator)
            if n == 1:
                # There is nothing below: what is left over goes to the words that were unseen.
                probabilities = np.where(counts > 0, probabilities, backoff[0] * lower)
            else:
                backoffs.append(backoff)
            found.append(probabilities)
            if n < len(tables):
                lower = probabilities[tables[n].suffixes]
                contexts = len(probabilities)
        backoffs.append(np.ones(len(found[-1])))
        return [
            BackoffTable(
                table.contexts,
                table.words,
                np.log(probabilities).astype(np.float32),
                np.log(backoff).astype(np.float32),
            )
            for table, probabilities, backoff in zip(tables, found, backoffs, strict=True)
        ]


def _divide(n, table, counts, contexts, lower, estimator):
    """Gives the probabilities of an order's n-grams and the backoff weights of its contexts."""

    def sums(values):
        return table.sums(values, contexts)

    own, left = estimator.share(n, counts, sums, lambda values: values[table.contexts])
    seen = sums(counts > 0) > 0
    own = np.where(counts > 0, own, 0.0)
    left = np.where(seen, left, 1.0)
    if estimator.interpolates:
        return own + left[table.contexts] * lower, left
    unseen = 1.0 - sums(np.where(counts > 0, lower, 0.0))
    # Where all words were seen after a context, nothing can go to others.
    full = seen & (unseen <= 1e-12)
    own = np.where(full[table.contexts], own / (1.0 - left[table.contexts]), own)
    return own, np.where(full, 0.0, left / unseen)


def build(rows, log_probabilities, log_backoffs):
    """Makes tables of n-grams in any order.

    Where a longer n-gram is there without its first words, as in pruned models, these are put in,
    with the probability that backing off gives them, so that nothing scores otherwise.

    Args:
        rows: list of int arrays `(M, n)`, the n-grams of order n = 1, 2, ...; those of order 1 are
            all words of the vocabulary in the order of their ids.
        log_probabilities: list of float arrays `(M,)`, natural logarithms.
        log_backoffs: list of float arrays `(M,)`, natural logarithms.

    Returns:
        A list of `BackoffTable`.

    Raises:
        ValueError: if an n-gram is there twice.
    """
    rows, scores, backoffs = list(rows), list(log_probabilities), list(log_backoffs)
    for n in range(len(rows), 2, -1):
        missing = _without(rows[n - 1][:, :-1], rows[n - 2])
        rows[n - 2] = np.concatenate([rows[n - 2], missing])
        # To be known when the tables below are.
        scores[n - 2] = np.concatenate([scores[n - 2], np.full(len(missing), np.nan)])
        backoffs[n - 2] = np.concatenate([backoffs[n - 2], np.zeros(len(missing))])
    vocabulary_size = len(rows[0])
    tables = []
    for own, score, backoff in zip(rows, scores, backoffs, strict=True):
        unknown = np.isnan(score)
        if unknown.any():
            score = score.copy()
            score[unknown] = log_probability(tables, own[unknown], vocabulary_size)
        contexts = place(tables, own[:, :-1], vocabulary_size)
        columns = np.int32(contexts), np.int32(own[:, -1]), np.float32(score), np.float32(backoff)
        keys = BackoffTable(*columns).keys(vocabulary_size)
        ranked = np.argsort(keys)
        if (np.diff(keys[ranked]) == 0).any():
            raise ValueError(f"An n-gram of order {own.shape[1]} is there twice.")
        tables.append(BackoffTable(*(column[ranked] for column in columns)))
    return tables


def log_probability(tables, rows, vocabulary_size):
    """Gives log P of the last word of each n-gram `(M, n)` after the others, float64 `(M,)`."""
    result = tables[0].log_probabilities[rows[:, -1]].astype(np.float64)
    for n in range(2, min(rows.shape[1], len(tables) + 1) + 1):
        contexts = place(tables, rows[:, -n:-1], vocabulary_size)
        backoffs = tables[n - 2].log_backoffs[np.maximum(contexts, 0)]
        result += np.where(contexts >= 0, backoffs, 0.0)
        if n <= len(tables):
            places = place(tables, rows[:, -n:], vocabulary_size)
            own = tables[n - 1].log_probabilities[np.maximum(places, 0)]
            result = np.where(places >= 0, own, result)
    return result


def place(tables, rows, vocabulary_size):
    """Gives the places of n-grams `(M, n)` in their table, -1 where it does not have them."""
    places = np.zeros(len(rows), np.int64)  # the place of the empty context
    for table, words in zip(tables, rows.T, strict=False):
        keys = table.keys(vocabulary_size)
        wanted = places * vocabulary_size + words
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        places = np.where((places >= 0) & (keys[at] == wanted), at, -1)
    return places


def _without(rows, others):
    """Gives the different rows `(M, n)` that are not among others."""
    width = rows.shape[1]
    kind = np.dtype((np.void, 4 * width))
    rows, others = (np.ascontiguousarray(x, np.int32).view(kind).ravel() for x in (rows, others))
    missing = np.setdiff1d(rows, others)
    return missing.view(np.int32).reshape(len(missing), width)
