import json

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from keras_seqzoo.decoding import Greedy
from tests.decoding import reference
from tests.layer_checks import check_saved_model_in_fresh_process
from tests.properties import examples


@examples(40)
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(0, 5), st.sampled_from([0.0, 0.5]))
def test_equals_plain_python(seed, vocabulary, max_length, forbidden):
    model = reference.Model(vocabulary, seed % vocabulary, seed, forbidden)
    result = reference.run(Greedy, model, [0, 1, 4], max_length)
    assert result.tokens.shape == (3, 1, max_length)
    for row, alignments, start in zip(
        reference.rows(result), result.alignments.numpy(), [0, 1, 4], strict=True
    ):
        expected = reference.greedy(model, start, max_length)
        if np.isneginf(expected.score):  # a dead end
            assert row == []
            continue
        reference.assert_equal(row, [expected])
        weights = reference.true_alignments(start, expected.tokens)
        np.testing.assert_allclose(alignments[0, : len(weights)], weights, rtol=1e-6)


def test_xla_and_graph_equal_eager():
    model = reference.Model(5, end_token=0, seed=3)
    step, start = reference.step_function(tf.constant(model.table))
    eager = Greedy()(step, start(3), [0, 1, 2], 0, 5, -1, lambda state: state["weights"])
    for jit_compile in (False, True):
        other = reference.run(Greedy, model, [0, 1, 2], 5, jit_compile)
        for one, expected in zip(other, eager, strict=True):
            np.testing.assert_allclose(one, expected, rtol=1e-6)


@pytest.mark.slow
def test_saved_model_in_fresh_process():
    model = reference.Model(5, end_token=2, seed=5)

    def run(table, start_tokens):
        step, start = reference.step_function(table)
        rows = tf.shape(start_tokens)[0]
        found = Greedy()(step, start(rows), start_tokens, end_token=2, max_length=5)
        assert found.alignments is None
        return found

    check_saved_model_in_fresh_process(run, model.table, np.array([0, 4], np.int32))


def test_other_rows_of_the_batch_change_nothing():
    model = reference.Model(5, end_token=1, seed=7, forbidden=0.2)
    together = reference.run(Greedy, model, [0, 1, 2, 3, 4], 5)
    for start in range(5):
        alone = reference.run(Greedy, model, [start], 5)
        for one, every in zip(alone, together, strict=True):
            np.testing.assert_array_equal(one[0], every[start])


def test_stops_when_every_row_has_ended():
    calls = []

    def step(tokens, state):
        calls.append(tokens.numpy().tolist())
        return tf.one_hot(tf.maximum(state - 1, 0), 4, 0.0, -9.0), tf.maximum(state - 1, 0)

    found = Greedy()(step, tf.constant([2, 3]), [3, 3], end_token=0, max_length=50)
    assert calls == [[3, 3], [1, 2], [0, 1]]
    assert found.lengths.numpy().tolist() == [[2], [3]]
    assert found.tokens[:, 0, :4].numpy().tolist() == [[1, 0, 0, 0], [2, 1, 0, 0]]


@pytest.mark.parametrize("jit_compile", [False, True])
@pytest.mark.parametrize(("starts", "max_length"), [([], 4), ([], 0), ([1, 2], 0)])
def test_nothing_to_do(starts, max_length, jit_compile):
    model = reference.Model(3, end_token=0)
    found = reference.run(Greedy, model, starts, max_length, jit_compile)
    assert found.tokens.shape == (len(starts), 1, max_length)
    assert reference.rows(found) == [[((), 0.0, 0.0)] for _ in starts]


def test_serialisation():
    stored = json.dumps(keras.saving.serialize_keras_object(Greedy()))
    assert type(keras.saving.deserialize_keras_object(json.loads(stored))) is Greedy
