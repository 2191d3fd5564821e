"""Minimum Bayes risk decoding."""

from keras_seqzoo.checks import check_number

UTILITIES = ("chrf", "bleu")


def minimum_bayes_risk(texts, utility="chrf", weights=None):
    """Rank candidate translations by their expected utility under the others.

        U(y) = Σ_y' w(y') · utility(y, y')

    Kumar and Byrne 2004, Minimum Bayes-risk decoding for statistical machine translation: the
    candidates represent the model's distribution, and the best one has the lowest expected loss if
    one of them is correct. Samples are better evidence than the n-best list of a beam (Eikema and
    Aziz 2020, Is MAP decoding all you need?).

    Args:
        texts: list of at least one string; each duplicate counts.
        utility: `"chrf"` or `"bleu"` of sentences, computed by sacrebleu.
        weights: list of numbers of at least 0, one for each text, such as probabilities; by default
            equal.

    Returns:
        A list of `(expected utility, index)`, best first, one pair for each text.

    Raises:
        ValueError: if there is no text, or an argument is invalid.

    Example:
    >>> [(_, best), *_] = minimum_bayes_risk(["a red cat", "a red car", "the red car"])
    >>> best
    1
    """
    import sacrebleu  # not needed to search or to serve

    if isinstance(texts, str):
        raise ValueError(f"`texts` must be a list of strings, got the string {texts[:40]!r}.")
    texts = list(texts)
    if not texts:
        raise ValueError("`texts` must have at least one string, got none.")
    if utility not in UTILITIES:
        raise ValueError(f"`utility` must be one of {UTILITIES}, got {utility!r}.")
    weights = [1.0] * len(texts) if weights is None else list(weights)
    if len(weights) != len(texts):
        raise ValueError(
            f"`weights` must have one number for each of the {len(texts)} `texts`, "
            f"got {len(weights)}."
        )
    weights = [check_number("weights", weight, minimum=0.0) for weight in weights]
    metric = {
        "chrf": sacrebleu.metrics.CHRF,
        "bleu": lambda: sacrebleu.metrics.BLEU(effective_order=True),
    }[utility]()
    distinct = list(dict.fromkeys(texts))
    mass = dict.fromkeys(distinct, 0.0)
    for text, weight in zip(texts, weights, strict=True):
        mass[text] += weight
    total = sum(mass.values()) or 1.0
    expected = {
        text: sum(
            weight * (100.0 if text == other else metric.sentence_score(text, [other]).score)
            for other, weight in mass.items()
        )
        / total
        for text in distinct
    }
    return sorted(
        ((expected[text], index) for index, text in enumerate(texts)), key=lambda x: (-x[0], x[1])
    )
