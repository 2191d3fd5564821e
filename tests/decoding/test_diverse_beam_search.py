import json
import math

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from keras_seqzoo.decoding import BeamSearch, DiverseBeamSearch
from tests.decoding import reference
from tests.decoding.test_beam_search import models
from tests.layer_checks import check_saved_model_in_fresh_process
from tests.properties import examples
from tests.tiers import slow

FEW = examples(25)


def grouped(model, start, max_length, width, groups, diversity, alpha, n_best):
    """The same search in plain Python, without an early stop: the best of each group."""
    each = width // groups
    beams = [([((), 0.0)], []) for _ in range(groups)]
    for _ in range(max_length):
        counts, extended = {}, []
        for live, finished in beams:
            grown = [
                ((*tokens, token), total + gain)
                for tokens, total in live
                for token, gain in enumerate(model(start, tokens))
                if gain > -math.inf
            ]
            order = sorted(
                grown, key=lambda pair: -(pair[1] - diversity * counts.get(pair[0][-1], 0))
            )[: 2 * each]
            for tokens, _ in order[:each]:
                counts[tokens[-1]] = counts.get(tokens[-1], 0) + 1
            done = finished + [t for t, _ in order if t[-1] == model.end_token]
            going = [pair for pair in order if pair[0][-1] != model.end_token][:each]
            extended.append((going, done))
        beams = extended
    found = []
    for live, finished in beams:
        own = [reference.scored(model, start, t, alpha) for t in finished + [t for t, _ in live]]
        found += sorted(own, key=lambda h: -h.score)[: n_best // groups]
    return sorted(found, key=lambda h: -h.score)


@FEW
@given(models(), st.integers(1, 5), st.sampled_from([(4, 2, 2), (6, 3, 3), (6, 2, 4), (3, 1, 2)]))
def test_finds_what_the_reference_finds(model, max_length, sizes):
    width, groups, n_best = sizes
    options = {"width": width, "groups": groups, "n_best": n_best, "length_penalty": 0.7}
    found = reference.rows(
        reference.run(DiverseBeamSearch, model, [2, 0], max_length, diversity=0.8, **options)
    )
    for start, row in zip([2, 0], found, strict=True):
        expected = grouped(model, start, max_length, width, groups, 0.8, 0.7, n_best)
        assert sorted(h.tokens for h in row) == sorted(h.tokens for h in expected)
        for hypothesis in row:
            true = reference.scored(model, start, hypothesis.tokens, 0.7)
            reference.assert_equal([hypothesis], [true])


@pytest.mark.slow
@FEW
@given(models(), st.integers(0, 5))
def test_of_one_group_is_beam_search(model, max_length):
    options = {"width": 4, "length_penalty": 0.7, "n_best": 3}
    diverse = reference.run(
        DiverseBeamSearch, model, [2, 0], max_length, groups=1, diversity=9.0, **options
    )
    plain = reference.run(BeamSearch, model, [2, 0], max_length, **options)
    for one, other in zip(diverse, plain, strict=True):
        np.testing.assert_array_equal(one, other)


def test_first_tokens_differ():
    step = reference.chain([[0.7, 0.2, 0.07, 0.03]] * 4)
    found = DiverseBeamSearch(3, groups=3, diversity=5.0)(step, (), [0], 3, 4)
    assert {tokens[0] for tokens in found.tokens[0].numpy().tolist()} == {0, 1, 2}
    alike = DiverseBeamSearch(3, groups=3, diversity=0.0)(step, (), [0], 3, 4)
    assert len({tuple(tokens) for tokens in alike.tokens[0].numpy().tolist()}) == 1


@pytest.mark.parametrize("jit_compile", [False, slow(True)])
def test_alignments_and_xla(jit_compile):
    model = reference.Model(5, end_token=1, seed=3)
    found = reference.run(
        DiverseBeamSearch, model, [0, 4], 5, jit_compile, width=4, groups=2, n_best=4
    )
    for row, alignments, start in zip(
        reference.rows(found), found.alignments.numpy(), [0, 4], strict=True
    ):
        for hypothesis, alignment in zip(row, alignments, strict=False):
            weights = reference.true_alignments(start, hypothesis.tokens)
            np.testing.assert_allclose(alignment[: len(weights)], weights, rtol=1e-6)


@pytest.mark.slow
def test_saved_model_in_fresh_process():
    model = reference.Model(5, end_token=2, seed=5)

    def run(table, start_tokens, max_length):
        step, start = reference.step_function(table)
        return DiverseBeamSearch(4, 2)(
            step, start(tf.shape(start_tokens)[0]), start_tokens, 2, max_length[0]
        )[:4]

    starts, max_length = np.array([0, 4], np.int32), np.array([5], np.int32)
    check_saved_model_in_fresh_process(run, model.table, starts, max_length)


def test_configuration():
    strategy = DiverseBeamSearch(8, 4, 0.3, n_best=8)
    stored = json.dumps(keras.saving.serialize_keras_object(strategy))
    twin = keras.saving.deserialize_keras_object(json.loads(stored))
    assert twin.get_config() == strategy.get_config()


@pytest.mark.parametrize(
    "options, message",
    [
        ({"width": 5, "groups": 2}, "`width` must be a multiple of the 2 `groups`"),
        ({"width": 6, "groups": 2, "n_best": 3}, "`n_best` must be a multiple"),
        ({"groups": 0}, "`groups`"),
        ({"diversity": -1}, "`diversity`"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        DiverseBeamSearch(**options)
