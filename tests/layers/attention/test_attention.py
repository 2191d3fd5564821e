import functools

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from keras_seqzoo.layers.attention.bahdanau import BahdanauAttention
from keras_seqzoo.layers.attention.luong import LuongAttention
from tests.layer_checks import (
    assert_close,
    check_keras_saving,
    check_mixed_precision,
    check_padding_changes_nothing,
    check_saved_model_in_fresh_process,
    check_serialisation,
    check_xla_equals_eager,
)
from tests.properties import examples
from tests.tiers import mostly_slow, slow

LAYERS = {
    "dot": functools.partial(LuongAttention, "dot"),
    "scaled dot": functools.partial(LuongAttention, "dot", scale=True),
    "general": functools.partial(LuongAttention, "general"),
    "scaled general": functools.partial(LuongAttention, "general", scale=True),
    "concat": functools.partial(LuongAttention, "concat", units=5),
    "concat of query size": functools.partial(LuongAttention, "concat"),
    "bahdanau": functools.partial(BahdanauAttention, 5),
}
MASK = np.array([[1, 1, 0, 0], [0, 1, 0, 1], [0, 0, 0, 0]], bool)
every_layer = pytest.mark.parametrize("factory", LAYERS.values(), ids=LAYERS)


def random(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype("float32")


QUERY, QUERIES, MEMORY = random(3, 6), random(3, 2, 6), random(3, 4, 6)


def numpy_attention(score, query, memory, mask):
    """One query `(Q,)` and one memory `(S, M)` at a time, as in the papers."""
    weights = np.array([np.exp(score(query, step)) for step in memory]) * mask
    weights = weights / weights.sum() if mask.any() else weights
    return weights @ memory, weights


def numpy_score(layer):
    if isinstance(layer, BahdanauAttention) or layer.score == "concat":
        network = layer if isinstance(layer, BahdanauAttention) else layer.network
        w = network.query_projection.kernel.numpy()
        u = network.memory_projection.kernel.numpy()
        v = network.vector.numpy()[:, 0]
        return lambda q, m: v @ np.tanh(np.concatenate([q, m]) @ np.concatenate([w, u]))
    w = layer.kernel.numpy() if layer.score == "general" else np.eye(6)
    return lambda q, m: q @ w @ m / (np.sqrt(6.0) if layer.scale else 1.0)


@every_layer
def test_numbers(factory):
    layer = factory()
    context, weights, state = layer(QUERIES, MEMORY, mask=MASK)
    assert context.shape == (3, 2, 6) and weights.shape == (3, 2, 4)
    assert state == ()
    score = numpy_score(layer)
    for row in range(3):
        for step in range(2):
            expected = numpy_attention(score, QUERIES[row, step], MEMORY[row], MASK[row])
            assert_close((context[row, step], weights[row, step]), expected)


@every_layer
def test_one_query_and_ready_keys_give_the_same(factory):
    layer = factory()
    context, weights, _ = layer(QUERIES, MEMORY, mask=MASK)
    keys = layer.project_memory(MEMORY)
    for step in range(2):
        one = layer(QUERIES[:, step], MEMORY, mask=MASK, keys=keys)
        assert_close(one, (context[:, step], weights[:, step]))


@every_layer
def test_no_mask_is_a_mask_of_ones(factory):
    layer = factory()
    assert_close(layer(QUERY, MEMORY), layer(QUERY, MEMORY, mask=np.ones((3, 4), bool)))


@every_layer
def test_memory_without_valid_steps(factory):
    layer = factory()
    memory = tf.constant(MEMORY)
    with tf.GradientTape() as tape:
        tape.watch(memory)
        context, weights, _ = layer(QUERY, memory, mask=np.zeros((3, 4), bool))
        loss = tf.reduce_sum(context) + tf.reduce_sum(weights)
    np.testing.assert_array_equal(context, 0.0)
    np.testing.assert_array_equal(weights, 0.0)
    np.testing.assert_array_equal(tape.gradient(loss, memory), 0.0)


@pytest.mark.hypothesis
@pytest.mark.parametrize("factory", [LAYERS["scaled dot"], LAYERS["bahdanau"]])
def test_padding_changes_nothing(factory):
    layer = factory()

    @examples(10)
    @given(mask=arrays(bool, (3, 4)), one=st.booleans())
    def check(mask, one):
        query = QUERY if one else QUERIES
        check_padding_changes_nothing(lambda m, k: layer(query, m, mask=k), MEMORY, mask)
        _, weights, _ = layer(query, MEMORY, mask=mask)
        total = np.broadcast_to(mask.any(-1), np.shape(weights)[:-1][::-1]).T
        assert_close(tf.reduce_sum(weights, -1), total)

    check()


@pytest.mark.parametrize("factory", mostly_slow(LAYERS, "scaled general", "bahdanau"))
def test_general_checks(factory):
    check_serialisation(factory(), QUERY, MEMORY, mask=MASK)
    check_xla_equals_eager(factory(), QUERIES, MEMORY, mask=MASK)
    check_mixed_precision(factory, QUERIES, MEMORY, mask=MASK)


@pytest.mark.parametrize("name", [slow("general"), slow("concat"), "bahdanau"])
def test_saving(name):
    check_keras_saving(LAYERS[name](), QUERIES, MEMORY, mask=MASK, state=[QUERY])
    layer = LAYERS[name]()
    check_saved_model_in_fresh_process(layer, QUERIES, MEMORY, mask=MASK)
    check_saved_model_in_fresh_process(layer, QUERY, MEMORY, mask=MASK)


def test_half_precision_leaves_weights_and_state_in_float32():
    layer = LuongAttention("general", dtype="mixed_bfloat16")
    context, weights, state = layer(QUERY, MEMORY, mask=MASK, state={"c": QUERY})
    assert context.dtype == tf.bfloat16
    assert weights.dtype == state["c"].dtype == tf.float32


def test_float16_does_not_overflow():
    layer = LuongAttention("dot", scale=True, dtype="mixed_float16")
    deep = np.full((1, 3, 512), 16.0, "float32")  # the dot product is 2^17 before scaling
    _, weights, _ = layer(deep[:, 0], deep)
    assert_close(weights, np.full((1, 3), 1 / 3))


def test_keras_mask_of_the_memory_is_used_and_that_of_the_queries_passed_on():
    embedding = keras.layers.Embedding(9, 6, mask_zero=True)
    source, target = np.array([[3, 4, 0, 0]]), np.array([[5, 0]])
    layer = LuongAttention("dot")
    context, weights, _ = layer(embedding(target), embedding(source))
    np.testing.assert_array_equal(weights[..., 2:], 0.0)
    np.testing.assert_array_equal(context._keras_mask, [[True, False]])
    model_input = keras.Input((None,), dtype="int32"), keras.Input((None,), dtype="int32")
    outputs = layer(embedding(model_input[0]), embedding(model_input[1]))
    assert_close(keras.Model(model_input, outputs[1])((target, source)), weights)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LuongAttention("cosine"), "`score`"),
        (lambda: LuongAttention("dot", units=3), "`units`"),
        (lambda: LuongAttention("concat", scale=True), "`scale`"),
        (lambda: BahdanauAttention(0), "`units`"),
        (lambda: LuongAttention("concat", units=0), "`units`"),
        (
            lambda: LuongAttention("concat").project_memory(MEMORY),
            "must be built for `project_memory`",
        ),
        (lambda: LuongAttention()(QUERY, MEMORY[..., :5]), "`query` and `memory`"),
        (lambda: LuongAttention()(QUERY, QUERY), "`memory`"),
        (lambda: LuongAttention()(MEMORY[None], MEMORY), "`query`"),
        (lambda: LuongAttention()(QUERY, MEMORY, mask=MASK[:, :3]), "`mask`.*`memory`"),
        (lambda: LuongAttention()(QUERY, MEMORY, keys=MEMORY[:, :3]), "`keys`"),
        (lambda: LuongAttention()(QUERY, MEMORY, keys=MEMORY[..., :3]), "`keys`"),
        (lambda: BahdanauAttention(2)(QUERY, MEMORY, keys=MEMORY), "`keys`"),
    ],
)
def test_errors_name_the_argument(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@every_layer
@pytest.mark.parametrize("open_shapes", [False, True])
def test_queries_that_share_a_row_of_the_memory(factory, open_shapes):
    layer = factory()
    context, weights, _ = layer(QUERIES, MEMORY, mask=MASK)
    flat = QUERIES.reshape(6, 6)  # two in a row for each of the three memories

    def call(query, memory):
        return layer(query, memory, mask=MASK)[:2]

    if open_shapes:
        signature = [tf.TensorSpec([None, 6]), tf.TensorSpec([None, None, 6])]
        call = tf.function(call, input_signature=signature, autograph=False)
    expected = tf.reshape(context, (6, 6)), tf.reshape(weights, (6, 4))
    assert_close(call(flat, MEMORY), expected)


def test_queries_that_share_nothing_evenly():
    with pytest.raises(
        ValueError, match=r"`query` must have the 3 rows of `memory` or a multiple, got 5 rows"
    ):
        LuongAttention("dot")(QUERIES.reshape(6, 6)[:5], MEMORY)


def test_the_keys_may_come_before_the_first_call():
    layer = BahdanauAttention(4)
    keys = layer.project_memory(MEMORY)
    assert_close(layer(QUERIES, MEMORY, keys=keys)[0], layer(QUERIES, MEMORY)[0])
