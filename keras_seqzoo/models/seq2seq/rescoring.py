"""Ranking candidate translations by what other models make of them."""

import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_number
from keras_seqzoo.decoding import LengthPrior
from keras_seqzoo.decoding.scores import as_score


def rescore(sources, candidates, models, weights=None, length_penalty=1.0, **kwargs):
    """Ranks candidate translations of each source by the scores of several models.

        score(y) = Σ_m w_m · s(log P_m(y | x), L_m)

    where s is a `HypothesisScore` and L_m the length of y in tokens of model m, the end counted
    (Sutskever et al. 2014, Sequence to sequence learning with neural networks, section 3.2). The
    models see whole texts: other than in an `Ensemble`, they may have any vocabularies, and read
    in any direction.

    Args:
        sources: list of strings, none of them blank that has candidates.
        candidates: list with, for each source, a list of strings, such as an n-best list or
            samples; it may be empty.
        models: list of models with `score(sources, targets)`, which gives a pair `(log probability,
            number of target tokens)` for each pair of strings, such as `RecurrentSeq2SeqLM`.
        weights: list of numbers of at least 0, one for each model; 1 by default.
        length_penalty: float, at least 0, alpha of log P / L^alpha; or a `HypothesisScore`, but no
            `LengthPrior`, which counts tokens of one vocabulary.
        **kwargs: further arguments of the models' `score`, such as `batch_size`.

    Returns:
        A list with, for each source, a list of `(score, index)`, best first, one pair for each
        candidate. Those that score the same keep their order.

    Raises:
        ValueError: if the lists do not fit together, there is no model, a source that has
            candidates is blank, or a weight or `length_penalty` is out of its range.
        TypeError: if one of `models` has no `score`.

    Example:
    >>> class Short:
    ...     def score(self, sources, targets):
    ...         return [(-1.5 * len(text.split()), len(text.split()) + 1) for text in targets]
    >>> rescore(["a cat"], [["un petit chat", "un chat"]], [Short()], length_penalty=0.0)
    [[(-3.0, 1), (-4.5, 0)]]
    """
    sources, candidates = _check_texts(sources, candidates)
    models, weights = _check_models(models, weights)
    penalty = as_score(length_penalty)
    if isinstance(penalty, LengthPrior):
        raise ValueError(
            "`length_penalty` must not be a LengthPrior: it counts the tokens of one vocabulary, "
            "which `models` need not share."
        )
    # Samples repeat themselves: each pair is scored once.
    pairs = dict.fromkeys(
        (source, text) for source, own in zip(sources, candidates, strict=True) for text in own
    )
    if not pairs:
        return [[] for _ in sources]
    total = np.zeros(len(pairs))
    for model, weight in zip(models, weights, strict=True):
        if weight:
            total += weight * _normalized(model.score(*zip(*pairs, strict=True), **kwargs), penalty)
    scores = dict(zip(pairs, total.tolist(), strict=True))
    return [
        sorted(
            ((scores[source, text], index) for index, text in enumerate(own)),
            key=lambda ranked: (-ranked[0], ranked[1]),
        )
        for source, own in zip(sources, candidates, strict=True)
    ]


def _normalized(scores, penalty):
    """Gives the scores `(K,)` of K pairs `(log probability, number of tokens)`."""
    log_probabilities, lengths = zip(*scores, strict=True)
    found = penalty.score(
        tf.constant(log_probabilities, tf.float32)[:, tf.newaxis],  # (K, 1)
        tf.constant(lengths, tf.int32)[:, tf.newaxis],
        None,
    )
    return found[:, 0].numpy().astype(np.float64)


def _check_texts(sources, candidates):
    for name, value in (("sources", sources), ("candidates", candidates)):
        if isinstance(value, str):
            raise ValueError(f"`{name}` must be a list, got the string {value[:40]!r}.")
    sources, candidates = list(sources), list(candidates)
    if len(sources) != len(candidates):
        raise ValueError(
            f"`candidates` must have one list for each of the {len(sources)} `sources`, "
            f"got {len(candidates)}."
        )
    candidates = [own if isinstance(own, str) else list(own) for own in candidates]
    for number, (source, own) in enumerate(zip(sources, candidates, strict=True), 1):
        if isinstance(own, str) or not all(isinstance(text, str) for text in own):
            raise ValueError(
                f"`candidates` must be lists of strings, number {number} is {str(own)[:60]}."
            )
        if own and not source.strip():
            raise ValueError(
                f"`sources` must not be blank where there are candidates, number {number} is."
            )
    return sources, candidates


def _check_models(models, weights):
    models = list(models)
    if not models:
        raise ValueError("`models` must have at least one model, got none.")
    for number, model in enumerate(models, 1):
        if not callable(getattr(model, "score", None)):
            raise TypeError(
                f"`models` must have `score(sources, targets)`, number {number} has none: {model!r}"
            )
    weights = [1.0] * len(models) if weights is None else list(weights)
    if len(weights) != len(models):
        raise ValueError(
            f"`weights` must be one number for each of the {len(models)} `models`, "
            f"got {len(weights)}."
        )
    return models, [check_number("weights", weight, minimum=0.0) for weight in weights]
