import json
import math

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from keras_seqzoo.decoding import BeamSearch, DecodingStrategy
from keras_seqzoo.decoding.beam_history import largest
from tests.decoding import reference
from tests.layer_checks import check_saved_model_in_fresh_process
from tests.properties import examples
from tests.tiers import slow

FEW = examples(40)
NARROW = [(1, 0.0, 1), (1, 1.0, 1), (2, 0.6, 2), (3, 0.0, 3), (3, 1.5, 1), (4, 1.0, 2)]


@st.composite
def models(draw, vocabulary=5):
    vocabulary = draw(st.integers(1, vocabulary))
    return reference.Model(
        vocabulary,
        end_token=draw(st.integers(0, vocabulary - 1)),
        seed=draw(st.integers(0, 10**6)),
        forbidden=draw(st.sampled_from([0.0, 0.0, 0.4, 0.8])),
        sharpness=draw(st.sampled_from([0.3, 1.0, 3.0])),
    )


def search(model, starts, max_length, width, alpha, n_best, **options):
    return reference.run(
        BeamSearch,
        model,
        starts,
        max_length,
        width=width,
        length_penalty=alpha,
        n_best=n_best,
        **options,
    )


@pytest.mark.slow
@FEW
@given(models(vocabulary=4), st.integers(0, 4), st.sampled_from([0.0, 0.6, 1.0, 1.5]))
def test_wide_beam_equals_enumeration(model, max_length, alpha):
    starts = [0, 3]
    found = reference.rows(search(model, starts, max_length, 81, alpha, n_best=12))
    for start, row in zip(starts, found, strict=True):
        expected = reference.enumerate_all(model, start, max_length, alpha)
        reference.assert_equal(row, expected[:12])


@pytest.mark.parametrize("seed", range(3))
def test_wide_beam_equals_enumeration_of_thousands(seed):
    model = reference.Model(5, end_token=3, seed=seed)
    [found] = reference.rows(search(model, [1], 5, 1024, 0.8, n_best=50))
    expected = reference.enumerate_all(model, 1, 5, 0.8)
    assert len(expected) == 1365
    reference.assert_equal(found, expected[:50])


@FEW
@given(models(), st.integers(0, 5), st.sampled_from(NARROW))
def test_narrow_beam_equals_reference_that_never_stops_early(model, max_length, options):
    starts = [2, 0, 4]
    found = reference.rows(search(model, starts, max_length, *options))
    for start, row in zip(starts, found, strict=True):
        expected = reference.beam_search(model, start, max_length, *options)
        reference.assert_equal(row, expected)


@pytest.mark.slow
@FEW
@given(models(), st.integers(1, 5), st.sampled_from(NARROW))
def test_stop_at_the_top_equals_reference(model, max_length, options):
    starts = [2, 0, 4]
    found = reference.rows(search(model, starts, max_length, *options, stop="top"))
    for start, row in zip(starts, found, strict=True):
        expected = reference.beam_search(model, start, max_length, *options, stop="top")
        reference.assert_equal(row, expected)


def test_stop_at_the_top_takes_fewer_steps():
    # An end after each token at p = .6, the other token at p = .4.
    steps = []

    def step(tokens, state):
        steps.append(1)
        return tf.math.log([[0.6, 0.4]] * len(tokens)), state

    for stop, count in (("exact", 9), ("top", 1)):
        steps.clear()
        BeamSearch(2, length_penalty=3.0, stop=stop)(step, (), [1], 0, 9)
        assert len(steps) == count


@FEW
@given(models(), st.integers(0, 5), st.sampled_from(NARROW))
def test_every_score_and_alignment_is_that_of_its_tokens(model, max_length, options):
    result = search(model, [1, 2], max_length, *options)
    for row, alignments, start in zip(
        reference.rows(result), result.alignments.numpy(), [1, 2], strict=True
    ):
        assert len({h.tokens for h in row}) == len(row)
        for hypothesis, alignment in zip(row, alignments, strict=False):
            assert model.is_complete(hypothesis.tokens, max_length)
            true = reference.scored(model, start, hypothesis.tokens, options[1])
            reference.assert_equal([hypothesis], [true])
            weights = reference.true_alignments(start, hypothesis.tokens)
            np.testing.assert_allclose(alignment[: len(weights)], weights, rtol=1e-6)


@pytest.mark.parametrize("options", NARROW)
def test_other_rows_of_the_batch_change_nothing(options):
    model = reference.Model(5, end_token=1, seed=7, sharpness=3.0, forbidden=0.2)
    together = search(model, [0, 1, 2, 3, 4], 5, *options)
    for start in range(5):
        alone = search(model, [start], 5, *options)
        for one, every in zip(alone, together, strict=True):
            np.testing.assert_array_equal(one[0], every[start])


@pytest.mark.slow
@pytest.mark.parametrize("options", [(1, 1.0, 1), (3, 0.7, 3)])
@pytest.mark.parametrize("forbidden", [0.0, 0.5])
def test_xla_and_graph_equal_eager(options, forbidden):
    model = reference.Model(5, end_token=0, seed=3, forbidden=forbidden)
    step, start = reference.step_function(tf.constant(model.table))
    strategy = BeamSearch(*options)

    def run():
        return strategy(step, start(3), [0, 1, 2], 0, 5, -1, lambda state: state["weights"])

    eager = run()
    graph = search(model, [0, 1, 2], 5, *options)
    static = tf.function(run, jit_compile=True, autograph=False)()
    dynamic = search(model, [0, 1, 2], 5, *options, jit_compile=True)
    for other in (graph, static, dynamic):
        for one, expected in zip(other, eager, strict=True):
            np.testing.assert_allclose(one, expected, rtol=1e-6)


def test_static_shapes():
    @tf.function(autograph=False)
    def run(start_tokens):
        step, start = reference.step_function(tf.zeros([reference.CODES, 4]))
        rows = tf.shape(start_tokens)[0]
        found = BeamSearch(3, n_best=2)(
            step, start(rows), start_tokens, 0, 6, alignment=lambda state: state["weights"]
        )
        assert found.tokens.shape.as_list() == [None, 2, 6]
        assert found.lengths.shape.as_list() == found.scores.shape.as_list() == [None, 2]
        assert found.alignments.shape.as_list() == [None, 2, 6, 3]
        return found.tokens

    run.get_concrete_function(tf.TensorSpec([None], tf.int32))


@pytest.mark.slow
def test_saved_model_in_fresh_process():
    model = reference.Model(5, end_token=2, seed=5)
    starts, max_length = np.array([0, 4], np.int32), np.array([5], np.int32)

    def run(table, start_tokens, max_length):
        step, start = reference.step_function(table)
        rows = tf.shape(start_tokens)[0]
        return BeamSearch(3, n_best=2)(
            step,
            start(rows),
            start_tokens,
            end_token=2,
            max_length=max_length[0],
            alignment=lambda state: state["weights"],
        )

    check_saved_model_in_fresh_process(run, model.table, starts, max_length)


def test_finished_hypothesis_is_never_lost_nor_scored_again():
    # KerasHub 0.32 extends the finished hypothesis (p = .55) into p = .018 and returns p = .37.
    end, a, b = 0, 1, 2
    step = reference.chain([[1 / 30, 29 / 30, 0], [0.12, 0.06, 0.82], [0.55, 0.45, 0.0]])
    found = BeamSearch(width=2, length_penalty=0.0, n_best=2)(step, (), [b], end, 2)
    assert found.tokens.numpy().tolist() == [[[end, 0], [a, b]]]
    assert found.lengths.numpy().tolist() == [[1, 2]]
    np.testing.assert_allclose(tf.exp(found.scores), [[0.55, 0.45 * 0.82]], rtol=1e-6)


def test_length_penalty_ranks():
    # The end at once has p = .5; two more tokens and the end, p = .4.
    rows = [[1.0, 0, 0, 0], [0, 0, 1.0, 0], [1.0, 0, 0, 0], [0.5, 0.4, 0.1, 0]]
    lengths = {
        alpha: BeamSearch(2, alpha)(reference.chain(rows), (), [3], 0, 9).lengths.numpy().item()
        for alpha in (0.0, 1.0)
    }
    assert lengths == {0.0: 1, 1.0: 3}


def test_truncated_hypotheses_compete_by_score():
    step = reference.chain([[1.0, 0.0], [0.4, 0.6]])
    found = BeamSearch(2, 0.0, n_best=2)(step, (), [1], 0, 1)
    assert found.tokens.numpy().tolist() == [[[1], [0]]]
    found = BeamSearch(2, 0.0, n_best=2)(step, (), [1], 0, 2)
    assert found.tokens.numpy().tolist() == [[[0, 0], [1, 1]]]
    np.testing.assert_allclose(tf.exp(found.scores), [[0.4, 0.36]], rtol=1e-6)


def test_stops_when_no_live_hypothesis_can_win():
    calls = []

    def step(tokens, state):
        calls.append(len(tokens))
        return tf.math.log(tf.where(state[:, None] > 0, [[0.9, 0.1]], [[0.05, 0.95]])), state

    BeamSearch(2, 0.0)(step, tf.constant([1]), [1], 0, 50)
    assert len(calls) == 1  # .9 against .1
    calls.clear()
    BeamSearch(2, 0.0, n_best=2)(step, tf.constant([1]), [1], 0, 50)
    assert len(calls) == 2  # .9 and .09 against .01
    calls.clear()
    # The best finished one is .05; the live one falls below it after 59 steps: .95 ** 59 < .05.
    BeamSearch(2, 0.0)(step, tf.constant([1, 0]), [1, 1], 0, 100)
    assert len(calls) == 59


@pytest.mark.parametrize("jit_compile", [False, slow(True)])
@pytest.mark.parametrize(("starts", "max_length"), [([], 4), ([], 0), ([1, 2], 0)])
def test_nothing_to_do(starts, max_length, jit_compile):
    model = reference.Model(3, end_token=0)
    found = search(model, starts, max_length, 3, 1.0, 2, jit_compile=jit_compile)
    assert found.tokens.shape == (len(starts), 2, max_length)
    assert found.alignments.shape == (len(starts), 2, max_length, 3)
    assert reference.rows(found) == [[((), 0.0, 0.0)] for _ in starts]


def test_dead_end_has_no_hypothesis():
    model = reference.Model(3, end_token=0, forbidden=1.0)
    assert reference.rows(search(model, [0, 1], 4, 3, 1.0, 2)) == [[], []]


@pytest.mark.slow
def test_huge_length_penalty_stays_finite():
    model = reference.Model(3, end_token=0, forbidden=0.3)
    hypotheses = search(model, [0, 1], 5, 3, 1000.0, 2)
    exists = hypotheses.lengths.numpy() > 0
    without = search(model, [0, 1], 5, 3, 0.0, 2)
    np.testing.assert_array_equal(exists, without.lengths.numpy() > 0)
    assert exists.any()
    assert not np.isnan(hypotheses.scores.numpy()[exists]).any()
    assert np.isfinite(hypotheses.log_probabilities.numpy()[exists]).all()


def test_state_of_any_nest():
    table = tf.math.log([[0.2, 0.5, 0.3]])

    @tf.function(
        input_signature=[tf.TensorSpec([None, None], tf.float16), tf.TensorSpec([None], tf.string)],
        autograph=False,
    )
    def run(memory, names):
        batch = tf.shape(memory)[0]
        state = [
            {"memory": memory, "names": names, "nothing": None},
            (tf.zeros([batch, 2, 0], tf.int64), tf.fill([batch, 1], True)),
        ]

        def step(tokens, state):
            log_probabilities = tf.tile(table, [tf.size(tokens), 1])
            return log_probabilities + tf.cast(state[0]["memory"][:, :1], tf.float32), state

        return BeamSearch(2, n_best=2)(step, state, tf.fill([batch], 1), 0, 3).scores

    memory = tf.constant([[0.0, 1.0], [-1.0, 1.0]], tf.float16)
    scores = run(memory, tf.constant(["a", "b"])).numpy()
    np.testing.assert_allclose(scores[1], scores[0] - 1, rtol=1e-5)


def test_state_that_no_step_changes_is_not_gathered():
    table = tf.math.log(tf.constant([[0.2, 0.5, 0.3]]))

    def step(tokens, state):
        total = state["total"] + tf.cast(tokens[:, tf.newaxis], tf.float32)
        return tf.tile(table, [tf.size(tokens), 1]) + state["memory"], {**state, "total": total}

    def gathers(changed):
        def run(memory):
            def changing(tokens, state):
                log_probabilities, state = step(tokens, state)
                return log_probabilities, {**state, "memory": state["memory"] + 0.0}

            state = {"memory": memory, "total": tf.zeros([2, 1])}
            return BeamSearch(2)(changing if changed else step, state, [1, 1], 0, 3)

        graph = (
            tf.function(run, autograph=False)
            .get_concrete_function(tf.zeros([2, 3]))
            .graph.as_graph_def()
        )
        nodes = [node for f in graph.library.function for node in f.node_def]
        return sum(node.op == "GatherV2" for node in nodes)

    assert gathers(changed=True) == gathers(changed=False) + 1


def test_state_that_an_eager_step_changes_only_sometimes():
    table = np.log(np.array([[1e-6, 0.5, 0.4]], np.float32))

    def step(tokens, state):
        first, time = state
        if time[0, 0] == 1:  # remembers the first token in the second step alone
            first = tf.cast(tokens[:, tf.newaxis], tf.float32)
        # After a 1 comes nothing but what makes the other token win.
        gain = tf.where(first == 1.0, [[-5.0, -5.0, -5.0]], [[0.0, 0.0, 0.0]])
        gain = tf.where(time >= 4, gain, 0.0)
        return tf.tile(table, [len(tokens), 1]) + gain, (first, time + 1)

    state = tf.zeros([1, 1]), tf.zeros([1, 1], tf.int32)
    found = BeamSearch(16, 0.0)(step, state, [1], 0, 5)
    assert found.tokens.numpy()[0, 0].tolist() == [2, 1, 1, 1, 1]


@examples(60)
@given(st.integers(1, 3000), st.integers(1, 12), st.integers(0, 99), st.booleans())
def test_largest_by_chunks_are_those_of_top_k(size, count, seed, ties):
    values = np.random.default_rng(seed).normal(size=(3, size)).astype(np.float32)
    values = np.round(values) if ties else values
    count = min(count, size)
    expected = tf.math.top_k(values, count)[1]
    np.testing.assert_array_equal(largest(tf.constant(values), count), expected)


@pytest.mark.parametrize("max_length", [3, 9])
def test_row_that_is_done_does_not_change_while_others_go_on(max_length):
    # Log probabilities a little above 0, as rounding makes them, would let the live one win.
    def step(tokens, rows):
        first = tf.math.log([[0.5, 0.48]])
        later = tf.constant([[-9.0, 0.09]]) if max_length == 3 else tf.constant([[0.09, -9.0]])
        open_row = tf.constant([[-9.0, 0.0]])
        done_row = tf.where(tokens[:, None] == 2, first, later)
        return tf.where(rows[:, None] == 0, done_row, open_row), rows

    alone = BeamSearch(1, 0.0)(step, tf.constant([0]), [2], 0, max_length)
    assert alone.tokens[0, 0].numpy().tolist() == [0] * max_length
    both = BeamSearch(1, 0.0)(step, tf.constant([0, 1]), [2, 2], 0, max_length)
    for one, every in zip(alone[:4], both[:4], strict=True):
        np.testing.assert_array_equal(one[0], every[0])


def test_without_alignment_there_is_none():
    found = BeamSearch(2)(reference.chain([[0.5, 0.5], [0.5, 0.5]]), (), [1], 0, 3)
    assert found.alignments is None


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"width": 0}, "width.*at least 1.*0"),
        ({"stop": "early"}, "stop.*'exact', 'top'.*early"),
        ({"width": 2.5}, "width.*at least 1.*2.5"),
        ({"width": True}, "width.*at least 1.*True"),
        ({"n_best": 0}, "n_best.*at least 1.*0"),
        ({"width": 2, "n_best": 3}, r"n_best.*at most `width` \(2\).*3"),
        ({"length_penalty": -0.1}, "length_penalty.*at least 0.*-0.1"),
        ({"length_penalty": math.nan}, "length_penalty.*at least 0.*nan"),
        ({"length_penalty": "1"}, "length_penalty.*at least 0.*'1'"),
    ],
)
def test_bad_arguments(arguments, named):
    with pytest.raises(ValueError, match=named):
        BeamSearch(**arguments)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        ({"start_tokens": [[1]]}, "start_tokens.*shape"),
        ({"start_tokens": 1}, "start_tokens.*shape"),
        ({"end_token": -1}, "end_token.*-1"),
        ({"end_token": 2}, "end_token.*2 tokens.*2"),
        ({"max_length": -1}, "max_length.*-1"),
        ({"max_length": 2.0}, "max_length.*2.0"),
        ({"max_length": tf.constant(-1)}, "max_length.*-1"),
        ({"max_length": tf.constant([3])}, "max_length.*scalar"),
        ({"max_length": tf.constant(3.0)}, "max_length.*integer.*float32"),
        ({"state": tf.zeros([3, 2])}, "state.*batch"),
        ({"state": tf.zeros([])}, "state.*batch"),
        ({"step": lambda tokens, state: (tf.zeros([2, 1, 2]), state)}, "step.*vocabulary"),
        ({"step": lambda tokens, state: (tf.zeros([2, 2]), tf.zeros([2]))}, "structure"),
    ],
)
def test_bad_calls(call, named):
    good = {
        "step": reference.chain([[0.5, 0.5], [0.5, 0.5]]),
        "state": (),
        "start_tokens": [1],
        "end_token": 0,
        "max_length": 3,
    }
    with pytest.raises(ValueError, match=named):
        BeamSearch(2)(**(good | call))


def test_changed_dtype_of_the_state_is_refused():
    def step(tokens, state):
        return tf.zeros([2, 2]), tf.cast(state, tf.float16)

    with pytest.raises(TypeError, match="float32.*float16"):
        BeamSearch(2)(step, tf.zeros([1, 4]), [1], 0, 3)


def test_serialisation():
    strategy = BeamSearch(np.int64(4), length_penalty=1, n_best=2)
    stored = json.dumps(keras.saving.serialize_keras_object(strategy))
    twin = keras.saving.deserialize_keras_object(json.loads(stored))
    assert type(twin) is BeamSearch and isinstance(twin, DecodingStrategy)
    assert (twin.width, twin.n_best, twin.length_penalty.alpha) == (4, 2, 1.0)
    assert twin.get_config() == strategy.get_config()
