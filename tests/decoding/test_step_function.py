import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.decoding import (
    BeamSearch,
    DiverseBeamSearch,
    ExhaustiveSearch,
    Greedy,
    LexicallyConstrainedBeamSearch,
    MinimumLength,
    Sampling,
    score_targets,
)

TABLE = np.log(np.array([[0.2, 0.5, 0.3]] * 3, np.float32))
LOGITS = TABLE + 4
NAN = np.where(TABLE > -1, np.nan, TABLE)
STRATEGIES = [
    BeamSearch,
    DiverseBeamSearch,
    ExhaustiveSearch,
    Greedy,
    LexicallyConstrainedBeamSearch,
    Sampling,
]


def step_of(table):
    return lambda tokens, state: (tf.gather(tf.cast(table, tf.float32), tokens), state)


def search(strategy, step, start_tokens=(1, 2), **options):
    if strategy.takes_phrases:
        options["required_phrases"] = tf.ones([2, 1, 1], tf.int32)
    return strategy(step, (), list(start_tokens), 0, 3, **options)


@pytest.mark.parametrize("make", STRATEGIES)
def test_eager_values(make):
    strategy = make()
    search(strategy, step_of(TABLE))
    with pytest.raises(ValueError, match=r"`step` must .* at most 0 .*log_softmax.*, got 3\.3"):
        search(strategy, step_of(LOGITS))
    with pytest.raises(ValueError, match="`step` must .* got NaN"):
        search(strategy, step_of(NAN))


def traced(strategy, table, **options):
    """A search of which nothing is known before it runs."""

    @tf.function(autograph=False)
    def run(table, starts, options):
        return search(strategy, step_of(table), tf.unstack(starts), **options).tokens

    return run(tf.constant(table), tf.constant([1, 2]), options)


@pytest.mark.slow
@pytest.mark.parametrize("make", STRATEGIES)
def test_values_in_graph(make):
    traced(make(), NAN)  # nobody looks
    checked = make(check_values=True)
    np.testing.assert_array_equal(traced(checked, TABLE)[:, 0], traced(make(), TABLE)[:, 0])
    for table in (LOGITS, NAN):
        with pytest.raises(tf.errors.InvalidArgumentError, match="at most 0 and not NaN"):
            traced(checked, table)


def test_no_check_in_graph_by_default():
    def names(strategy):
        run = tf.function(lambda table: search(strategy, step_of(table)).tokens, autograph=False)
        graph = run.get_concrete_function(tf.constant(TABLE)).graph.as_graph_def()
        functions = [node.op for function in graph.library.function for node in function.node_def]
        return {node.op for node in graph.node} | set(functions)

    assert "Assert" not in names(BeamSearch(2))
    assert "Assert" in names(BeamSearch(2, check_values=True))


@pytest.mark.parametrize("constraints", [[], [MinimumLength(1)]])
@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize(
    ("step", "message"),
    [
        (
            lambda tokens, state: tf.constant(TABLE[:1]),
            r"\(log_probabilities, state\)`, got a tensor",
        ),
        (lambda tokens, state: (tf.constant(TABLE[:1]), state), r"\(rows, vocabulary\).*\(1, 3\)"),
        (lambda tokens, state: (tf.constant(TABLE[0]), state), r"\(rows, vocabulary\).*\(3,\)"),
        (lambda tokens, state: None, "`step` must return .* got None"),
    ],
)
def test_shapes(step, message, graph, constraints):
    def run():
        return search(Greedy(constraints=constraints), step).tokens

    with pytest.raises(ValueError, match=message):
        tf.function(run, autograph=False)() if graph else run()


def test_unknown_number_of_rows_in_graph():
    def run(strategy):
        @tf.function(
            input_signature=[tf.TensorSpec([None, 3]), tf.TensorSpec([None], tf.int32)],
            autograph=False,
        )
        def found(rows, starts):
            step = lambda tokens, state: (rows, state)  # noqa: E731
            return strategy(step, (), starts, 0, 3).tokens

        return found(tf.constant(TABLE), tf.constant([1, 2]))

    with pytest.raises(
        tf.errors.InvalidArgumentError, match="must return log probabilities of shape"
    ):
        run(Greedy(check_values=True))


def test_scores_of_targets_are_checked():
    with pytest.raises(ValueError, match="`step` must .* at most 0"):
        score_targets(step_of(LOGITS), (), [1], [[1, 2]], [2])


def test_start_tokens_are_integers():
    with pytest.raises(ValueError, match="`start_tokens` must be integers, got float32"):
        search(Greedy(), step_of(TABLE), [1.0, 2.0])
    assert Greedy()(step_of(TABLE), (), [], 0, 3).tokens.shape == (0, 1, 3)


@pytest.mark.parametrize("graph", [False, True])
def test_prefix_outside_of_the_vocabulary(graph):
    def run(prefix, mask=None):
        return search(Greedy(), step_of(TABLE), prefix=prefix, prefix_mask=mask).tokens

    run = tf.function(run, autograph=False) if graph else run
    for prefix, wrong in (([[1], [3]], 3), ([[-1], [1]], -1)):
        with pytest.raises(ValueError, match=f"`prefix` .* 3 tokens, got {wrong}"):
            run(prefix)
    run([[1], [7]], [[True], [False]])  # padding
    with pytest.raises(ValueError, match="`prefix` must be integers, got float32"):
        run([[1.0], [2.0]])


def test_prefix_of_a_graph():
    good, bad = ({"prefix": tf.constant([[1], [token]])} for token in (2, 3))
    traced(Greedy(check_values=True), TABLE, **good)
    traced(Greedy(), TABLE, **bad)
    with pytest.raises(tf.errors.InvalidArgumentError, match="`prefix` must be in the vocabulary"):
        traced(Greedy(check_values=True), TABLE, **bad)


def test_serialisation():
    for check_values in (False, True):
        strategy = Greedy(check_values=check_values)
        stored = json.loads(json.dumps(keras.saving.serialize_keras_object(strategy)))
        assert keras.saving.deserialize_keras_object(stored).check_values is check_values
