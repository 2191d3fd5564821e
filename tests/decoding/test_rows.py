"""Rows that are done leave the batch, and nothing that is found changes."""

import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.decoding import (
    BeamSearch,
    DiverseBeamSearch,
    Greedy,
    LexicallyConstrainedBeamSearch,
    MinimumLength,
    NoRepeatedNGrams,
)
from tests.decoding import reference
from tests.tiers import mostly_slow, slow

BATCH, MOST, END = 12, 7, 0
LIMITS = np.array([5, 1, 7, 0, 2, 2, 3, 1, 6, 2, 1, 4], np.int32)  # tokens of each row at most
PREFIX = np.array([[1, 2], [0, 0], [3, 0]] * 4, np.int32)
PHRASES = np.array([[[1, -1], [2, 3]], [[3, -1], [-1, -1]], [[-1, -1], [-1, -1]]] * 4, np.int32)
STRATEGIES = {
    "beam": BeamSearch(3, n_best=2),
    "beam of 1": BeamSearch(1),
    "top": BeamSearch(4, n_best=1, stop="top"),
    "coverage": BeamSearch(3, coverage_penalty=0.3, length_penalty=0.6),
    "constraints": BeamSearch(
        3, constraints=[NoRepeatedNGrams(1), MinimumLength(1)], length_penalty=0.0
    ),
    "diverse": DiverseBeamSearch(6, groups=3, n_best=3),
    "phrases": LexicallyConstrainedBeamSearch(5, n_best=2),
    "greedy": Greedy(),
}


def searching(name, shrink, prefix=False, seen=None):
    """A search with a memory that tells the rows apart; `seen` gets the rows of each step."""
    strategy = STRATEGIES[name]
    strategy = type(strategy).from_config({**strategy.get_config(), "max_source_ratio": 1.0})
    wanted = tf.constant(PHRASES) if strategy.takes_phrases else None
    given = tf.constant(PREFIX) if prefix else None

    def search(table, starts, bias, lengths):
        plain_step, start = reference.step_function(table)

        def step(tokens, state, memory):
            if seen is not None:
                seen.append(len(tokens))
            log_probabilities, state = plain_step(tokens, state)
            width = tf.shape(tokens)[0] // tf.shape(memory["bias"])[0]
            log_probabilities += tf.repeat(memory["bias"], width, axis=0)
            return log_probabilities, state

        return strategy(
            step,
            start(tf.shape(starts)[0]),
            starts,
            END,
            MOST,
            alignment=lambda state: tf.abs(tf.sin(state["weights"])) / 2.0,
            source_lengths=lengths,
            prefix=given,
            prefix_mask=None if given is None else given > 0,
            required_phrases=wanted,
            memory={"bias": bias, "nothing": None},
            shrink=shrink,
        )

    return search


def compiled(*options):
    """The search as a graph for any model and any number of rows, so that it is traced once."""
    signature = [
        tf.TensorSpec([None, 4]),
        tf.TensorSpec([None], tf.int32),
        tf.TensorSpec([None, 4]),
        tf.TensorSpec([None], tf.int32),
    ]
    return tf.function(searching(*options), input_signature=signature, autograph=False)


def found(search, seed):
    """What a search finds with the model of a seed."""
    table = reference.Model(4, END, seed=seed, sharpness=2.0).table
    bias = -np.random.default_rng(seed).random((BATCH, 4), "float32")
    return search(
        tf.constant(table), tf.constant(range(BATCH)) % 4, tf.constant(bias), tf.constant(LIMITS)
    )


def assert_same(one, other):
    for own, expected in zip(one, other, strict=True):
        # A vectorised function may round a value by its place.
        np.testing.assert_allclose(own.numpy(), expected.numpy(), rtol=1e-6 * own.dtype.is_floating)


@pytest.mark.parametrize("prefix", [False, slow(True)])
@pytest.mark.parametrize("name", mostly_slow(list(STRATEGIES), "constraints"))
def test_nothing_changes(name, prefix):
    if name == "phrases" and prefix:
        pytest.skip("what is given may leave no room for the phrases")
    shrinking, plain = compiled(name, True, prefix), compiled(name, False, prefix)
    for seed in range(4):
        assert_same(found(shrinking, seed), found(plain, seed))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["beam", "diverse"])
def test_nothing_changes_eagerly_or_where_the_batch_is_known(name):
    assert_same(found(searching(name, True), 7), found(compiled(name, False), 7))


def test_steps_get_fewer_rows():
    seen, all_rows = [], []
    found(searching("beam", True, seen=seen), 1)
    found(searching("beam", False, seen=all_rows), 1)
    assert len(seen) == len(all_rows) and set(all_rows) == {3 * BATCH}
    assert seen[0] == 3 * BATCH and seen == sorted(seen, reverse=True)
    # A row is left out at the latest when a quarter of the batch is done with it.
    for time, rows in enumerate(seen[1:], 1):
        live = 3 * (time < LIMITS).sum()
        assert rows % 3 == 0 and (rows <= live / 0.75 or live == 0)


def test_a_memory_needs_the_batch_as_its_first_dimension():
    with pytest.raises(ValueError, match=r"`memory`.*batch.*\(3, 2\)"):
        BeamSearch(2)(lambda *_: None, (), [1, 1], 0, 3, memory=tf.zeros([3, 2]))
