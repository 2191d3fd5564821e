"""BLEU of one sequence, as in textbooks."""

import collections
import math


def sentence_bleu(prediction, label, k=4):
    """Compute the BLEU of a predicted sequence, with more weight on longer n-grams.

        exp(min(0, 1 - len_label / len_pred)) · Π_{n=1}^{k} p_n^(1/2^n)

    p_n is the fraction of the prediction's n-grams that are in the label, with clipped counts
    (Zhang et al., Dive into Deep Learning, on translation). It is not the corpus BLEU of Papineni
    et al. 2002, which `score_translations` computes: that has other weights and sums the counts of
    all sentences.

    Args:
        prediction: list of tokens of any type.
        label: list of tokens, at least one.
        k: int, at least 1, the length of the longest n-grams, limited to the length of the
            prediction.

    Returns:
        A float from 0 to 1.

    Raises:
        ValueError: if `label` is empty or `k` is below 1.

    Example:
    >>> round(sentence_bleu("he is calm".split(), "he is very calm".split(), k=2), 3)
    0.603
    """
    if not label:
        raise ValueError("`label` must have at least one token, got none.")
    if k < 1:
        raise ValueError(f"`k` must be at least 1, got {k}.")
    if not prediction:
        return 0.0
    score = math.exp(min(0.0, 1.0 - len(label) / len(prediction)))
    for precision, n in zip(ngram_precisions(prediction, label, k), range(1, k + 1), strict=False):
        score *= precision ** (0.5**n)
    return score


def ngram_precisions(prediction, label, k=4):
    """Compute the fractions p_n of the prediction's n-grams that are in the label.

    Args:
        prediction: list of tokens.
        label: list of tokens.
        k: int, the length of the longest n-grams.

    Returns:
        A list of floats, p_1 to p_k, or fewer if the prediction has less than k tokens.

    Example:
    >>> [round(p, 2) for p in ngram_precisions("ABBCD", "ABCDEF")]
    [0.8, 0.75, 0.33, 0.0]
    """
    return [
        sum((_ngrams(prediction, n) & _ngrams(label, n)).values()) / (len(prediction) - n + 1)
        for n in range(1, min(k, len(prediction)) + 1)
    ]


def _ngrams(tokens, n):
    return collections.Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))
