import json
import math

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from keras_seqzoo.decoding import (
    BeamSearch,
    EndThreshold,
    ForbiddenTokens,
    Greedy,
    MinimumLength,
    NoRepeatedNGrams,
    RepetitionPenalty,
)
from tests.decoding import reference
from tests.decoding.test_beam_search import models
from tests.layer_checks import check_saved_model_in_fresh_process
from tests.properties import examples
from tests.tiers import mostly_slow, slow

FEW = examples(20)


class Constrained:
    """A reference model whose distributions a plain Python function changes."""

    def __init__(self, model, change):
        self.model, self.change = model, change
        self.vocabulary, self.end_token = model.vocabulary, model.end_token
        self.ends = model.ends
        self.is_complete = model.is_complete

    def __call__(self, start, prefix):
        return self.change(self.model(start, prefix).copy(), tuple(prefix), self.end_token)

    def log_probability(self, start, tokens):
        return sum(self(start, tokens[:t])[token] for t, token in enumerate(tokens))


def forbid_zero(row, prefix, end):
    row[0] = -math.inf
    return row


def at_least_two(row, prefix, end):
    if len(prefix) < 2:
        row[end] = -math.inf
    return row


def not_before_likely(row, prefix, end):
    others = np.delete(row, end)
    highest = others.max() if len(others) else -math.inf
    if np.isfinite(highest) and row[end] < np.float32(1.2) * highest:
        row[end] = -math.inf
    return row


def no_ngram(size):
    def change(row, prefix, end):
        for token in range(len(row)):
            longer = (*prefix, token)
            grams = [longer[i : i + size] for i in range(len(longer) - size + 1)]
            if token != end and grams and grams[-1] in grams[:-1]:
                row[token] = -math.inf
        return row

    return change


def less_likely(row, prefix, end):
    mass = np.exp(row).sum()
    row[list(set(prefix))] *= 1.5
    if np.isfinite(row).any():
        row += np.log(mass) - np.log(np.exp(row).sum())
    return row


CONSTRAINTS = {
    "forbidden": (ForbiddenTokens([0]), forbid_zero),
    "minimum": (MinimumLength(2), at_least_two),
    "threshold": (EndThreshold(1.2), not_before_likely),
    "unigrams": (NoRepeatedNGrams(1), no_ngram(1)),
    "bigrams": (NoRepeatedNGrams(2), no_ngram(2)),
    "trigrams": (NoRepeatedNGrams(3), no_ngram(3)),
    "penalty": (RepetitionPenalty(1.5), less_likely),
}
every_constraint = pytest.mark.parametrize("name", CONSTRAINTS)


@pytest.mark.hypothesis
@pytest.mark.parametrize("name", mostly_slow(list(CONSTRAINTS), "penalty"))
def test_wide_beam_equals_enumeration(name):
    constraint, change = CONSTRAINTS[name]

    @FEW
    @given(models(vocabulary=3), st.integers(1, 5))
    def check(model, max_length):
        constraints = (constraint,)
        found = reference.rows(
            reference.run(
                BeamSearch, model, [0, 2], max_length, width=81, n_best=6, constraints=constraints
            )
        )
        for start, row in zip([0, 2], found, strict=True):
            constrained = Constrained(model, change)
            reference.assert_equal(
                row, reference.enumerate_all(constrained, start, max_length, 1.0)[:6]
            )

    check()


@every_constraint
@pytest.mark.parametrize("jit_compile", [False, slow(True)])
def test_greedy_and_xla(name, jit_compile):
    constraint, change = CONSTRAINTS[name]
    model = reference.Model(4, end_token=2, seed=4, sharpness=2.0)
    found = reference.rows(
        reference.run(Greedy, model, [0, 1], 5, jit_compile, constraints=(constraint,))
    )
    for start, row in zip([0, 1], found, strict=True):
        reference.assert_equal(row, [reference.greedy(Constrained(model, change), start, 5)])


def test_several_at_once():
    step = reference.chain([[0.4, 0.3, 0.2, 0.1]] * 4)
    found = Greedy(constraints=[ForbiddenTokens([1]), NoRepeatedNGrams(1), MinimumLength(2)])(
        step, (), [0], end_token=3, max_length=5
    )
    assert found.tokens.numpy().tolist() == [[[0, 2, 3, 0, 0]]]


def test_minimum_length_by_source():
    step = reference.chain([[0.2, 0.8]] * 2)
    found = Greedy(constraints=[MinimumLength(source_ratio=0.5)])(
        step, (), [0, 0, 0], end_token=1, max_length=5, source_lengths=[1, 4, 7]
    )
    assert found.lengths.numpy().ravel().tolist() == [1, 3, 4]


@pytest.mark.slow
def test_ratios_that_are_no_binary_fractions():
    step = reference.chain([[0.2, 0.8]] * 2)
    shortest = Greedy(constraints=[MinimumLength(source_ratio=0.53)])
    found = shortest(step, (), [0, 0], 1, 60, source_lengths=[100, 50])
    assert found.lengths.numpy().ravel().tolist() == [54, 27]
    for ratio, source, limit in ((0.3, 50, 15), (1.2, 25, 30), (1.08, 100, 108), (1e9, 10, 120)):
        longest = Greedy([ForbiddenTokens([1])], max_source_ratio=ratio)
        assert longest(step, (), [0], 1, 120, source_lengths=[source]).lengths == limit


def test_a_penalty_of_one_changes_nothing_after_another_constraint():
    step = reference.chain([[0.5, 0.3, 0.2]] * 3)
    for constraints in (
        [ForbiddenTokens([0])],
        [ForbiddenTokens([0]), RepetitionPenalty(1.0)],
        [RepetitionPenalty(1.0), ForbiddenTokens([0])],
    ):
        found = Greedy(constraints)(step, (), [0], end_token=2, max_length=1)
        np.testing.assert_allclose(found.scores, [[math.log(0.3)]], rtol=1e-6)


def test_a_prefix_is_kept_whatever_is_forbidden():
    step = reference.chain([[0.4, 0.3, 0.2, 0.1]] * 4)
    strategy = Greedy([NoRepeatedNGrams(1), ForbiddenTokens([2])])
    found = strategy(
        step, (), [0, 0], 3, 5, prefix=[[1, 1, 2], [1, 0, 0]], prefix_mask=[[1, 1, 1], [1, 0, 0]]
    )
    assert found.tokens.numpy().tolist() == [[[1, 1, 2, 0, 3]], [[1, 0, 3, 0, 0]]]


@pytest.mark.slow
def test_saved_model_in_fresh_process():
    model = reference.Model(5, end_token=2, seed=5)
    constraints = [constraint for constraint, _ in CONSTRAINTS.values()]

    def run(table, start_tokens, max_length):
        step, start = reference.step_function(table)
        return BeamSearch(3, n_best=2, constraints=constraints)(
            step, start(tf.shape(start_tokens)[0]), start_tokens, 2, max_length[0]
        )[:4]

    starts, max_length = np.array([0, 4], np.int32), np.array([5], np.int32)
    check_saved_model_in_fresh_process(run, model.table, starts, max_length)


@every_constraint
def test_configuration(name):
    strategy = BeamSearch(3, constraints=[CONSTRAINTS[name][0]])
    stored = json.dumps(keras.saving.serialize_keras_object(strategy))
    twin = keras.saving.deserialize_keras_object(json.loads(stored))
    assert twin.get_config() == strategy.get_config()


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: ForbiddenTokens([]), "`tokens`"),
        (lambda: ForbiddenTokens([-1]), "`tokens`"),
        (lambda: MinimumLength(-1), "`length`"),
        (lambda: MinimumLength(source_ratio=-1), "`source_ratio`"),
        (lambda: NoRepeatedNGrams(0), "`size`"),
        (lambda: NoRepeatedNGrams(2.9), "`size`"),
        (lambda: MinimumLength(2.9), "`length`"),
        (lambda: RepetitionPenalty(0.5), "`penalty`"),
        (lambda: EndThreshold(-1), "`factor`"),
        (lambda: Greedy(constraints=[3]), "`constraints` must be `Constraint` objects"),
    ],
)
def test_bad_options_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_what_a_search_lacks_is_named():
    step = reference.chain([[0.5, 0.5], [0.5, 0.5]])
    with pytest.raises(ValueError, match="`source_lengths` must be given for `source_ratio`"):
        Greedy(constraints=[MinimumLength(source_ratio=1.0)])(step, (), [0], 1, 3)
    with pytest.raises(ValueError, match="`tokens` must be in the vocabulary of 2, got 2"):
        Greedy(constraints=[ForbiddenTokens([2])])(step, (), [0], 1, 3)
    with pytest.raises(
        ValueError, match="`max_length` must be at least the 4 of MinimumLength, got 3"
    ):
        Greedy(constraints=[MinimumLength(4)])(step, (), [0], 1, 3)
