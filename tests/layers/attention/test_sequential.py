"""Attention whose weights depend on earlier ones, by a term and a weighting of one's own."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.layers import (
    GRU,
    AttentionDecoder,
    BahdanauAttention,
    LuongAttention,
    ScoreTerm,
    Weighting,
)
from tests.layer_checks import (
    assert_close,
    check_keras_saving,
    check_mixed_precision,
    check_padding_changes_nothing,
    check_saved_model_in_fresh_process,
    check_serialisation,
    check_xla_equals_eager,
)
from tests.tiers import mostly_slow, slow


@keras.saving.register_keras_serializable(package="tests")
class Past(ScoreTerm):
    """The sum of the weights that a step of the memory has had, and the last of them."""

    feature_size = 2
    is_sequential = True

    def get_initial_state(self, memory, mask):
        zeros = tf.zeros(tf.shape(memory)[:2])
        return {"last": zeros, "sum": zeros}

    def features(self, inputs, state):
        return tf.stack([state["sum"], state["last"]], axis=-1)

    def next_state(self, state, weights):
        weights = tf.cast(weights, tf.float32)
        return {"last": weights, "sum": state["sum"] + weights}


@keras.saving.register_keras_serializable(package="tests")
class Cooling(Weighting):
    """A softmax whose temperature depends on the position, for which no loop is needed."""

    uses_position = True

    def weigh(self, scores, inputs, state):
        scores /= tf.cast(1 + inputs.position, scores.dtype)[..., tf.newaxis]
        valid = inputs.valid()[:, tf.newaxis]
        weights = tf.nn.softmax(tf.where(valid, scores, scores.dtype.min))
        return tf.where(valid, weights, tf.zeros((), weights.dtype)), state


def random(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype("float32")


QUERIES, MEMORY = random(3, 4, 6), random(3, 5, 6)
MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [0, 0, 1, 1, 1]], bool)
STEPS = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1]], bool)


def parts(names, dtype):
    makers = {"past": Past, "cooling": Cooling}
    options = {}
    if "past" in names:
        options["terms"] = [makers["past"](dtype=dtype)]
    if "cooling" in names:
        options["weighting"] = makers["cooling"](dtype=dtype)
    return options


def general(names, dtype=None):
    return LuongAttention("general", dtype=dtype, **parts(names, dtype))


def bahdanau(names, dtype=None):
    return BahdanauAttention(5, dtype=dtype, **parts(names, dtype))


def concat(names, dtype=None):
    return LuongAttention("concat", units=5, dtype=dtype, **parts(names, dtype))


LAYERS = {
    "past general": functools.partial(general, ["past"]),
    "past bahdanau": functools.partial(bahdanau, ["past"]),
    "past concat": functools.partial(concat, ["past"]),
    "cooling": functools.partial(general, ["cooling"]),
    "both": functools.partial(bahdanau, ["past", "cooling"]),
}
every_layer = pytest.mark.parametrize("factory", LAYERS.values(), ids=LAYERS)


def score_of(layer):
    """The score of a query, a step of the memory and the features of the step, in NumPy."""
    if layer.hidden_units is None:
        w = layer.kernel.numpy()
        v = layer.terms[0].kernel.numpy()[:, 0] if layer.terms else np.zeros(2)
        return lambda q, m, f: q @ w @ m + f @ v
    network = getattr(layer, "network", layer)
    w, u, v = (
        variable.numpy()
        for variable in (
            network.query_projection.kernel,
            network.memory_projection.kernel,
            network.vector,
        )
    )
    own = layer.terms[0].kernel.numpy()
    return lambda q, m, f: v[:, 0] @ np.tanh(q @ w + m @ u + f @ own)


@every_layer
def test_numbers(factory):
    layer = factory()
    context, weights, state = layer(QUERIES, MEMORY, mask=MASK, query_mask=STEPS)
    score = score_of(layer)
    for row in range(3):
        memory = MEMORY[row][MASK[row]]
        last, total, position = np.zeros(len(memory)), np.zeros(len(memory)), 0
        for t in range(4):
            if not STEPS[row, t]:
                continue
            scores = [
                score(QUERIES[row, t], m, np.array(f))
                for m, f in zip(memory, zip(total, last, strict=True), strict=True)
            ]
            scores = np.array(scores) / (1 + position if layer.weighting else 1)
            last = np.exp(scores) / np.exp(scores).sum()
            total, position = total + last, position + 1
            assert_close(weights[row, t][MASK[row]], last)
            assert_close(context[row, t], last @ memory)
        if layer.terms:
            assert_close(state["terms"][0]["last"][row][MASK[row]], last)
            assert_close(state["terms"][0]["sum"][row][MASK[row]], total)
        if layer.weighting:
            assert state["position"][row] == position
    assert ("position" in state) == (layer.weighting is not None)
    assert layer.is_sequential == bool(layer.terms) and layer.has_state


@every_layer
def test_single_queries_equal_a_sequence_and_share_a_row_of_the_memory(factory):
    layer = factory()
    context, weights, last = layer(QUERIES, MEMORY, mask=MASK)
    state = layer.get_initial_state(MEMORY, MASK)
    twice = np.repeat(QUERIES, 2, axis=0)  # two hypotheses for each row of the memory
    shared = None
    for t in range(4):
        one, attended, state = layer(QUERIES[:, t], MEMORY, mask=MASK, state=state)
        assert_close((one, attended), (context[:, t], weights[:, t]))
        two, both, shared = layer(twice[:, t], MEMORY, mask=MASK, state=shared)
        assert_close((two[::2], both[1::2]), (one, attended))
    assert_close(state, last)
    assert_close(tf.nest.map_structure(lambda tensor: tensor[1::2], shared), last)

    _, _, state = layer(QUERIES[:, :1], MEMORY, mask=MASK)
    rest, _, state = layer(QUERIES[:, 1:], MEMORY, mask=MASK, state=state)
    assert_close((rest, state), (context[:, 1:], last))


def test_hypotheses_each_have_a_state_of_their_own():
    layer = general(["past"])
    layer(QUERIES, MEMORY)
    state = layer.get_initial_state(np.repeat(MEMORY, 4, axis=0))
    flat = QUERIES.reshape(12, 6)
    for _ in range(2):
        _, weights, state = layer(flat, MEMORY, state=state)
    alone = layer.get_initial_state(MEMORY[1:2])
    for _ in range(2):
        _, own, alone = layer(flat[6:7], MEMORY[1:2], state=alone)
    assert_close(weights[6], own[0])


@pytest.mark.parametrize("factory", mostly_slow(LAYERS, "cooling", "both"))
def test_general_checks(factory):
    check_serialisation(factory(), QUERIES, MEMORY, mask=MASK)
    check_mixed_precision(factory, QUERIES, MEMORY, mask=MASK)
    layer = factory()
    check_padding_changes_nothing(lambda m, k: layer(QUERIES, m, mask=k), MEMORY, MASK)

    def at_valid_queries(queries, mask):
        queries = tf.where(mask[..., None], queries, np.nan)
        context, _, state = layer(queries, MEMORY, query_mask=mask)
        return tf.where(mask[..., None], context, 0.0), state

    check_padding_changes_nothing(at_valid_queries, QUERIES, STEPS)


@pytest.mark.parametrize("name", [slow("past general"), "cooling", slow("both")])
def test_xla_and_saving(name):
    check_xla_equals_eager(LAYERS[name](), QUERIES, MEMORY, mask=MASK)
    check_keras_saving(LAYERS[name](), QUERIES, MEMORY, mask=MASK)
    check_saved_model_in_fresh_process(LAYERS[name](), QUERIES, MEMORY, mask=MASK)


@pytest.mark.parametrize("factory", [LAYERS["past general"], LAYERS["cooling"]])
def test_no_queries(factory):
    layer = factory()
    context, weights, state = layer(QUERIES[:, :0], MEMORY)
    assert context.shape == (3, 0, 6) and weights.shape == (3, 0, 5)
    assert_close(state, layer.get_initial_state(MEMORY))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LuongAttention(terms=["past"]), "`terms` must be of the class ScoreTerm, got 'p"),
        (lambda: LuongAttention(weighting=Past()), "`weighting` must be of the class Weighting"),
        (lambda: LuongAttention(terms=[Past(dtype="float64")]), "`terms`.*dtype.*has float64"),
        (
            lambda: AttentionDecoder([GRU(3)], general(["past"]), 3).get_initial_state(2),
            "`memory` must be given",
        ),
    ],
)
def test_errors_name_the_argument(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_what_a_part_must_define():
    with pytest.raises(NotImplementedError, match="ScoreTerm must define `features`"):
        ScoreTerm().features(None, ())
    with pytest.raises(NotImplementedError, match="Weighting must define `weigh`"):
        Weighting().weigh(None, None, ())
