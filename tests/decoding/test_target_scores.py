import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.decoding import BeamSearch, Greedy, Sampling, score_targets
from tests.layer_checks import assert_close

LENGTH, VOCABULARY, POSITIONS = 4, 5, 3


def model(seed, rows):
    """A random model whose distributions and attention weights depend on place and last token."""
    random = np.random.default_rng(seed)
    shape = (LENGTH, VOCABULARY)
    table = np.log(random.dirichlet(np.ones(VOCABULARY), size=shape).astype("float32"))
    weights = random.dirichlet(np.ones(POSITIONS), size=shape).astype("float32")

    def step(tokens, state):
        place = tf.stack([state["time"], tokens], axis=-1)
        attention = tf.gather_nd(weights, place)
        return tf.gather_nd(table, place), {"time": state["time"] + 1, "weights": attention}

    start = {"time": tf.zeros([rows], tf.int32), "weights": tf.zeros([rows, POSITIONS])}
    return table, weights, step, start


def read(state):
    return state["weights"]


TARGETS, LENGTHS, STARTS = np.array([[2, 4, 1, 3], [0, 1, 0, 0]]), [4, 2], [1, 4]


def check(scores, attention, table, weights):
    assert scores.shape == (2, LENGTH) and attention.shape == (2, LENGTH, POSITIONS)
    for row, length in enumerate(LENGTHS):
        before = [STARTS[row], *TARGETS[row]]
        for time in range(LENGTH):
            valid = time < length
            place = time, before[time]
            assert_close(scores[row, time], table[place][TARGETS[row, time]] * valid)
            assert_close(attention[row, time], weights[place] * valid)


@pytest.mark.parametrize("jit_compile", [None, False, True])
def test_scores_and_weights_of_each_step(jit_compile):
    table, weights, step, start = model(0, rows=2)

    def run():
        return score_targets(step, start, STARTS, TARGETS, LENGTHS, alignment=read)

    run = run if jit_compile is None else tf.function(run, jit_compile=jit_compile, autograph=False)
    check(*run(), table, weights)


def test_unknown_shapes():
    table, weights, step, _ = model(1, rows=2)

    def run(starts, targets, lengths):
        rows = tf.shape(starts)[0]
        start = {"time": tf.fill([rows], 0), "weights": tf.zeros([rows, POSITIONS])}
        return score_targets(step, start, starts, targets, lengths, alignment=read)

    shapes = [None], [None, None], [None]
    traced = tf.function(
        run, input_signature=[tf.TensorSpec(shape, tf.int32) for shape in shapes], autograph=False
    )
    check(*traced(*(tf.constant(x, tf.int32) for x in (STARTS, TARGETS, LENGTHS))), table, weights)
    empty = tf.zeros([2, 0], tf.int32)
    scores, attention = traced(tf.constant(STARTS, tf.int32), empty, tf.zeros([2], tf.int32))
    assert scores.shape == (2, 0) and attention.shape == (2, 0, POSITIONS)


def test_scores_are_the_same_with_and_without_weights():
    _, _, step, start = model(2, rows=2)
    scores = score_targets(step, start, STARTS, TARGETS, LENGTHS)
    with_weights, _ = score_targets(step, start, STARTS, TARGETS, LENGTHS, read)
    np.testing.assert_array_equal(scores, with_weights)


@pytest.mark.slow
@pytest.mark.parametrize("jit_compile", [False, True])
@pytest.mark.parametrize(
    "strategy",
    [Greedy(), BeamSearch(3, n_best=3), Sampling(3, seed=1)],
    ids=lambda s: type(s).__name__,
)
def test_weights_are_those_of_the_search(strategy, jit_compile):
    for seed in range(4):
        _, _, step, start = model(seed, rows=2)

        @tf.function(jit_compile=jit_compile, autograph=False)
        def run(step=step, start=start):
            found = strategy(step, start, STARTS, 3, LENGTH, 0, alignment=read)
            given = [
                score_targets(
                    step, start, STARTS, found.tokens[:, rank], found.lengths[:, rank], read
                )
                for rank in range(found.tokens.shape[1])
            ]
            return found, given

        found, given = run()
        for rank, (scores, weights) in enumerate(given):
            assert_close(weights, found.alignments[:, rank])
            assert_close(tf.reduce_sum(scores, axis=1), found.log_probabilities[:, rank])


def test_bad_targets_are_named():
    _, _, step, start = model(0, rows=2)
    for targets in ([1, 2], [[1, 2]]):
        with pytest.raises(ValueError, match="`targets` must have shape"):
            score_targets(step, start, STARTS, targets, LENGTHS, read)
