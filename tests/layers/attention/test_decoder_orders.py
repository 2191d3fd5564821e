"""The decoder orders of the books against NumPy, and the state of a sequential attention."""

import functools

import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.layers import (
    GRU,
    LSTM,
    AttentionDecoder,
    BahdanauAttention,
    Elman,
    LuongAttention,
)
from tests.layer_checks import (
    assert_close,
    check_keras_saving,
    check_mixed_precision,
    check_padding_changes_nothing,
    check_serialisation,
    check_xla_equals_eager,
)
from tests.layers.attention.test_sequential import Cooling, Past
from tests.layers.reference import elman_step, gru_reset_after_step
from tests.tiers import mostly_slow


def random(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype("float32")


SEQUENCE, MEMORY = random(3, 4, 2), random(3, 5, 6)
MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [0, 0, 1, 1, 1]], bool)
STEPS = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1]], bool)


def decoder(cells=(GRU,), parts=(), units=3, score="general", dtype=None, **options):
    attention = {"dtype": dtype}
    if "past" in parts:
        attention["terms"] = [Past(dtype=dtype)]
    if "cooling" in parts:
        attention["weighting"] = Cooling(dtype=dtype)
    if score == "general":
        attention = LuongAttention("general", **attention)
    else:
        attention = BahdanauAttention(4, **attention)
    layers = [cell(5, dtype=dtype) for cell in cells]
    return AttentionDecoder(layers, attention, units, dtype=dtype, **options)


ORDERS = {
    "before": functools.partial(decoder, attend="before"),
    "before bottom feeding": functools.partial(
        decoder, [LSTM, GRU], attend="before", attend_from="bottom", input_feeding=True
    ),
    "before state": functools.partial(
        decoder, [GRU, Elman], attend="before", units=None, readout="state", residual=True
    ),
    "between": functools.partial(decoder, [GRU, GRU], attend="between", score="bahdanau"),
    "between lstm": functools.partial(
        decoder, [LSTM, LSTM, GRU], attend="between", units=None, readout="concat"
    ),
    "context feeding": functools.partial(
        decoder, context_feeding=True, units=None, readout="concat"
    ),
    "both feedings": functools.partial(decoder, context_feeding=True, input_feeding=True),
    "deep": functools.partial(decoder, readout="deep"),
    "deep before": functools.partial(decoder, attend="before", readout="deep"),
    "deep input feeding": functools.partial(decoder, input_feeding=True, readout="deep"),
    "deep between": functools.partial(decoder, [GRU, GRU], attend="between", readout="deep"),
    "deep feeding": functools.partial(
        decoder, context_feeding=True, input_feeding=True, readout="deep"
    ),
    "past": functools.partial(decoder, parts=["past"]),
    "past bottom": functools.partial(
        decoder, [GRU, LSTM], parts=["past", "cooling"], attend_from="bottom"
    ),
    "past feeding": functools.partial(decoder, parts=["past"], input_feeding=True),
    "past between": functools.partial(
        decoder, [GRU, GRU], parts=["past", "cooling"], attend="between"
    ),
    "cooling": functools.partial(decoder, parts=["cooling"]),
}
every_order = pytest.mark.parametrize("factory", ORDERS.values(), ids=ORDERS)


def call(layer):
    """Run a layer with weights that are nowhere zero, and return its results."""
    layer(SEQUENCE, MEMORY, memory_mask=MASK)
    layer.set_weights([w + 0.1 for w in layer.get_weights()])
    return layer(SEQUENCE, MEMORY, memory_mask=MASK)


def attend(layer, query, memory):
    exponentials = np.exp(memory @ layer.attention.kernel.numpy().T @ query)
    weights = exponentials / exponentials.sum()
    return weights @ memory, weights


def join(layer, *parts):
    kernel, bias = layer.join.get_weights()
    return np.tanh(np.concatenate(parts) @ kernel + bias)


def test_attention_before_the_recurrence():
    """Bahdanau et al. (2015), appendix A.2: c_t of h_{t-1} is an input of h_t."""
    layer = decoder([Elman], attend="before")
    outputs, weights, state = call(layer)
    for row in range(3):
        h = np.zeros(5)
        for t in range(4):
            c, a = attend(layer, h, MEMORY[row][MASK[row]])
            x = np.concatenate([SEQUENCE[row, t], c])
            h, _ = elman_step(x, [h], *layer.layers[0].get_weights())
            assert_close(weights[row, t][MASK[row]], a)
            assert_close(outputs[row, t], join(layer, c, h))
        assert_close(state["layers"][0][0][row], h)


def test_the_decoder_of_jurafsky_and_martin():
    """Section 13.8: the softmax reads the state alone."""
    layer = decoder([Elman, Elman], units=None, attend="before", readout="state")
    outputs, _, _ = call(layer)
    for row in range(3):
        h = [np.zeros(5), np.zeros(5)]
        for t in range(4):
            c, _ = attend(layer, h[1], MEMORY[row][MASK[row]])
            x = np.concatenate([SEQUENCE[row, t], c])
            for depth, recurrent in enumerate(layer.layers):
                x, _ = elman_step(x, [h[depth]], *recurrent.get_weights())
                h[depth] = x
            assert_close(outputs[row, t], x)


def test_attention_before_the_recurrence_from_the_bottom():
    layer = decoder([Elman, Elman], attend="before", attend_from="bottom")
    _, weights, state = call(layer)
    first = layer.layers[0].get_weights()
    for row in range(3):
        h = np.zeros(5)
        for t in range(4):
            c, a = attend(layer, h, MEMORY[row][MASK[row]])
            assert_close(weights[row, t][MASK[row]], a)
            h, _ = elman_step(np.concatenate([SEQUENCE[row, t], c]), [h], *first)
        assert_close(state["layers"][0][0][row], h)


@pytest.mark.parametrize("readout", ["tanh", "deep"])
def test_conditional_gru(readout):
    """Sennrich et al. (2017): s' = GRU1(y, s), c of s', s = GRU2(c, s'); the output reads y too."""
    layer = decoder([GRU, GRU], attend="between", readout=readout)
    outputs, weights, state = call(layer)
    first, second = (recurrent.get_weights() for recurrent in layer.layers)
    for row in range(3):
        s = np.zeros(5)
        for t in range(4):
            between, _ = gru_reset_after_step(SEQUENCE[row, t], [s], *first)
            c, a = attend(layer, between, MEMORY[row][MASK[row]])
            s, _ = gru_reset_after_step(c, [between], *second)
            assert_close(weights[row, t][MASK[row]], a)
            token = [SEQUENCE[row, t]] if readout == "deep" else []
            assert_close(outputs[row, t], join(layer, c, s, *token))
        assert_close(state["layers"], [[state["layers"][0][0]]])  # one state for both
        assert_close(state["layers"][0][0][row], s)


def test_a_readout_of_the_token_with_input_feeding():
    """The token is what the output reads, not the output that is fed beside it."""
    layer = decoder([Elman], input_feeding=True, readout="deep")
    outputs, _, _ = call(layer)
    for row in range(3):
        h, o = np.zeros(5), np.zeros(3)
        for t in range(4):
            x = np.concatenate([SEQUENCE[row, t], o])
            h, _ = elman_step(x, [h], *layer.layers[0].get_weights())
            c, _ = attend(layer, h, MEMORY[row][MASK[row]])
            o = join(layer, c, h, SEQUENCE[row, t])
            assert_close(outputs[row, t], o)


def test_the_decoder_of_neubig():
    """Neubig (2017), equations 73 to 76: c_{t-1} is fed, and the softmax reads [h; c]."""
    layer = decoder([Elman], units=None, context_feeding=True, readout="concat")
    outputs, weights, state = call(layer)
    assert outputs.shape == (3, 4, 11) and layer.output_size == 11
    for row in range(3):
        h, c = np.zeros(5), np.zeros(6)
        for t in range(4):
            x = np.concatenate([SEQUENCE[row, t], c])
            h, _ = elman_step(x, [h], *layer.layers[0].get_weights())
            c, a = attend(layer, h, MEMORY[row][MASK[row]])
            assert_close(weights[row, t][MASK[row]], a)
            assert_close(outputs[row, t], np.concatenate([h, c]))
        assert_close(state["context"][row], c)


@every_order
def test_steps_equal_the_call_and_states_continue(factory):
    layer = factory()
    outputs, weights, last = call(layer)
    keys, state = layer.project_memory(MEMORY), layer.get_initial_state(3, MEMORY, MASK)
    for t in range(4):
        output, attended, state = layer.step(SEQUENCE[:, t], state, MEMORY, MASK, keys)
        assert_close((output, attended), (outputs[:, t], weights[:, t]))
    tf.nest.assert_same_structure(state, last)
    assert_close(state, last)

    _, _, state = layer(SEQUENCE[:, :1], MEMORY, memory_mask=MASK)
    rest, _, state = layer(SEQUENCE[:, 1:], MEMORY, MASK, keys=keys, initial_state=state)
    assert_close((rest, state), (outputs[:, 1:], last))


@pytest.mark.parametrize(
    "factory",
    mostly_slow(ORDERS, "before bottom feeding", "between lstm", "deep feeding", "past between"),
)
def test_padding_changes_nothing(factory):
    layer = factory()
    call(layer)
    check_padding_changes_nothing(
        lambda memory, mask: layer(SEQUENCE, memory, memory_mask=mask), MEMORY, MASK
    )
    outputs, _, state = layer(SEQUENCE, MEMORY, mask=STEPS)
    np.testing.assert_array_equal(outputs.numpy()[~STEPS], 0.0)
    for row, valid in enumerate(STEPS):
        alone, _, last = layer(SEQUENCE[row : row + 1, valid], MEMORY[row : row + 1])
        assert_close(outputs.numpy()[row, valid], alone[0])
        for padded, expected in zip(tf.nest.flatten(state), tf.nest.flatten(last), strict=True):
            assert_close(padded[row], expected[0])


@pytest.mark.parametrize("factory", mostly_slow(ORDERS, "before bottom feeding"))
def test_general_checks(factory):
    check_serialisation(factory(), SEQUENCE, MEMORY, memory_mask=MASK)
    check_mixed_precision(factory, SEQUENCE, MEMORY, memory_mask=MASK)
    check_keras_saving(factory(), SEQUENCE, MEMORY, memory_mask=MASK)


@pytest.mark.slow
@every_order
def test_xla_equals_eager(factory):
    check_xla_equals_eager(factory(), SEQUENCE, MEMORY, memory_mask=MASK)


@pytest.mark.slow
@pytest.mark.parametrize("factory", mostly_slow(ORDERS, "past"))
def test_xla_trains_with_open_shapes(factory):
    layer = factory(dropout=0.3)
    layer(SEQUENCE, MEMORY)

    def gradients(sequence, memory, mask, steps):
        with tf.GradientTape() as tape:
            outputs = layer(sequence, memory, memory_mask=mask, mask=steps, training=True)[0]
            loss = tf.reduce_sum(outputs**2)
        return tape.gradient(loss, layer.trainable_variables)

    signature = [tf.TensorSpec([None, None, 2]), tf.TensorSpec([None, None, 6])]
    signature += [tf.TensorSpec([None, None], tf.bool)] * 2
    compiled = tf.function(gradients, jit_compile=True, input_signature=signature, autograph=False)
    assert all(np.isfinite(g).all() for g in compiled(SEQUENCE, MEMORY, MASK, STEPS))


@pytest.mark.parametrize("factory", [ORDERS["between lstm"], ORDERS["before bottom feeding"]])
def test_dropout(factory):
    layer = factory(dropout=0.5)
    outputs = [layer(SEQUENCE, MEMORY, training=training)[0] for training in (False, False, True)]
    assert_close(outputs[0], outputs[1])
    assert not np.allclose(outputs[0], outputs[2])


@pytest.mark.parametrize(
    ("cells", "options", "message"),
    [
        ([GRU], {"attend": "during"}, "`attend` must be one of after, before, between, got 'duri"),
        ([GRU], {"readout": "sum"}, "`readout` must be one of tanh, deep, concat, state"),
        ([GRU], {"attend": "between"}, "`layers` must begin with two layers of the same state"),
        ([GRU, LSTM], {"attend": "between"}, "`layers` must begin with two layers of the same"),
        ([GRU] * 2, {"attend": "between", "residual": True}, "`residual` must be False"),
        ([GRU] * 2, {"attend": "between", "attend_from": "bottom"}, "`attend_from` must be 'top'"),
        ([GRU], {"attend": "before", "attend_from": "bottom"}, "at least two"),
        ([GRU], {"attend": "before", "context_feeding": True}, "`context_feeding` must be False"),
        ([GRU], {"readout": "concat"}, '`units` must be None with `readout="concat"`, got 3'),
        ([GRU], {"units": None}, "`units` must be an int of at least 1, got None"),
        (
            [GRU],
            {"readout": "concat", "units": None, "input_feeding": True},
            '`input_feeding` must be False with `readout="concat"`.*`context_feeding`',
        ),
        ([GRU], {"readout": "state", "units": None}, '`readout` must be "tanh", "deep" or'),
    ],
)
def test_options_that_contradict_each_other(cells, options, message):
    with pytest.raises(ValueError, match=message):
        decoder(cells, **options)
