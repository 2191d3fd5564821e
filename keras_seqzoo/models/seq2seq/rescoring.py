"""Ranking of candidate translations by the scores of several models."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import list_of_texts
from keras_seqzoo.decoding import LengthPrior
from keras_seqzoo.decoding.scores import as_score
from keras_seqzoo.models.common.mixtures import check_weights


class RankedCandidate(NamedTuple):
    """One candidate translation in the ranking of its source.

    Attributes:
        score: float, the weighted sum of the models' scores.
        index: int, the position of the candidate in the list of its source.
    """

    score: float
    index: int


def rescore(sources, candidates, models, weights=None, length_penalty=1.0, **kwargs):
    """Rank the candidate translations of each source by the scores of several models.

        score(y) = Σ_m w_m · s(log P_m(y | x), L_m)

    where s is a `HypothesisScore` and L_m is the length of y in tokens of model m, including the
    end token (Sutskever et al. 2014, Sequence to sequence learning with neural networks, section
    3.2). The models score whole texts. Unlike those in an `Ensemble`, they may have different
    vocabularies and directions.

    Args:
        sources: list of strings. A source with candidates must not be blank.
        candidates: list with a list of strings for each source, such as an n-best list or samples.
            A list may be empty.
        models: list of models with `score(sources, targets)`, which returns a pair `(log
            probability, number of target tokens)` for each pair of strings, such as
            `RecurrentSeq2SeqLM`.
        weights: list of numbers of at least 0, one for each model; 1 by default.
        length_penalty: float, at least 0, alpha of log P / L^alpha; or a `HypothesisScore`, but not
            `LengthPrior`, which counts tokens of one vocabulary.
        **kwargs: further arguments of the models' `score`, such as `batch_size`.

    Returns:
        A list with a list of `RankedCandidate` for each source, best first. Candidates with equal
        scores keep their order.

    Raises:
        ValueError: if lists differ in length, `models` is empty, a source with candidates is blank,
            or a weight or `length_penalty` is out of range.
        TypeError: if one of `models` has no `score`.

    Example:
    >>> class Short:
    ...     def score(self, sources, targets):
    ...         return [(-1.5 * len(text.split()), len(text.split()) + 1) for text in targets]
    >>> rescore(["a cat"], [["un petit chat", "un chat"]], [Short()], length_penalty=0.0)
    [[RankedCandidate(score=-3.0, index=1), RankedCandidate(score=-4.5, index=0)]]
    """
    sources, candidates = check_candidates(sources, candidates)
    models = _check_models(models)
    weights = check_weights(weights, len(models))
    used = [index for index, weight in enumerate(weights) if weight]
    scores = score_candidates(
        sources, candidates, [models[index] for index in used], length_penalty, **kwargs
    )
    totals = [own @ [weights[index] for index in used] for own in scores]
    return [
        sorted(
            (RankedCandidate(float(score), index) for index, score in enumerate(own)),
            key=lambda ranked: (-ranked.score, ranked.index),
        )
        for own in totals
    ]


def score_candidates(sources, candidates, models, length_penalty=1.0, **kwargs):
    """Score the candidate translations of each source with each of several models.

    Args:
        sources: see `rescore`.
        candidates: see `rescore`.
        models: see `rescore`.
        length_penalty: see `rescore`.
        **kwargs: see `rescore`.

    Returns:
        A list with a float64 array `(candidates, models)` for each source.

    Raises:
        ValueError: see `rescore`.
    """
    penalty = as_score(length_penalty)
    if isinstance(penalty, LengthPrior):
        raise ValueError(
            "`length_penalty` must not be a LengthPrior, which counts tokens of one vocabulary, "
            f"got {length_penalty!r}."
        )
    models = _check_models(models)
    # Samples may be equal: score each distinct pair once.
    pairs = dict.fromkeys(
        (source, text) for source, own in zip(sources, candidates, strict=True) for text in own
    )
    columns = []
    if pairs:
        texts = list(zip(*pairs, strict=True))
        columns = [_normalized(model.score(*texts, **kwargs), penalty) for model in models]
    rows = dict(zip(pairs, zip(*columns, strict=True), strict=True))
    return [
        np.array([rows[source, text] for text in own]).reshape(-1, len(models))
        for source, own in zip(sources, candidates, strict=True)
    ]


def _normalized(scores, penalty):
    """Return the scores `(K,)` of K pairs `(log probability, number of tokens)`."""
    log_probabilities, lengths = zip(*scores, strict=True)
    scores = penalty.score(
        tf.constant(log_probabilities, tf.float32)[:, tf.newaxis],  # (K, 1)
        tf.constant(lengths, tf.int32)[:, tf.newaxis],
        None,
    )
    return scores[:, 0].numpy().astype(np.float64)


def check_candidates(sources, candidates):
    """Return sources and lists of candidates as lists, or raise an error; see `rescore`."""
    sources = list_of_texts(sources, "sources")
    if isinstance(candidates, str):
        raise ValueError(f"`candidates` must be lists of strings, got {candidates[:40]!r}.")
    candidates = [own if isinstance(own, str) else list(own) for own in candidates]
    if len(sources) != len(candidates):
        raise ValueError(
            f"`candidates` must have one list for each of the {len(sources)} `sources`, "
            f"got {len(candidates)}."
        )
    for number, (source, own) in enumerate(zip(sources, candidates, strict=True), 1):
        if isinstance(own, str) or not all(isinstance(text, str) for text in own):
            raise ValueError(
                f"`candidates` must be lists of strings, got {str(own)[:60]} at number {number}."
            )
        if own and not source.strip():
            raise ValueError(
                f"`sources` must not be blank with candidates, got {source!r} at number {number}."
            )
    return sources, candidates


def _check_models(models):
    models = list(models)
    if not models:
        raise ValueError("`models` must have at least one model, got none.")
    for number, model in enumerate(models, 1):
        if not callable(getattr(model, "score", None)):
            raise TypeError(
                f"`models` must have `score(sources, targets)`, got {model!r} at number {number}."
            )
    return models
