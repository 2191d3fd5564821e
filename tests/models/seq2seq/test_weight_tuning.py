import itertools
import types

import numpy as np
import pytest
import sacrebleu

from keras_seqzoo.models import rescore, tune_rescoring
from keras_seqzoo.models.seq2seq.weight_tuning import _search_line, _upper_envelope
from tests.seeds import random_generator

WORDS = ["un", "le", "petit", "grand", "chien", "chat", "court", "dort", "ici", "la"]


class Table:
    """A model with a given score for each candidate."""

    def __init__(self, scores):
        self.scores = scores

    def score(self, sources, targets):
        return [(self.scores[pair], 1) for pair in zip(sources, targets, strict=True)]


@pytest.fixture(scope="module")
def task():
    """Sources, candidates, references, and three models of which the first is the best."""
    random = random_generator(7)
    sources, candidates, references, tables = [], [], [], [{}, {}, {}]
    for number in range(25):
        source = f"source {number}"
        reference = list(random.choice(WORDS, 6))
        own = []
        for _ in range(8):
            kept = random.random(6) < random.random()
            own.append(" ".join(np.where(kept, reference, random.choice(WORDS, 6))))
            errors = float((~kept).sum())
            for table, noise, weight in zip(tables, (2.0, 4.0, 9.0), (1.0, 1.0, 0.0), strict=True):
                table[source, own[-1]] = -weight * errors - noise * random.random()
        sources.append(source)
        candidates.append(own)
        references.append(" ".join(reference))
    return sources, candidates, references, [Table(table) for table in tables]


def bleu_of(task, weights):
    sources, candidates, references, models = task
    ranked = rescore(sources, candidates, models, weights)
    best = [own[order[0].index] for own, order in zip(candidates, ranked, strict=True)]
    return sacrebleu.corpus_bleu(best, [references]).score


def test_bleu_of_the_weights_is_that_of_sacrebleu_and_better_than_that_of_others(task):
    tuned = tune_rescoring(*task, starts=5)
    assert tuned.bleu == pytest.approx(bleu_of(task, tuned.weights), abs=1e-6)
    assert tuned.equal_bleu == pytest.approx(bleu_of(task, None), abs=1e-6)
    assert max(tuned.weights) == 1.0 and min(tuned.weights) >= 0.0
    grid = itertools.product((0.0, 0.25, 0.5, 1.0), repeat=3)
    others = [bleu_of(task, list(weights)) for weights in grid if any(weights)]
    assert tuned.equal_bleu < tuned.bleu and max(others) - 0.3 < tuned.bleu < tuned.oracle_bleu


def test_the_best_value_along_a_line_is_found_exactly():
    class Text:
        def __init__(self, scores, matches):
            self.scores = np.array(scores, float)
            self.statistics = np.array([[n, n, n, n, 9, 9, 9, 9, 9, 9] for n in matches])

    # The second candidate wins for 0.5 < x < 2, and has the most matches.
    text = Text([[2.0, 0.0], [1.5, 1.0], [-0.5, 2.0]], [1, 8, 3])
    assert _search_line([text], np.array([1.0, 0.1]), 1) == pytest.approx(1.25)


@pytest.mark.parametrize("seed", range(8))
def test_ties_do_not_promise_a_bleu_that_the_weights_do_not_reach(seed):
    random = random_generator(seed)
    words = ["a", "b", "c", "d", "e", "f"]
    references = [" ".join(random.choice(words, 9)) for _ in range(12)]
    candidates = []
    for reference in references:  # with one to four other words, and so common n-grams
        own = []
        for _ in range(5):
            text = reference.split()
            for place in random.integers(0, 9, random.integers(1, 5)):
                text[place] = "x"
            own.append(" ".join(text))
        candidates.append(own)
    tables = [dict() for _ in range(3)]
    for own in itertools.chain(*candidates):
        for table in tables:
            table[own] = -float(random.integers(1, 6))

    class Model:
        def __init__(self, table):
            self.table = table

        def score(self, sources, targets):
            return [(self.table[text], 1) for text in targets]

    task = [str(n) for n in range(12)], candidates, references, [Model(table) for table in tables]
    tuned = tune_rescoring(*task, starts=3)
    assert tuned.bleu == pytest.approx(bleu_of(task, tuned.weights), abs=1e-6)
    assert tuned.bleu >= tuned.equal_bleu


def test_the_highest_lines():
    random = random_generator(11)
    for _ in range(20):
        heights, slopes = random.integers(-5, 5, 6) / 2.0, random.integers(-4, 4, 6) / 2.0
        borders, winners = _upper_envelope(heights, slopes)
        assert borders == sorted(borders) and len(winners) == len(borders) + 1
        edges = [0.0, *borders, (borders[-1] if borders else 0.0) + 2.0]
        for left, right, winner in zip(edges, edges[1:], winners, strict=False):
            x = (left + right) / 2
            values = heights + x * slopes
            assert values[winner] == pytest.approx(values.max())


def test_what_a_model_forbids_does_not_win():
    scores = np.array([[-np.inf, -1.0, -2.0], [-1.0, -1.0, -np.inf], [-3.0, -1.0, -1.0]])
    statistics = np.arange(3)[:, np.newaxis] * np.ones(10, np.int64)  # of BLEU: the last is best
    text = types.SimpleNamespace(scores=scores, statistics=statistics)
    for model in range(3):
        assert 0 < _search_line([text], np.ones(3), model) < np.inf
        _, winners = _upper_envelope(np.zeros(3), scores[:, model])
        assert np.isfinite(scores[winners[-1], model])


def test_bad_arguments(task):
    sources, candidates, references, models = task
    with pytest.raises(ValueError, match="`models` must be at least two, got 1"):
        tune_rescoring(sources, candidates, references, models[:1])
    with pytest.raises(ValueError, match="`references` must have one string for each of the 25"):
        tune_rescoring(sources, candidates, references[1:], models)
    with pytest.raises(ValueError, match="`candidates` must have a candidate"):
        tune_rescoring(sources, [[] for _ in sources], references, models)
