"""The decoder's loop with a hand-written gradient against differentiation of its steps."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from keras_seqzoo.layers import (
    GRU,
    LSTM,
    AttentionDecoder,
    BahdanauAttention,
    Elman,
    LuongAttention,
)
from keras_seqzoo.layers.attention import decoder_loop, input_feeding
from tests.layer_checks import assert_close, assert_equal
from tests.properties import examples
from tests.tiers import mostly_slow, slow

CELLS = {
    "elman": Elman,
    "lstm": LSTM,
    "lstm without forget gate": lambda units, **options: LSTM(units, forget_gate=False, **options),
    "gru": GRU,
    "gru without bias": lambda units, **options: GRU(units, use_bias=False, **options),
    "gru reset before": lambda units, **options: GRU(units, reset_after=False, **options),
}


def decoder(cell, score="general", scale=True, units=3, memory=None, dtype="float64", **options):
    size = units if score == "general" else memory
    layer = CELLS[cell](size, dtype=dtype, **options)
    attention = LuongAttention(score, scale=scale, dtype=dtype)
    return AttentionDecoder([layer], attention, 4, input_feeding=True, dtype=dtype)


def make_data(layer, shape, mask, memory_mask, seed, memory=4, features=2):
    """Create the arguments of a call, with an initial state, and build the layer."""
    batch, steps, memory_steps = shape
    random = np.random.default_rng(seed)

    def normal(*shape):
        return tf.constant(random.normal(size=shape).astype("float32"), layer.compute_dtype)

    data = {
        "sequence": normal(batch, steps, features),
        "memory": normal(batch, memory_steps, memory),
        "mask": None if mask is None else tf.constant(mask),
        "memory_mask": None if memory_mask is None else tf.constant(memory_mask),
    }
    layer(data["sequence"], data["memory"])
    layer.set_weights([np.float32(random.normal(size=w.shape)) for w in layer.get_weights()])
    state = layer.get_initial_state(batch)
    data["initial_state"] = tf.nest.map_structure(lambda x: normal(*x.shape), state)
    return data


def differentiate(layer, data, training=True):
    """Return the results of a call and its gradients of inputs, memory, first state and weights."""
    by = [data["sequence"], data["memory"], *tf.nest.flatten(data["initial_state"])]
    by += [variable.value for variable in layer.trainable_variables]
    with tf.GradientTape() as tape:
        tape.watch(by)
        outputs, weights, state = layer(**data, training=training)
        if data["mask"] is not None:  # attention weights at padding are undefined
            weights = tf.where(data["mask"][..., tf.newaxis], weights, tf.zeros((), weights.dtype))
        results = [outputs, weights, *tf.nest.flatten(state)]
        loss = tf.constant(0.0, tf.float64)
        for index, tensor in enumerate(results):
            factors = tf.sin(1.0 + index + tf.range(tf.size(tensor), dtype=tf.float64))
            factors = tf.reshape(factors, tf.shape(tensor))
            loss += tf.reduce_sum(factors * tf.sin(tf.cast(tensor, tf.float64)))
    return results, tape.gradient(loss, by)


def by_differentiation(layer, data):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoder_loop, "has_kernel", lambda decoder: False)
        return differentiate(layer, data)


MASK = np.array([[1, 1, 1], [0, 1, 1], [1, 0, 0], [0, 0, 0]], bool)
MEMORY_MASK = np.array([[1, 1], [0, 1], [1, 0], [0, 0]], bool)


@st.composite
def cases(draw):
    shape = tuple(draw(st.integers(1, 4)) for _ in range(3))
    mask = draw(st.none() | arrays(bool, shape[:2]))
    memory_mask = draw(st.none() | arrays(bool, (shape[0], shape[2])))
    return shape, mask, memory_mask, draw(st.integers(0, 2**32 - 1))


@pytest.mark.hypothesis
@pytest.mark.parametrize("cell", mostly_slow(list(CELLS), "lstm"))
@pytest.mark.parametrize("score", [slow("dot"), "general"])
def test_equals_differentiation_of_the_steps(cell, score):
    @examples(3)
    @example(case=((4, 3, 2), MASK, MEMORY_MASK, 0))
    @given(case=cases())
    def check(case):
        exact = decoder(cell, score, memory=4)
        data = make_data(exact, *case)
        assert input_feeding.has_kernel(exact)
        expected = by_differentiation(exact, data)
        assert_equal(differentiate(exact, data), expected, 1e-10)

        single = decoder(cell, score, memory=4, dtype="float32")
        data = make_data(single, *case)
        assert_equal(differentiate(single, data), expected, 1e-5)

    check()


# The loops alone, and all around them.
@pytest.mark.slow
@pytest.mark.parametrize("jit_compile", [None, True])
@pytest.mark.parametrize("cell", list(CELLS))
def test_compiled_equals_not_compiled(cell, jit_compile):
    layer = decoder(cell, dtype="float32")
    data = make_data(layer, (4, 3, 2), MASK, MEMORY_MASK, 0)
    run = tf.function(lambda: differentiate(layer, data), jit_compile=jit_compile, autograph=False)
    assert_equal(run(), differentiate(layer, data), 1e-5)


def test_graph_with_unknown_shapes():
    layer = decoder("gru", dtype="float32", implementation="loop")
    cases = [
        make_data(layer, shape, np.ones(shape[:2], bool), np.ones(shape[::2], bool), 0)
        for shape in ((2, 3, 4), (3, 1, 2))
    ]
    weights = [array.copy() for array in layer.get_weights()]

    def open_spec(tensor):
        shape = [None] * min(2, tensor.shape.rank) + list(tensor.shape[2:])
        return tf.TensorSpec(
            [None, tensor.shape[1]]
            if tensor.shape.rank == 2 and tensor.dtype != tf.bool
            else shape,
            tensor.dtype,
        )

    signature = tf.nest.map_structure(open_spec, cases[0])
    run = tf.function(
        lambda data: differentiate(layer, data), input_signature=[signature], autograph=False
    )
    for data in cases:
        layer.set_weights(weights)
        assert_equal(run(data), differentiate(layer, data), 1e-5)


def test_mixed_precision():
    exact, mixed = decoder("lstm", dtype="float32"), decoder("lstm", dtype="mixed_bfloat16")
    data = make_data(exact, (4, 3, 2), MASK, MEMORY_MASK, 0)
    make_data(mixed, (4, 3, 2), MASK, MEMORY_MASK, 0)
    expected, actual = differentiate(exact, data), differentiate(mixed, data)
    assert [tensor.dtype.name for tensor in actual[0]] == [
        "bfloat16",
        "float32",
        "bfloat16",
        "float32",
        "bfloat16",
    ]  # outputs, weights, h, c, o
    assert_equal(actual, expected, 0.1)


@pytest.mark.parametrize(
    "layers, attention, options",
    [
        ([GRU(3), GRU(3)], LuongAttention("general"), {}),
        ([GRU(3)], BahdanauAttention(3), {}),
        ([GRU(3)], LuongAttention("concat"), {}),
        ([GRU(3)], LuongAttention("general"), {"residual": True}),
        ([GRU(3, activation="relu")], LuongAttention("general"), {}),
        ([GRU(3, zoneout=0.5)], LuongAttention("general"), {}),
        ([GRU(3, recurrent_dropout=0.5)], LuongAttention("general"), {}),
    ],
)
def test_other_decoders_are_differentiated(layers, attention, options):
    layer = AttentionDecoder(layers, attention, 4, input_feeding=True, **options)
    assert not input_feeding.has_kernel(layer)
    data = make_data(layer, (2, 3, 2), None, None, 0)
    gradients = differentiate(layer, data)[1]
    assert all(np.isfinite(gradient).all() for gradient in gradients)
    outputs, weights, state = layer(**data)
    step_state = data["initial_state"]
    for t in range(3):
        output, attended, step_state = layer.step(
            data["sequence"][:, t], step_state, data["memory"]
        )
        assert_close((output, attended), (outputs[:, t], weights[:, t]))
    assert_close(keras.tree.flatten(step_state), keras.tree.flatten(state))


def test_second_derivatives_are_refused():
    layer = decoder("gru")
    data = make_data(layer, (2, 3, 2), None, None, 0)
    with tf.GradientTape() as outer:
        outer.watch(data["sequence"])
        with tf.GradientTape() as inner:
            inner.watch(data["sequence"])
            loss = tf.reduce_sum(layer(**data)[0] ** 2)
        gradient = inner.gradient(loss, data["sequence"])
    with pytest.raises(NotImplementedError, match="second derivatives"):
        outer.gradient(gradient, data["sequence"])


@pytest.mark.parametrize("input_feeding", [False, True])
@pytest.mark.parametrize("attention", [LuongAttention("general"), BahdanauAttention(3)])
def test_nan_at_padding_does_not_spread(attention, input_feeding):
    layer = AttentionDecoder([GRU(3)], attention, 4, input_feeding, readout="deep")
    data = make_data(layer, (4, 3, 2), MASK, MEMORY_MASK, 0)
    expected = differentiate(layer, data)
    data["sequence"] = tf.where(MASK[..., np.newaxis], data["sequence"], np.nan)
    actual = differentiate(layer, data)
    assert_close(keras.tree.flatten(actual[0]), keras.tree.flatten(expected[0]))
    assert all(np.isfinite(gradient).all() for gradient in actual[1])


def test_masks_of_numbers_and_bad_keys():
    for attention in (LuongAttention("general"), BahdanauAttention(3)):
        layer = AttentionDecoder([GRU(3)], attention, 4, input_feeding=True)
        data = make_data(layer, (4, 3, 2), None, MEMORY_MASK, 0)
        expected = layer(**data)
        data["memory_mask"] = tf.cast(MEMORY_MASK, tf.int32) * 2
        assert_close(layer(**data)[0], expected[0])
        with pytest.raises(ValueError, match="`keys` must have the first two dimensions"):
            layer(**data, keys=tf.zeros([4, 3, 3]))


@pytest.mark.usefixtures("garbage_stays")
def test_a_quantized_join():
    layer = decoder("gru", dtype="float32")
    data = make_data(layer, (4, 3, 2), None, None, 0)
    layer.join.quantize("int8")
    outputs, _, state = layer(**data)
    for t in range(3):
        step = layer.step(data["sequence"][:, t], data["initial_state"], data["memory"])
        data["initial_state"] = step[2]
        assert_close(outputs[:, t], step[0], atol=1e-3)
