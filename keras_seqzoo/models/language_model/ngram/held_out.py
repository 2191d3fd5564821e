"""Interpolation weights estimated on held-out text, or on the text itself."""

import numpy as np

from keras_seqzoo.models.language_model.ngram.backoff import find_rows
from keras_seqzoo.models.language_model.ngram.counts import count_ngrams
from keras_seqzoo.models.language_model.ngram.estimators import FixedInterpolation

ITERATIONS = 500
TOLERANCE = 1e-6
MINIMUM_WEIGHT = 1e-6  # 0 would give unseen n-grams the probability 0


def tune_interpolation(ids, held_out, order, vocabulary_size, begin, excluded=()):
    """Find the weights of a `FixedInterpolation` that maximize the likelihood of held-out text.

    The method is expectation maximization (Jelinek and Mercer 1980, Interpolated estimation of
    Markov source parameters from sparse data). Order n generates a word w after h with probability
    1 - α_n, otherwise a lower order does. Each step sets, over the words whose context of order n
    is known,

        α_n = Σ P(below n | w, h) / Σ P(n or below | w, h),

    which never lowers the likelihood.

    Without held-out text this is deleted interpolation that leaves out one word at a time: each
    word of the text is predicted from the counts of all others,

        P_n(w | h) = (c(h w) - 1) / (c(h) - 1).

    Args:
        ids: see `estimate_tables`.
        held_out: int array, another text, like `ids`, or `None`.
        order: see `estimate_tables`.
        vocabulary_size: see `estimate_tables`.
        begin: see `estimate_tables`.
        excluded: see `estimate_tables`.

    Returns:
        `FixedInterpolation`.

    Raises:
        ValueError: if `held_out`, or else `ids`, has no tokens to predict, or has excluded ones.
    """
    events = np.asarray(ids if held_out is None else held_out, np.int32)
    if (events == begin).all() or np.isin(events, list(excluded)).any():
        name = "ids" if held_out is None else "held_out"
        raise ValueError(f"`{name}` must have tokens to predict, and no excluded ones.")
    tables = count_ngrams(ids, order, vocabulary_size, begin)
    left_out = 1 if held_out is None else 0
    likelihoods, known = _order_likelihoods(tables, events, vocabulary_size, begin, left_out)
    return _maximize(likelihoods, known, vocabulary_size - 1 - len(set(excluded)))


def _maximize(likelihoods, known, possible):
    """Fit the `FixedInterpolation` by expectation maximization.

    Args:
        likelihoods: floats `(N, E)`, P of E words by each order alone.
        known: bools `(N, E)`, whether the order knows the context.
        possible: int, the number of words that can occur.
    """
    weights = np.full(len(likelihoods), 0.5)
    for _ in range(ITERATIONS):
        previous = weights
        # (N + 1, events): P(w | h) by each order and all lower ones, after the uniform distribution
        mixed = [np.full(likelihoods.shape[1], 1.0 / possible)]
        for n, likelihood in enumerate(likelihoods):
            interpolated = (1 - weights[n]) * likelihood + weights[n] * mixed[-1]
            mixed.append(np.where(known[n], interpolated, mixed[-1]))
        reached = np.ones(likelihoods.shape[1])  # the posterior probability of n or below
        weights = np.empty_like(weights)
        for n in range(len(likelihoods) - 1, -1, -1):
            below = reached * np.where(known[n], previous[n] * mixed[n] / mixed[n + 1], 1.0)
            total = reached[known[n]].sum()
            weights[n] = below[known[n]].sum() / total if total else previous[n]
            reached = below
        weights = np.clip(weights, MINIMUM_WEIGHT, 1.0)
        if np.abs(weights - previous).max() <= TOLERANCE:
            break
    return FixedInterpolation(weights.tolist())


def _order_likelihoods(tables, ids, vocabulary_size, begin, left_out):
    """Return P of tokens by each order alone, and whether the order knows their context: `(N, E)`.

    Args:
        tables: list of `NGramTable`.
        ids: int array `(tokens,)`, sentences that begin with `begin`.
        vocabulary_size: int.
        begin: int.
        left_out: 1 to leave out the tokens themselves, if the tables count them, else 0.
    """
    positions = np.arange(len(ids))
    starts = np.maximum.accumulate(np.where(ids == begin, positions, 0))
    events = positions[ids != begin]
    likelihoods = np.zeros([len(tables), len(events)])
    known = np.zeros([len(tables), len(events)], bool)
    size = 1
    for n, table in enumerate(tables, 1):
        counts = np.where(table.words == begin, 0, table.counts)
        totals = np.bincount(table.contexts, counts, minlength=size)
        size = len(counts)
        long_enough = events - starts[events] >= n - 1
        ends = events[long_enough]
        ngrams = ids[ends[:, np.newaxis] + np.arange(1 - n, 1)]
        found = find_rows(tables, ngrams, vocabulary_size)
        contexts = find_rows(tables, ngrams[:, :-1], vocabulary_size)
        total = np.where(contexts >= 0, totals[contexts] - left_out, 0.0)
        count = np.where(found >= 0, counts[found] - left_out, 0.0)
        known[n - 1, long_enough] = total > 0
        likelihoods[n - 1, long_enough] = count / np.maximum(total, 1.0)
    return likelihoods, known
