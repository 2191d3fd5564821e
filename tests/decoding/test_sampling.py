import itertools
import json

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from keras_seqzoo.decoding import ForbiddenTokens, Sampling
from tests.decoding import reference
from tests.decoding.test_beam_search import models
from tests.layer_checks import check_saved_model_in_fresh_process
from tests.properties import examples
from tests.tiers import slow

TABLE = [[0.5, 0.3, 0.2], [0.1, 0.2, 0.7], [0.6, 0.3, 0.1]]
END = 2


def sequences(table, start=0, length=2):
    """The probability of every sequence of at most `length` tokens."""
    found = {}
    for tokens in itertools.product(range(3), repeat=length):
        tokens = tokens[: tokens.index(END) + 1] if END in tokens else tokens
        last, probability = start, 1.0
        for token in tokens:
            probability, last = probability * table[last][token], token
        found[tokens] = probability
    return found


def draw(strategy, rows=40, jit_compile=False):
    run = tf.function(
        lambda: strategy(reference.chain(TABLE), (), tf.zeros([rows], tf.int32), END, 2),
        jit_compile=jit_compile,
        autograph=False,
    )
    found = run()
    return [
        tuple(tokens[:length])
        for tokens, length in zip(
            found.tokens.numpy().reshape(-1, 2).tolist(),
            found.lengths.numpy().ravel(),
            strict=True,
        )
    ]


def chi_squared(samples, expected):
    """The statistic over the cells that are expected, all of which must be enough."""
    counts = {tokens: 0 for tokens in expected}
    for sample in samples:
        counts[sample] += 1
    total = len(samples)
    return sum((counts[t] - total * p) ** 2 / (total * p) for t, p in expected.items() if p > 0)


# The 99.9th percentile of chi squared with 6 degrees of freedom (7 sequences).
LIMIT = 22.46


@pytest.mark.parametrize("jit_compile", [False, slow(True)])
def test_distribution(jit_compile):
    samples = draw(Sampling(100, seed=3), jit_compile=jit_compile)
    assert chi_squared(samples, sequences(TABLE)) < LIMIT


def test_distribution_with_a_temperature():
    powered = np.array(TABLE) ** (1 / 0.5)
    powered /= powered.sum(-1, keepdims=True)
    assert chi_squared(draw(Sampling(100, 0.5, seed=1)), sequences(powered)) < LIMIT


@pytest.mark.parametrize(
    "options, allowed",
    [
        ({"top_k": 1}, [[0], [2], [0]]),
        ({"top_k": 2}, [[0, 1], [1, 2], [0, 1]]),
        ({"top_k": 9}, [[0, 1, 2]] * 3),
        ({"top_p": 0.45}, [[0], [2], [0]]),
        ({"top_p": 0.55}, [[0, 1], [2], [0]]),
        ({"top_p": 0.75}, [[0, 1], [1, 2], [0, 1]]),
        ({"min_p": 0.45}, [[0, 1], [2], [0, 1]]),
        ({"top_k": 2, "min_p": 0.9}, [[0], [2], [0]]),
    ],
)
def test_restrictions(options, allowed):
    kept = np.zeros((3, 3))
    for row, tokens in enumerate(allowed):
        kept[row, tokens] = np.array(TABLE)[row, tokens]
    kept /= kept.sum(-1, keepdims=True)
    expected = {tokens: p for tokens, p in sequences(kept).items() if p > 0}
    assert chi_squared(draw(Sampling(50, seed=5, **options)), expected) < LIMIT


@examples(20)
@given(models(), st.integers(0, 5), st.sampled_from([1, 3]))
def test_scores_are_log_probabilities_of_the_model(model, max_length, samples):
    found = reference.run(Sampling, model, [1, 2], max_length, samples=samples, temperature=2.0)
    assert found.tokens.shape == (2, samples, max_length)
    for row, alignments, start in zip(
        reference.rows(found), found.alignments.numpy(), [1, 2], strict=True
    ):
        for hypothesis, alignment in zip(row, alignments, strict=False):
            assert model.is_complete(hypothesis.tokens, max_length)
            expected = reference.scored(model, start, hypothesis.tokens, 0.0)
            reference.assert_equal([hypothesis], [expected])
            weights = reference.true_alignments(start, hypothesis.tokens)
            np.testing.assert_allclose(alignment[: len(weights)], weights, rtol=1e-6)


def test_seeds():
    def samples(seed):
        return draw(Sampling(20, seed=seed))

    assert samples(1) == samples(1) != samples(2)
    strategy = Sampling(20)
    run = tf.function(
        lambda: strategy(reference.chain(TABLE), (), tf.zeros([40], tf.int32), END, 2).tokens,
        autograph=False,
    )
    assert (run() != run()).numpy().any()


def test_constraints_hold():
    assert not any(0 in sample for sample in draw(Sampling(9, constraints=[ForbiddenTokens([0])])))


def test_saved_model_in_fresh_process():
    table = np.log(TABLE).astype("float32")

    def run(table, start_tokens):
        def step(tokens, state):
            return tf.gather(table, tokens), state

        return Sampling(5, seed=1)(step, (), start_tokens, END, 4)[:4]

    check_saved_model_in_fresh_process(run, table, np.zeros([3], np.int32))


def test_configuration():
    strategy = Sampling(3, 0.7, 5, 0.9, 0.01, seed=4, max_source_ratio=2.0)
    stored = json.dumps(keras.saving.serialize_keras_object(strategy))
    twin = keras.saving.deserialize_keras_object(json.loads(stored))
    assert twin.get_config() == strategy.get_config()


@pytest.mark.parametrize(
    "options",
    [
        {"samples": 0},
        {"temperature": 0},
        {"top_k": 0},
        {"top_p": 0},
        {"top_p": 1.1},
        {"min_p": 1},
        {"min_p": -0.1},
        {"seed": -1},
        {"seed": 2**31},
    ],
)
def test_bad_options_are_named(options):
    with pytest.raises(ValueError, match=f"`{next(iter(options))}`"):
        Sampling(**options)
