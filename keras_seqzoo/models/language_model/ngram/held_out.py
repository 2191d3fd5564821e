"""Choosing the weights of an interpolation on held-out text."""

import numpy as np

from keras_seqzoo.models.language_model.ngram.backoff import estimate, place
from keras_seqzoo.models.language_model.ngram.estimators import (
    FixedInterpolation,
    MaximumLikelihood,
)

SMALLEST = 1e-6  # a weight of 0 would give probability 0 to what is not in the text


def tuned_interpolation(
    ids, held_out, order, vocabulary_size, begin, excluded=(), iterations=500, tolerance=1e-6
):
    """Finds the weights of a `FixedInterpolation` that make held-out text likeliest.

    By expectation maximisation (Jelinek and Mercer 1980, Interpolated estimation of Markov source
    parameters from sparse data): an event w after h descends from the longest context to shorter
    ones, and stops at order n with probability 1 - α_n. Each step sets α_n to the expected share of
    those that came to order n, and whose context is in the text, that went on below it,

        α_n = Σ P(below n | w, h) / Σ P(n or below | w, h),

    which never lowers the likelihood.

    Args:
        ids: int array, the text that n-grams are counted in; see `count_ngrams`.
        held_out: int array, another text of the same form.
        order: int.
        vocabulary_size: int.
        begin: int, the id of the beginning of a sentence.
        excluded: ids that can never come.
        iterations: int, the most steps.
        tolerance: float, where to stop: no weight has changed by more.

    Returns:
        `FixedInterpolation`.

    Raises:
        ValueError: if `held_out` has nothing to predict, or what can never come.
    """
    held_out = np.asarray(held_out, np.int32)
    if (held_out == begin).all() or np.isin(held_out, list(excluded)).any():
        raise ValueError("`held_out` must have tokens to predict, and none that can never come.")
    tables = estimate(ids, order, vocabulary_size, begin, MaximumLikelihood(), excluded)
    likelihoods, known = _by_order(tables, held_out, vocabulary_size, begin)
    possible = vocabulary_size - 1 - len(set(excluded))
    weights = np.full(len(tables), 0.5)
    for _ in range(iterations):
        before = weights
        # P(w | h) of each order and all below it, from the uniform distribution up: (N + 1, events)
        mixed = [np.full(likelihoods.shape[1], 1.0 / possible)]
        for n, own in enumerate(likelihoods):
            both = (1 - weights[n]) * own + weights[n] * mixed[-1]
            mixed.append(np.where(known[n], both, mixed[-1]))
        came = np.ones(likelihoods.shape[1])  # the posterior of coming to an order
        weights = np.empty_like(weights)
        for n in range(len(tables) - 1, -1, -1):
            below = came * np.where(known[n], before[n] * mixed[n] / mixed[n + 1], 1.0)
            total = came[known[n]].sum()
            weights[n] = below[known[n]].sum() / total if total else before[n]
            came = below
        weights = np.clip(weights, SMALLEST, 1.0)
        if np.abs(weights - before).max() <= tolerance:
            break
    return FixedInterpolation(weights.tolist())


def _by_order(tables, ids, vocabulary_size, begin):
    """Gives P of events by the counts of each order, and if their context is known: `(N, E)`."""
    positions = np.arange(len(ids))
    starts = np.maximum.accumulate(np.where(ids == begin, positions, 0))
    events = positions[ids != begin]
    likelihoods = np.zeros([len(tables), len(events)])
    known = np.zeros([len(tables), len(events)], bool)
    for n, table in enumerate(tables, 1):
        long_enough = events - starts[events] >= n - 1
        ends = events[long_enough]
        rows = ids[ends[:, np.newaxis] + np.arange(1 - n, 1)]
        places = place(tables, rows, vocabulary_size)
        own = np.exp(table.log_probabilities[np.maximum(places, 0)], dtype=np.float64)
        likelihoods[n - 1, long_enough] = np.where(places >= 0, own, 0.0)
        known[n - 1, long_enough] = place(tables, rows[:, :-1], vocabulary_size) >= 0
    return likelihoods, known
