import math

import keras
import numpy as np
import pytest

from keras_seqzoo.decoding import LengthPrior, WordReward, WuLengthPenalty
from keras_seqzoo.models import (
    Ensemble,
    RecurrentSeq2SeqLM,
    RecurrentSeq2SeqLMPreprocessor,
    rescore,
)
from keras_seqzoo.tokenizers import BytePairTokenizer
from tests.models.small import SENTENCES, VOCABULARY, backbone, shared_model


class Table:
    """A model that knows the scores of some translations by heart."""

    def __init__(self, scores):
        self.scores = scores
        self.calls = []

    def score(self, sources, targets, **kwargs):
        self.calls.append((list(zip(sources, targets, strict=True)), kwargs))
        return [self.scores[target] for target in targets]


ONE = {"bee": (-2.0, 2), "hive": (-3.0, 2), "wax": (-8.0, 4)}
OTHER = {"bee": (-9.0, 3), "hive": (-1.0, 4), "wax": (-6.0, 1)}
SOURCES, CANDIDATES = ["x", "y"], [["bee", "hive"], ["wax", "hive", "bee"]]


def flat(ranked):
    return [score for own in ranked for score, _ in own], [[i for _, i in own] for own in ranked]


@pytest.mark.parametrize(
    "weights, penalty, scores, order",
    [
        # bee -2/2 - 9/3, hive -3/2 - 1/4, wax -8/4 - 6/1
        (None, 1.0, [-1.75, -4, -1.75, -4, -8], [[1, 0], [1, 2, 0]]),
        # bee -1 - 1.5, hive -1.5 - 0.125, wax -2 - 3
        ([1, 0.5], 1.0, [-1.625, -2.5, -1.625, -2.5, -5], [[1, 0], [1, 2, 0]]),
        # bee -2 - 0.9, hive -3 - 0.1, wax -8 - 0.6
        ([1, 0.1], 0.0, [-2.9, -3.1, -2.9, -3.1, -8.6], [[0, 1], [2, 1, 0]]),
        # bee -2 + 4 - 9 + 6, hive -3 + 4 - 1 + 8, wax -8 + 8 - 6 + 2
        (None, WordReward(2.0), [8, -1, 8, -1, -4], [[1, 0], [1, 2, 0]]),
        # (5 + L) / 6: 7/6, 8/6, 9/6, 6/6
        (
            [7, 8],
            WuLengthPenalty(1.0),
            [-12 - 54, -18 - 16 / 3, -18 - 16 / 3, -12 - 54, -7 * 16 / 3 - 48],
            [[1, 0], [1, 2, 0]],
        ),
    ],
)
def test_scores_by_hand(weights, penalty, scores, order):
    found = rescore(SOURCES, CANDIDATES, [Table(ONE), Table(OTHER)], weights, penalty)
    actual, indices = flat(found)
    assert indices == order
    assert sorted(actual) == pytest.approx(sorted(scores), rel=1e-6)
    assert all(own == sorted(own, key=lambda ranked: -ranked[0]) for own in found)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_one_model_ranks_by_its_own_score(alpha):
    model = shared_model()
    sources = SENTENCES[:4]
    candidates = [[*SENTENCES, "", "no " * number] for number in range(3)] + [[]]
    ranked = rescore(sources, candidates, [model], length_penalty=alpha)
    assert [len(own) for own in ranked] == [len(own) for own in candidates]
    for source, texts, own in zip(sources, candidates, ranked, strict=True):
        expected = [p / n**alpha for p, n in model.score([source] * len(texts), texts)]
        order = sorted(range(len(texts)), key=lambda index: -expected[index])
        assert [score for score, _ in own] == pytest.approx(
            [expected[index] for index in order], rel=1e-5
        )
        assert [texts[index] for _, index in own] == [texts[index] for index in order]


@pytest.mark.slow
def test_models_of_other_vocabularies_and_kinds():
    keras.utils.set_random_seed(3)
    tokenizer = BytePairTokenizer.train(SENTENCES * 3, VOCABULARY - 10)
    other = RecurrentSeq2SeqLM(
        backbone(cell="lstm", attention=None, attention_units=None),
        RecurrentSeq2SeqLMPreprocessor(tokenizer),
    )
    members = [shared_model(), other, Ensemble([shared_model(), shared_model()])]
    sources, texts = SENTENCES[:2], SENTENCES[1:]
    ranked = rescore(sources, [texts, texts[:2]], members, [1, 0.5, 2], batch_size=3)
    lengths = [[length for _, length in m.score(texts, texts)] for m in members]
    assert lengths[0] != lengths[1]
    for source, own in zip(sources, ranked, strict=True):
        scores = [m.score([source] * len(texts), texts) for m in members]
        expected = np.array([[p / n for p, n in row] for row in scores])
        expected = np.array([1, 0.5, 2]) @ expected
        assert [score for score, _ in own] == pytest.approx(
            [expected[index] for _, index in own], rel=1e-5
        )


def test_ties_keep_their_order_and_repeats_are_scored_once():
    model = Table({**ONE, "honey": ONE["bee"]})
    found = rescore(["x", "x"], [["hive", "bee", "honey", "bee"], ["bee"]], [model], batch_size=7)
    assert found == [[(-1.0, 1), (-1.0, 2), (-1.0, 3), (-1.5, 0)], [(-1.0, 0)]]
    assert model.calls == [([("x", "hive"), ("x", "bee"), ("x", "honey")], {"batch_size": 7})]


def test_impossible_candidates_come_last():
    model = Table({**ONE, "never": (-math.inf, 2)})
    found = rescore(["x"], [["never", "bee"]], [model, Table({"never": (-1, 1), "bee": (-5, 1)})])
    assert found == [[(-6.0, 1), (-math.inf, 0)]]


def test_a_weight_of_0_leaves_a_model_out():
    unused = Table({})
    found = rescore(SOURCES, CANDIDATES, [Table(ONE), unused], weights=[1, 0])
    assert found == rescore(SOURCES, CANDIDATES, [Table(ONE)])
    assert not unused.calls


def test_nothing_to_rank():
    model = Table({})
    assert rescore([], [], [model]) == []
    assert rescore(["x", " "], [[], []], [model]) == [[], []]
    assert not model.calls


ROWS = {
    "sources are a string": (("xy", CANDIDATES, [Table(ONE)]), "`sources` must be a list"),
    "candidates are a string": ((SOURCES, "xy", [Table(ONE)]), "lists of strings, got 'xy'"),
    "one list is missing": ((SOURCES, [[]], [Table(ONE)]), "each of the 2 `sources`, got 1"),
    "a list is a string": ((["x"], ["bee"], [Table(ONE)]), "got bee at number 1"),
    "no strings": (
        (["x"], [[("bee", 1.0)]], [Table(ONE)]),
        "must be lists of strings, got .* at number 1",
    ),
    "blank source": (
        (["x", " "], [[], ["bee"]], [Table(ONE)]),
        "not be blank .* got ' ' at number 2",
    ),
    "no model": ((SOURCES, CANDIDATES, []), "`models` must have at least one"),
    "weights": ((SOURCES, CANDIDATES, [Table(ONE)], [1, 2]), "each of the 1 `models`, got 2"),
    "weights of 0": ((SOURCES, CANDIDATES, [Table(ONE)], [0]), "`weights` must not all be 0"),
    "weight below 0": ((SOURCES, CANDIDATES, [Table(ONE)], [-1]), "`weights` must be a number of"),
    "weight nan": ((SOURCES, CANDIDATES, [Table(ONE)], [math.nan]), "`weights` must be a number"),
    "penalty": ((SOURCES, CANDIDATES, [Table(ONE)], None, -1.0), "`length_penalty` must be"),
    "prior": (
        (SOURCES, CANDIDATES, [Table(ONE)], None, LengthPrior.from_lengths([1], [1])),
        "must not be a LengthPrior, which counts tokens of one vocabulary",
    ),
}


@pytest.mark.parametrize("arguments, message", ROWS.values(), ids=ROWS)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        rescore(*arguments)


def test_models_without_a_score_are_named():
    with pytest.raises(TypeError, match="`models` must have `score.*got 'two' at number 2"):
        rescore(SOURCES, CANDIDATES, [Table(ONE), "two"])
