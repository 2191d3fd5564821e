"""Minimum error rate training: model weights that rank candidate translations best."""

from typing import NamedTuple

import numpy as np

from keras_seqzoo.checks import check_integer
from keras_seqzoo.models.seq2seq.rescoring import check_candidates, score_candidates

ORDERS = 4  # of the n-grams of BLEU
PASSES = 20  # the most passes over the weights from one start


class TunedWeights(NamedTuple):
    """Weights for `rescore`, found by `tune_rescoring`.

    Attributes:
        weights: list of floats, one for each model; the largest is 1.
        bleu: float, BLEU in percent of the candidates that the weights rank first.
        equal_bleu: float, the same for equal weights.
        oracle_bleu: float, the same for the candidates of highest sentence BLEU. Possibly no
            weights reach it.
    """

    weights: list
    bleu: float
    equal_bleu: float
    oracle_bleu: float


def tune_rescoring(
    sources, candidates, references, models, length_penalty=1.0, starts=20, seed=0, **kwargs
):
    """Find the weights with which `rescore` ranks the candidates of several models best by BLEU.

    Minimum error rate training (Och 2003, Minimum error rate training in statistical machine
    translation). As a function of one weight, the score of each candidate is a line, and the best
    candidate of a source changes only where lines cross. So the BLEU of the whole text is known for
    all values of the weight, and the best value is chosen exactly. The search starts from equal
    weights and from random ones, and goes on weight by weight until none improves BLEU.

    Tune on validation text, with candidates such as those of `BeamSearch` with a large `n_best`.

    Args:
        sources: see `rescore`.
        candidates: see `rescore`.
        references: list with a string for each source.
        models: see `rescore`, at least two.
        length_penalty: see `rescore`.
        starts: int, the number of random weights to start from.
        seed: int.
        **kwargs: see `rescore`.

    Returns:
        `TunedWeights`.

    Raises:
        ValueError: if there are fewer than two models, no source has candidates, or an argument is
            invalid; see also `rescore`.

    Example:
    >>> class Likes:
    ...     def __init__(self, word):
    ...         self.word = word
    ...     def score(self, sources, targets):
    ...         return [(float(self.word in text.split()) - 2.0, 1) for text in targets]
    >>> candidates = [["un chien court la", "le chien court ici"]]
    >>> tuned = tune_rescoring(
    ...     ["a dog runs here"], candidates, ["un chien court ici"], [Likes("le"), Likes("un")]
    ... )
    >>> tuned.weights[0] < tuned.weights[1]
    False
    """
    sources, candidates = check_candidates(sources, candidates)
    references = list(references)
    if len(references) != len(sources):
        raise ValueError(
            f"`references` must have one string for each of the {len(sources)} `sources`, got "
            f"{len(references)}."
        )
    models = list(models)
    if len(models) < 2:
        raise ValueError(f"`models` must be at least two, got {len(models)}.")
    if not any(candidates):
        raise ValueError("`candidates` must have a candidate of at least one source, got none.")
    check_integer("starts", starts, minimum=0)
    scores = score_candidates(sources, candidates, models, length_penalty, **kwargs)
    chosen = [row for row, own in enumerate(candidates) if own]
    texts = [_Candidates(scores[row], candidates[row], references[row]) for row in chosen]
    generator = np.random.default_rng(seed)
    equal = np.ones(len(models))
    best, best_bleu = equal, _bleu_of(texts, equal)
    for start in [equal, *generator.uniform(size=(starts, len(models)))]:
        weights, bleu = _climb(texts, start)
        if bleu > best_bleu + 1e-9:
            best, best_bleu = weights, bleu
    return TunedWeights(
        best.tolist(),
        100 * best_bleu,
        100 * _bleu_of(texts, equal),
        100 * _bleu(sum(text.statistics[text.oracle] for text in texts)),
    )


class _Candidates:
    """The candidates of a source, with their scores by each model and their counts for BLEU.

    Attributes:
        scores: floats `(K, M)`.
        statistics: ints `(K, 10)`: matching n-grams of each order, all n-grams, and both lengths.
        oracle: int, the candidate with the highest sentence BLEU.
    """

    def __init__(self, scores, texts, reference):
        import sacrebleu  # not required for training and serving

        metric = sacrebleu.BLEU(effective_order=True)
        found = [metric.sentence_score(text, [reference]) for text in texts]
        self.scores = np.asarray(scores)
        self.statistics = np.array(
            [[*own.counts, *own.totals, own.sys_len, own.ref_len] for own in found], np.int64
        )
        self.oracle = int(np.argmax([own.score for own in found]))


def _climb(texts, weights):
    """Improve one weight at a time until none improves; return the weights and BLEU."""
    weights = weights / weights.max()
    bleu = _bleu_of(texts, weights)
    for _ in range(PASSES):
        before = bleu
        for model in range(len(weights)):
            changed = weights.copy()
            changed[model] = _search_line(texts, weights, model)
            changed /= changed.max()
            # Recompute BLEU: close to a border, rounding may decide otherwise.
            found = _bleu_of(texts, changed)
            if found > bleu + 1e-9:
                weights, bleu = changed, found
        if bleu <= before:
            break
    return weights, bleu


def _search_line(texts, weights, model):
    """Return the value above 0 of one weight that gives the best BLEU."""
    others = weights.copy()
    others[model] = 0.0
    total, changes = 0, []
    for text in texts:
        # A score may be -inf; times a weight of 0 it would be NaN.
        heights = np.where(others > 0, text.scores, 0.0) @ others
        borders, winners = _upper_envelope(heights, text.scores[:, model])
        statistics = text.statistics[winners]
        total = total + statistics[0]
        changes += zip(borders, np.diff(statistics, axis=0), strict=True)
    changes.sort(key=lambda change: change[0])
    borders = np.array([0.0, *(border for border, _ in changes)])
    bleu = _bleu(np.cumsum([total, *(change for _, change in changes)], axis=0))
    # Between borders that differ only by rounding, no value is safe.
    bleu[:-1][np.diff(borders) <= 1e-9 * borders[1:]] = -1.0
    place = int(np.argmax(bleu))
    end = borders[place + 1] if place + 1 < len(borders) else borders[place] + 1.0
    return (borders[place] + end) / 2


def _upper_envelope(heights, slopes):
    """Return where the highest of the lines `heights + x · slopes` changes, for x above 0.

    Returns:
        The borders, floats above 0 in increasing order, and the highest line before the first
        border and after each border. Of equal lines the first counts, as in `rescore`.
    """
    heights = np.where(np.isneginf(slopes), -np.inf, heights)
    finite = np.isfinite(heights)
    winner = min(range(len(heights)), key=lambda line: (-heights[line], -slopes[line], line))
    borders, winners, x = [], [winner], 0.0
    while True:
        steeper = np.flatnonzero(finite & (slopes > slopes[winner]))
        if not len(steeper):
            return borders, winners
        crossings = (heights[winner] - heights[steeper]) / (slopes[steeper] - slopes[winner])
        x = max(x, crossings.min())
        at = steeper[crossings <= x]
        winner = min(at, key=lambda line: (-slopes[line], line))
        borders.append(x)
        winners.append(winner)


def _bleu_of(texts, weights):
    """Return BLEU, from 0 to 1, of the candidates that the weights rank first."""
    return float(_bleu(sum(text.statistics[np.argmax(text.scores @ weights)] for text in texts)))


def _bleu(statistics):
    """Return BLEU of sums of statistics `(..., 10)`, without smoothing (Papineni et al. 2002)."""
    matches, totals = statistics[..., :ORDERS], statistics[..., ORDERS : 2 * ORDERS]
    length, reference = statistics[..., -2], statistics[..., -1]
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.exp(np.log(matches / np.maximum(totals, 1)).mean(axis=-1))
        return precision * np.exp(np.minimum(0.0, 1.0 - reference / np.maximum(length, 1)))
