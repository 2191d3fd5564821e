import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from keras_seqzoo.decoding import (
    BeamSearch,
    Constraint,
    DiverseBeamSearch,
    EndThreshold,
    ExhaustiveSearch,
    Greedy,
    LexicallyConstrainedBeamSearch,
    MinimumLength,
    NoRepeatedNGrams,
    Sampling,
)
from keras_seqzoo.decoding.token_ids import check_end_tokens
from tests.decoding import reference
from tests.layer_checks import check_saved_model_in_fresh_process
from tests.properties import examples
from tests.tiers import slow

FEW = examples(30)
STRATEGIES = [
    BeamSearch(3, n_best=2),
    slow(DiverseBeamSearch(4, groups=2)),
    slow(ExhaustiveSearch()),
    Greedy(),
    slow(LexicallyConstrainedBeamSearch(6)),
    Sampling(samples=3, seed=1),
]


@st.composite
def models(draw, vocabulary):
    ends = draw(st.permutations(range(vocabulary)))[:2]
    forbidden = draw(st.sampled_from([0.0, 0.4, 0.8]))
    return reference.Model(vocabulary, tuple(ends), draw(st.integers(0, 10**6)), forbidden)


def options_of(strategy):
    return {"required_phrases": [[[2]]]} if strategy.takes_phrases else {}


def run(strategy, model, end_token=None, **options):
    step, start = reference.step_function(tf.constant(model.table))
    end_token = list(model.ends) if end_token is None else end_token
    return strategy(step, start(1), [1], end_token, 3, pad_token=-1, **options)


@pytest.mark.slow
@FEW
@given(models(4), st.integers(0, 4), st.sampled_from([0.0, 1.0]))
def test_wide_beam_equals_enumeration(model, max_length, alpha):
    starts = [0, 3]
    config = {"width": 81, "length_penalty": alpha, "n_best": 12}
    found = reference.rows(reference.run(BeamSearch, model, starts, max_length, **config))
    for start, row in zip(starts, found, strict=True):
        reference.assert_equal(row, reference.enumerate_all(model, start, max_length, alpha)[:12])


@FEW
@given(models(5), st.integers(0, 5), st.sampled_from(["exact", "top"]))
def test_narrow_beam_equals_reference(model, max_length, stop):
    starts, config = [2, 0, 4], {"width": 2, "length_penalty": 1.0, "n_best": 2, "stop": stop}
    found = reference.rows(reference.run(BeamSearch, model, starts, max_length, **config))
    for start, row in zip(starts, found, strict=True):
        expected = reference.beam_search(model, start, max_length, 2, 1.0, 2, stop)
        reference.assert_equal(row, expected)


@pytest.mark.parametrize("ends", [(0,), (3, 1), (0, 1, 2)])
def test_exhaustive_search_and_greedy(ends):
    model = reference.Model(4, ends, seed=4)
    found = run(ExhaustiveSearch(length_penalty=0.5, n_best=9), model)
    expected = reference.enumerate_all(model, 1, 3, 0.5)[:9]
    for row, hypothesis in enumerate(expected):
        length = found.lengths[0, row]
        assert tuple(found.tokens[0, row, :length].numpy()) == hypothesis.tokens
    [found] = reference.rows(reference.run(Greedy, model, [1], 4))
    reference.assert_equal(found, [reference.greedy(model, 1, 4)])


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: type(strategy).__name__)
def test_hypotheses_end_with_one_of_the_end_tokens(strategy):
    model = reference.Model(5, (0, 4), seed=3)
    found = run(strategy, model, **options_of(strategy))
    for tokens, length in zip(found.tokens[0].numpy(), found.lengths[0].numpy(), strict=True):
        assert not set(tokens[: length - 1]) & {0, 4}
        assert length == 3 or tokens[length - 1] in (0, 4)
    for one in (model.ends[0], [model.ends[0]], tf.constant([model.ends[0]])):
        expected = run(strategy, model, 0, **options_of(strategy))
        found = run(strategy, model, one, **options_of(strategy))
        for part, other in zip(found, expected, strict=True):
            assert part is other is None or np.array_equal(part, other)


@pytest.mark.parametrize("strategy", STRATEGIES[:4], ids=lambda strategy: type(strategy).__name__)
def test_xla(strategy):
    model = reference.Model(5, (0, 4), seed=3)
    expected = run(strategy, model)
    compiled = tf.function(
        lambda: tuple(run(strategy, model)[:4]), jit_compile=True, autograph=False
    )()
    for part, other in zip(compiled, expected[:4], strict=True):
        np.testing.assert_allclose(part, other, rtol=1e-5)


def test_phrases_come_before_any_end():
    model = reference.Model(5, (0, 4), seed=3)
    found = run(LexicallyConstrainedBeamSearch(6, n_best=3), model, required_phrases=[[[2], [3]]])
    for tokens, score in zip(found.tokens[0].numpy(), found.scores[0].numpy(), strict=True):
        assert {2, 3} <= set(tokens) or np.isneginf(score)
    with pytest.raises(
        ValueError, match="`required_phrases` must not have the end token 4, got .* in row 0"
    ):
        run(LexicallyConstrainedBeamSearch(6), model, required_phrases=[[[2, 4]]])


def test_constraints_know_all_ends():
    table = np.log(np.array([[0.4, 0.1, 0.1, 0.4]] * 4, np.float32))

    def search(constraint):
        step = lambda tokens, state: (tf.gather(tf.constant(table), tokens), state)  # noqa: E731
        found = Greedy(constraints=[constraint])(step, (), [1], [0, 3], 3, pad_token=-1)
        return found.tokens.numpy().tolist()

    assert search(MinimumLength(2)) == [[[1, 1, 0]]]
    assert search(EndThreshold(1.0)) == [[[0, -1, -1]]]
    assert search(NoRepeatedNGrams(1)) == [[[0, -1, -1]]]


def test_a_constraint_of_ones_own_is_told_all_ends():
    told = []

    class Watching(Constraint):
        def apply(self, log_probabilities, written):
            told.append(written.end_tokens)
            return log_probabilities

    model = reference.Model(4, (0, 3), seed=1)
    run(Greedy(constraints=[Watching()]), model, np.array([0, 3]))
    assert set(told) == {(0, 3)}


@pytest.mark.slow
def test_saved_model(tmp_path):
    model = reference.Model(5, (0, 4), seed=3)

    class Search(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.int32)], autograph=False)
        def __call__(self, starts):
            step, start = reference.step_function(tf.constant(model.table))
            strategy = BeamSearch(3, n_best=2)
            found = strategy(step, start(tf.shape(starts)[0]), starts, [0, 4], 4)
            return found.tokens

    check_saved_model_in_fresh_process(Search(), np.array([1, 2], np.int32))


@pytest.mark.parametrize(
    ("end_token", "message"),
    [
        ([], r"`end_token` must be at least one id, got \[\]"),
        (None, "`end_token` must be at least one id, got None"),
        (np.array([], int), r"`end_token` must be at least one id, got array\(\[\]"),
        (np.array(3.5), "`end_token` must be an int of at least 0, got 3.5"),
        (np.array([[1, 2]]), r"`end_token` must be an int of at least 0, got \[1, 2\]"),
        ([1, -1], "`end_token` must be an int of at least 0, got -1"),
        ("a", "`end_token` must be an int"),
        (1.0, "`end_token` must be an int"),
        (tf.constant([1.0]), "`end_token` must be integers of known shape, got .* float32"),
    ],
)
def test_errors(end_token, message):
    with pytest.raises(ValueError, match=message):
        check_end_tokens(end_token)


@pytest.mark.parametrize("end_token", [3, np.int64(3), np.array(3), np.array([3, 3]), {3}])
def test_ends_as_numbers_and_arrays(end_token):
    assert check_end_tokens(end_token) == (3,)


def test_end_outside_of_the_vocabulary():
    with pytest.raises(ValueError, match="`end_token` must be in the vocabulary.*, got 7"):
        run(Greedy(), reference.Model(5, (0, 7)))
