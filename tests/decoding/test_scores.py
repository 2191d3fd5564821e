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
    ExhaustiveSearch,
    LengthPrior,
    PowerLengthPenalty,
    WordReward,
    WuLengthPenalty,
    score_targets,
)
from tests.decoding import reference
from tests.decoding.test_beam_search import models
from tests.properties import examples
from tests.tiers import mostly_slow

FEW = examples(25)
PRIOR = LengthPrior(np.log([[0.1, 0.2, 0.3, 0.2, 0.2], [0.1, 0.1, 0.1, 0.6, 0.1]]))
SOURCE = 1
# The score, and its formula.
FORMS = {
    "power 0": (PowerLengthPenalty(0.0), lambda p, n: p),
    "power 0.7": (PowerLengthPenalty(0.7), lambda p, n: p / max(n, 1) ** 0.7),
    "power 2": (PowerLengthPenalty(2.0), lambda p, n: p / max(n, 1) ** 2),
    "wu": (WuLengthPenalty(0.9), lambda p, n: p / ((5 + max(n, 1)) / 6) ** 0.9),
    "reward": (WordReward(0.8), lambda p, n: p + 0.8 * n),
    "fine": (WordReward(-0.5), lambda p, n: p - 0.5 * n),
    "prior": (PRIOR, lambda p, n: p + PRIOR.log_probabilities[SOURCE][min(n, 4)]),
}
every_form = pytest.mark.parametrize("form", FORMS)


@pytest.mark.hypothesis
@pytest.mark.parametrize("form", mostly_slow(list(FORMS), "wu", "reward", "prior"))
def test_wide_beam_and_exhaustive_search_equal_enumeration(form):
    score, rank = FORMS[form]

    @FEW
    @given(models(vocabulary=4), st.integers(1, 4))
    def check(model, max_length):
        starts = [0, 3]
        options = {"length_penalty": score, "n_best": 12}
        wide = reference.rows(
            reference.run(BeamSearch, model, starts, max_length, width=81, **options)
        )
        step, start = reference.step_function(tf.constant(model.table))
        every = ExhaustiveSearch(**options)(
            step, start(2), starts, model.end_token, max_length, -1, source_lengths=[1, 1]
        )
        every = every._replace(alignments=tf.zeros([2, 12, max_length, 1]))
        for row, found, initial in zip(wide, reference.rows(every), starts, strict=True):
            expected = reference.enumerate_all(model, initial, max_length, rank)[:12]
            reference.assert_equal(row, expected)
            reference.assert_equal(found, expected)

    check()


@pytest.mark.slow
@every_form
def test_covering_beam_equals_enumeration_of_thousands_of_models(form):
    score, rank = FORMS[form]

    @examples(400)
    @given(models(vocabulary=6), st.integers(1, 6))
    def check(model, max_length):
        width = 5**5  # all that can live with six tokens, one of them the end, before the sixth
        options = {"length_penalty": score, "n_best": 3}
        [row] = reference.rows(
            reference.run(BeamSearch, model, [2], max_length, width=width, **options)
        )
        expected = reference.enumerate_all(model, 2, max_length, rank)[:3]
        reference.assert_equal(row, expected)

    check()


@pytest.mark.slow
@pytest.mark.hypothesis
@every_form
def test_narrow_beam_equals_one_that_never_stops_early(form):
    score, rank = FORMS[form]

    @FEW
    @given(models(), st.integers(1, 5), st.sampled_from([(1, 1), (2, 2), (3, 1), (4, 2)]))
    def check(model, max_length, sizes):
        width, n_best = sizes
        starts = [2, 0, 4]
        found = reference.run(
            BeamSearch, model, starts, max_length, width=width, n_best=n_best, length_penalty=score
        )
        for start, row in zip(starts, reference.rows(found), strict=True):
            expected = reference.beam_search(model, start, max_length, width, rank, n_best)
            reference.assert_equal(row, expected)

    check()


@pytest.mark.slow
@FEW
@given(models(), st.integers(1, 5), st.sampled_from([(2, 0.7, 2), (4, 1.0, 1)]))
def test_log_probabilities_are_what_scoring_the_targets_gives(model, max_length, options):
    starts = tf.constant([1, 2])
    width, alpha, n_best = options
    found = reference.run(
        BeamSearch, model, starts, max_length, width=width, length_penalty=alpha, n_best=n_best
    )
    step, start = reference.step_function(tf.constant(model.table))
    for rank in range(n_best):
        tokens = tf.maximum(found.tokens[:, rank], 0)
        scores = score_targets(step, start(2), starts, tokens, found.lengths[:, rank])
        totals = tf.reduce_sum(scores, axis=-1)
        exists = np.isfinite(found.scores[:, rank])
        np.testing.assert_allclose(
            totals[exists], found.log_probabilities[:, rank][exists], rtol=1e-5, atol=1e-6
        )


def random_attention(seed, steps, positions):
    """Log probabilities and weights of attention by position and last token."""
    random = np.random.default_rng(seed)
    table = np.log(random.dirichlet(np.ones(4), size=(steps, 4)))
    weights = random.dirichlet(np.ones(positions), size=(steps, 4))
    return tf.constant(table, tf.float32), tf.constant(weights, tf.float32)


COVERED = {
    "power": (0.6, lambda log_p, cp, length: (log_p + cp) / length**0.6),
    "mean": (1.0, lambda log_p, cp, length: (log_p + cp) / length),
    "sum": (0.0, lambda log_p, cp, length: log_p + cp),
    "wu": (WuLengthPenalty(0.2), lambda log_p, cp, length: log_p / ((5 + length) / 6) ** 0.2 + cp),
    "reward": (WordReward(0.5), lambda log_p, cp, length: log_p + 0.5 * length + cp),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "form, jit_compile",
    [("power", True), ("wu", False), *((form, form == "wu") for form in COVERED)],
)
def test_coverage_penalty_is_that_of_the_alignments(form, jit_compile):
    length_penalty, score = COVERED[form]
    sources = [3, 2]
    everything = 1 + 3 + 9 + 27 + 81  # that end after 1 to 4 tokens, or do not

    def search(beta, n_best, table, weights):
        def step(tokens, state):
            place = tf.stack([state["time"], tokens], axis=-1)
            return tf.gather_nd(table, place), {
                "time": state["time"] + 1,
                "weights": tf.gather_nd(weights, place),
            }

        strategy = BeamSearch(everything, length_penalty, n_best, coverage_penalty=beta)
        state = {"time": tf.zeros([2], tf.int32), "weights": tf.zeros([2, 3])}
        return strategy(step, state, [0, 1], 3, 4, 0, lambda state: state["weights"], sources)

    search = tf.function(search, jit_compile=jit_compile, autograph=False)
    for seed in range(5):
        made = random_attention(seed, steps=4, positions=3)
        found, plain = search(0.7, everything, *made), search(0.0, everything, *made)
        best = search(0.7, 1, *made)  # which stops early
        for row, source in enumerate(sources):
            expected = {}
            for result in (found, plain):
                lengths, alignments = result.lengths[row].numpy(), result.alignments[row].numpy()
                for rank, length in enumerate(lengths):
                    if not length:
                        continue
                    covered = alignments[rank, :length, :source].sum(0)
                    penalty = 0.7 * np.log(np.minimum(covered, 1.0)).sum()
                    log_probability = float(result.log_probabilities[row, rank])
                    tokens = tuple(result.tokens[row, rank, :length].numpy())
                    expected[tokens] = score(log_probability, penalty, length)
            ranked = sorted(expected.values(), reverse=True)
            assert len(ranked) == everything
            np.testing.assert_allclose(found.scores[row], ranked, rtol=1e-4)
            np.testing.assert_allclose(best.scores[row, 0], ranked[0], rtol=1e-4)


def test_coverage_does_not_outweigh_a_mean():
    """Ten tokens that skip a word beat ten that are six nats less likely, as they do by sums."""
    score, length = PowerLengthPenalty(1.0), tf.constant(10)
    log_p, penalties = tf.constant([[-3.0, -9.0]]), 0.2 * tf.constant([[-4.6, 0.0]])
    found = score.add_coverage(score.score(log_p, length, None), penalties, length)
    np.testing.assert_allclose(found, [[-0.392, -0.9]], rtol=1e-5)  # not -1.22 and -0.9


def test_a_row_is_limited_by_its_source():
    model = reference.Model(5, end_token=1, seed=11)
    starts, sources = [0, 1, 2, 3], [0, 1, 2, 9]
    options = {"width": 3, "n_best": 2}
    found = reference.rows(
        reference.run(
            BeamSearch,
            model,
            starts,
            5,
            source_lengths=sources,
            max_source_ratio=1.5,
            **options,
        )
    )
    for start, source, row in zip(starts, sources, found, strict=True):
        limit = min(math.ceil(1.5 * source), 5)
        [alone] = reference.rows(reference.run(BeamSearch, model, [start], limit, **options))
        reference.assert_equal(row, alone)


def test_length_prior_counts_pairs():
    prior = LengthPrior.from_lengths([1, 1, 1, 3], [2, 2, 4, 4], smoothing=0.0)
    with np.errstate(divide="ignore"):
        expected = np.log(
            [[0, 0, 0.5, 0, 0.5], [0, 0, 2 / 3, 0, 1 / 3], [0, 0, 0.5, 0, 0.5], [0, 0, 0, 0, 1]]
        )
    np.testing.assert_allclose(prior.log_probabilities, expected, rtol=1e-6)
    smooth = LengthPrior.from_lengths([1], [2], smoothing=1.0)
    np.testing.assert_allclose(np.exp(smooth.log_probabilities[1]), [0, 1 / 3, 2 / 3], rtol=1e-6)
    # Longer than any seen: the last row and column.
    scores = prior.score(tf.zeros([2, 1]), tf.constant(9), tf.constant([9, 1]))
    np.testing.assert_allclose(tf.exp(scores), [[1], [1 / 3]], rtol=1e-6)


@every_form
def test_configuration(form):
    strategy = BeamSearch(3, FORMS[form][0], coverage_penalty=0.2, max_source_ratio=2.0)
    stored = json.dumps(keras.saving.serialize_keras_object(strategy))
    twin = keras.saving.deserialize_keras_object(json.loads(stored))
    assert twin.get_config() == strategy.get_config()


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: PowerLengthPenalty(-1.0), "`alpha` must be a number of at least 0"),
        (lambda: WordReward(math.nan), "`reward` must be a number"),
        (lambda: BeamSearch(length_penalty="long"), "`length_penalty`"),
        (lambda: BeamSearch(coverage_penalty=-0.1), "`coverage_penalty`"),
        (lambda: BeamSearch(max_source_ratio=0), "`max_source_ratio` must be a number above 0"),
        (lambda: LengthPrior([[0.1]]), "`log_probabilities` must be a table"),
        (lambda: LengthPrior.from_lengths([1], [1, 2]), "the same number of lengths"),
        (lambda: ExhaustiveSearch(n_best=0), "`n_best`"),
    ],
)
def test_bad_options_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_what_a_search_lacks_is_named():
    step = reference.chain([[0.5, 0.5], [0.5, 0.5]])
    for strategy, message in (
        (BeamSearch(coverage_penalty=0.1), "`alignment` must be given for a `coverage_penalty`"),
        (BeamSearch(max_source_ratio=1.0), "`source_lengths` must be given for `max_source_ratio`"),
        (BeamSearch(length_penalty=PRIOR), "`source_lengths` must be given for a `LengthPrior`"),
        (ExhaustiveSearch(), "at most 1048576 sequences"),
    ):
        with pytest.raises(ValueError, match=message):
            strategy(step, (), [0], 0, 21)
