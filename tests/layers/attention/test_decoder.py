import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.layers.attention.bahdanau import BahdanauAttention
from keras_seqzoo.layers.attention.decoder import AttentionDecoder
from keras_seqzoo.layers.attention.luong import LuongAttention
from keras_seqzoo.layers.recurrence.bidirectional import Bidirectional
from keras_seqzoo.layers.recurrence.elman import Elman
from keras_seqzoo.layers.recurrence.gru import GRU
from keras_seqzoo.layers.recurrence.lstm import LSTM
from tests.layer_checks import (
    assert_close,
    check_keras_saving,
    check_mixed_precision,
    check_padding_changes_nothing,
    check_saved_model_in_fresh_process,
    check_serialisation,
    check_xla_equals_eager,
)
from tests.layers.reference import elman_step
from tests.tiers import slow


def random(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype("float32")


SEQUENCE, MEMORY = random(3, 4, 2), random(3, 5, 6)
MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [0, 0, 1, 1, 1]], bool)


def decoder(cells=(GRU, LSTM), attention=None, **options):
    layers = [cell(5, dtype=options.get("dtype")) for cell in cells]
    attention = attention or LuongAttention("general", dtype=options.get("dtype"))
    return AttentionDecoder(layers, attention, units=3, **options)


COMBINATIONS = {
    "top": decoder,
    "top feeding": functools.partial(decoder, input_feeding=True),
    "bottom": functools.partial(decoder, attend_from="bottom"),
    "bottom feeding residual": functools.partial(
        decoder, attend_from="bottom", input_feeding=True, residual=True
    ),
    "three residual": functools.partial(
        decoder, cells=(GRU, LSTM, Elman), attend_from="bottom", residual=True
    ),
}
every_combination = pytest.mark.parametrize("factory", COMBINATIONS.values(), ids=COMBINATIONS)


@pytest.mark.parametrize("feeding", [False, True])
def test_numbers(feeding):
    """Luong et al. (2015), equations 5, 7 and 8, one row and one step at a time."""
    layer = decoder([Elman], input_feeding=feeding)
    outputs, weights, state = layer(SEQUENCE, MEMORY, memory_mask=MASK)
    layer.set_weights([w + 0.1 for w in layer.get_weights()])  # biases too
    outputs, weights, state = layer(SEQUENCE, MEMORY, memory_mask=MASK)
    cell = layer.layers[0].get_weights()
    w = layer.attention.kernel.numpy()
    w_o, bias = layer.join.get_weights()
    for row in range(3):
        h, o = np.zeros(5), np.zeros(3)
        memory = MEMORY[row][MASK[row]]
        for t in range(4):
            x = np.concatenate([SEQUENCE[row, t], o]) if feeding else SEQUENCE[row, t]
            h, _ = elman_step(x, [h], *cell)
            exponentials = np.exp([h @ w @ m for m in memory])
            a = exponentials / exponentials.sum()
            o = np.tanh(np.concatenate([a @ memory, h]) @ w_o + bias)
            assert_close(outputs[row, t], o)
            assert_close(weights[row, t][MASK[row]], a)
        assert_close(state["layers"][0][0][row], h)
        if feeding:
            assert_close(state["output"][row], o)
    assert ("output" in state) == feeding


def test_numbers_from_the_bottom():
    """q_t = first(x_t), h_t = upper([q_t; c_t]), o_t = tanh(W_o [c_t; h_t])."""
    layer = decoder([Elman, Elman], attend_from="bottom")
    outputs, _, _ = layer(SEQUENCE, MEMORY)
    first, upper = (recurrent.get_weights() for recurrent in layer.layers)
    w, (w_o, bias) = layer.attention.kernel.numpy(), layer.join.get_weights()
    for row in range(3):
        q = h = np.zeros(5)
        for t in range(4):
            q, _ = elman_step(SEQUENCE[row, t], [q], *first)
            exponentials = np.exp(MEMORY[row] @ w.T @ q)
            c = exponentials / exponentials.sum() @ MEMORY[row]
            h, _ = elman_step(np.concatenate([q, c]), [h], *upper)
            assert_close(outputs[row, t], np.tanh(np.concatenate([c, h]) @ w_o + bias))


@every_combination
def test_steps_equal_the_call_and_states_continue(factory):
    layer = factory()
    outputs, weights, last = layer(SEQUENCE, MEMORY, memory_mask=MASK)
    assert outputs.shape == (3, 4, 3) and weights.shape == (3, 4, 5)
    keys, state = layer.project_memory(MEMORY), layer.get_initial_state(3)
    for t in range(4):
        output, attended, state = layer.step(SEQUENCE[:, t], state, MEMORY, MASK, keys)
        assert_close((output, attended), (outputs[:, t], weights[:, t]))
    assert_close(state, last)

    _, _, state = layer(SEQUENCE[:, :1], MEMORY, memory_mask=MASK)
    rest, _, state = layer(SEQUENCE[:, 1:], MEMORY, MASK, keys=keys, initial_state=state)
    assert_close((rest, state), (outputs[:, 1:], last))


@every_combination
def test_padding_of_the_memory_changes_nothing(factory):
    layer = factory()
    check_padding_changes_nothing(
        lambda memory, mask: layer(SEQUENCE, memory, memory_mask=mask), MEMORY, MASK
    )


@pytest.mark.parametrize("name", [slow("top"), "bottom feeding residual"])
def test_general_checks(name):
    factory = COMBINATIONS[name]
    arguments = {"memory_mask": MASK}
    check_serialisation(factory(), SEQUENCE, MEMORY, **arguments)
    check_mixed_precision(factory, SEQUENCE, MEMORY, **arguments)
    check_keras_saving(factory(), SEQUENCE, MEMORY, **arguments)
    check_saved_model_in_fresh_process(factory(), SEQUENCE, MEMORY, **arguments)


@pytest.mark.slow
@pytest.mark.parametrize("attention", [LuongAttention("general"), BahdanauAttention(3)])
def test_xla_equals_eager(attention):
    feeding = {"input_feeding": True, "attend_from": "bottom", "attention": attention}
    check_xla_equals_eager(decoder(**feeding), SEQUENCE, MEMORY, memory_mask=MASK)
    check_xla_equals_eager(decoder(attention=attention), SEQUENCE, MEMORY, memory_mask=MASK)


@pytest.mark.slow
def test_xla_trains_with_open_shapes():
    # As in `fit`: no dimension but the sizes is known, and dropout draws inside the loop.
    layer = decoder([GRU, GRU], input_feeding=True, dropout=0.3)
    layer(SEQUENCE, MEMORY)

    def gradients(sequence, memory, mask):
        with tf.GradientTape() as tape:
            outputs = layer(sequence, memory, memory_mask=mask, training=True)[0]
            loss = tf.reduce_sum(outputs**2)
        return tape.gradient(loss, layer.trainable_variables)

    signature = [tf.TensorSpec([None, None, 2]), tf.TensorSpec([None, None, 6])]
    signature.append(tf.TensorSpec([None, None], tf.bool))
    compiled = tf.function(gradients, jit_compile=True, input_signature=signature, autograph=False)
    assert all(np.isfinite(g).all() for g in compiled(SEQUENCE, MEMORY, MASK))


def test_the_memory_of_an_lstm_stays_in_float32():
    for feeding in (False, True):
        layer = decoder([LSTM], input_feeding=feeding, dtype="mixed_bfloat16")
        outputs, weights, state = layer(SEQUENCE, MEMORY)
        output, _, state = layer.step(SEQUENCE[:, 0], state, MEMORY)
        assert outputs.dtype == output.dtype == tf.bfloat16 and weights.dtype == tf.float32
        [[h, c]] = state["layers"]
        assert (h.dtype, c.dtype) == (tf.bfloat16, tf.float32)


@pytest.mark.parametrize("feeding", [False, True])
def test_dropout_is_one_mask_for_all_steps(feeding):
    layer = decoder([Elman], input_feeding=feeding, dropout=0.5)
    outputs, _, _ = layer(SEQUENCE, MEMORY, training=True)
    dropped = np.asarray(outputs) == 0.0
    assert dropped.any() and not dropped.all()
    np.testing.assert_array_equal(dropped.all(axis=1), dropped.any(axis=1))


@pytest.mark.parametrize("feeding", [False, True])
def test_dropout_reaches_the_inputs_of_all_layers_above_the_first(feeding):
    for options in ({}, {"attend_from": "bottom"}):
        layer = decoder([GRU, GRU], input_feeding=feeding, dropout=0.5, **options)
        layer.output_dropout.rate = 0.0
        layer(SEQUENCE, MEMORY)
        calls = [layer(SEQUENCE, MEMORY, training=t)[2]["layers"] for t in (False, True)]
        assert not np.allclose(calls[0][1][0], calls[1][1][0])
        if not feeding:
            assert_close(calls[0][0], calls[1][0])


def test_keras_masks_are_found_and_passed_on():
    embedding = keras.layers.Embedding(9, 6, mask_zero=True)
    source, target = embedding(np.array([[3, 4, 0, 0]])), embedding(np.array([[5, 0]]))
    outputs, weights, _ = decoder([GRU])(target, source)
    np.testing.assert_array_equal(weights[..., 2:], 0.0)
    np.testing.assert_array_equal(outputs._keras_mask, [[True, False]])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: decoder([]), "`layers`"),
        (lambda: AttentionDecoder([Bidirectional(GRU(2))], LuongAttention(), 3), "`layers`"),
        (lambda: decoder([GRU], attend_from="middle"), "`attend_from`"),
        (
            lambda: decoder([GRU], attend_from="bottom"),
            '`layers` must be at least two for `attend_from="bottom"`',
        ),
        (lambda: decoder([GRU], dropout=1.0), "`dropout`"),
    ],
)
def test_errors_name_the_argument(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@every_combination
def test_padding_of_the_sequence_changes_nothing(factory):
    layer = factory()
    mask = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1]], bool)
    outputs, _, state = layer(SEQUENCE, MEMORY, mask=mask)
    assert_close(outputs.numpy()[~mask], np.zeros_like(outputs.numpy()[~mask]))
    for row, valid in enumerate(mask):
        alone, _, last = layer(SEQUENCE[row : row + 1, valid], MEMORY[row : row + 1])
        assert_close(outputs.numpy()[row, valid], alone[0])
        for padded, expected in zip(tf.nest.flatten(state), tf.nest.flatten(last), strict=True):
            assert_close(padded[row], expected[0])


def test_a_mask_that_keras_attached_to_the_sequence_is_used():
    ids = np.array([[3, 4, 0, 0], [0, 5, 6, 7]], "int32")
    embedded = keras.layers.Embedding(8, 2, mask_zero=True)(ids)
    outputs, _, _ = decoder(input_feeding=True)(embedded, MEMORY[:2])
    assert (np.abs(outputs.numpy()).max(-1) > 0).tolist() == (ids > 0).tolist()


def test_a_mask_of_the_wrong_shape():
    with pytest.raises(ValueError, match="`mask`"):
        decoder()(SEQUENCE, MEMORY, mask=MASK)


@pytest.mark.parametrize(
    "layers, attention, options, message",
    [
        ([GRU(3, go_backwards=True)], LuongAttention("general"), {}, "must go forwards"),
        ([GRU(3, dtype="float64")], LuongAttention("general"), {}, "'.*attention.*' has float32"),
        (
            [GRU(3), GRU(3, dtype="mixed_bfloat16")],
            LuongAttention("general"),
            {},
            "'gru.*' has bfloat16",
        ),
        ([GRU(3)], LuongAttention("general"), {"dtype": "float64"}, "`layers` must have the dtype"),
    ],
)
def test_parts_that_do_not_match(layers, attention, options, message):
    with pytest.raises(ValueError, match=message):
        AttentionDecoder(layers, attention, 4, **options)


def test_dtype_is_the_dtype_of_the_layers():
    layer = AttentionDecoder(
        [GRU(3, dtype="float64")], LuongAttention("general", dtype="float64"), 4
    )
    outputs, weights, _ = layer(SEQUENCE, MEMORY)
    assert outputs.dtype == weights.dtype == tf.float64
