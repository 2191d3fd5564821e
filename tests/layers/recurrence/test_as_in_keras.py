"""Code for Keras' recurrent layers works with ours: wrappers, arguments, calls."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.layers import (
    GRU,
    LSTM,
    AttentionDecoder,
    Bidirectional,
    Elman,
    GRUCell,
    LuongAttention,
    Recurrent,
    Stack,
)
from tests.layer_checks import assert_close, check_keras_saving, config_equal, leaves
from tests.tiers import mostly_slow, slow

RANDOM = np.random.default_rng(5)
SEQUENCE = RANDOM.normal(size=(3, 5, 2)).astype("float32")
MASK = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1], [1, 0, 0, 0, 0]], bool)
UNITS = 3
LAYERS = {
    "lstm": (LSTM, keras.layers.LSTM),
    "gru": (GRU, keras.layers.GRU),
    "elman": (Elman, keras.layers.SimpleRNN),
    "recurrent": (lambda units, **k: Recurrent(GRUCell(units), **k), keras.layers.GRU),
}
every_layer = pytest.mark.parametrize("name", LAYERS)


def states(count):
    return [RANDOM.normal(size=(3, UNITS)).astype("float32") for _ in range(count)]


def wrapped(name, merge_mode="concat", **options):
    """Our layer and Keras' in `keras.layers.Bidirectional`, with the same weights."""
    ours, theirs = (
        keras.layers.Bidirectional(make(UNITS, **options), merge_mode=merge_mode)
        for make in LAYERS[name]
    )
    for layer in (ours, theirs):
        layer(SEQUENCE)
    shapes = [weight.shape for weight in theirs.get_weights()]
    ours.set_weights([RANDOM.normal(scale=0.7, size=shape) for shape in shapes])
    theirs.set_weights(ours.get_weights())
    return ours, theirs


@pytest.mark.parametrize("merge_mode", mostly_slow(["concat", "sum", "mul", "ave", None], "concat"))
@pytest.mark.parametrize("return_state", [slow(False), True])
@pytest.mark.parametrize("return_sequences", [False, True])
def test_in_keras_bidirectional(return_sequences, return_state, merge_mode):
    options = {"return_sequences": return_sequences, "return_state": return_state}
    ours, theirs = wrapped("lstm", merge_mode, **options)
    for mask in (None, MASK):
        results, expected = ours(SEQUENCE, mask=mask), theirs(SEQUENCE, mask=mask)
        assert len(leaves(results)) == len(leaves(expected))
        assert_close(results, expected)
    symbolic = ours(keras.Input((None, 2)), mask=keras.Input((None,), dtype="bool"))
    shapes = [tensor.shape[1:] for tensor in leaves(symbolic)]
    known = theirs(keras.Input((None, 2)), mask=keras.Input((None,), dtype="bool"))
    assert shapes == [tensor.shape[1:] for tensor in leaves(known)]


@pytest.mark.parametrize("name", mostly_slow(list(LAYERS), "lstm", "recurrent"))
def test_every_layer_in_keras_bidirectional(name):
    ours, theirs = wrapped(name, return_sequences=True, return_state=True)
    assert_close(ours(SEQUENCE, mask=MASK), theirs(SEQUENCE, mask=MASK))
    initial = states(4 if name == "lstm" else 2)
    arguments = {"mask": MASK, "initial_state": initial}
    assert_close(ours(SEQUENCE, **arguments), theirs(SEQUENCE, **arguments))
    twin = keras.layers.Bidirectional.from_config(ours.get_config())
    assert config_equal(twin.get_config(), ours.get_config())
    check_keras_saving(ours, SEQUENCE, mask=MASK)


def test_in_keras_bidirectional_between_other_layers():
    ids = np.array([[4, 5, 0, 0], [2, 7, 3, 0]])
    embedding = keras.layers.Embedding(9, 2, mask_zero=True)
    model, known = (
        keras.Sequential(
            [
                embedding,
                keras.layers.Bidirectional(make(UNITS, return_sequences=True)),
                keras.layers.Bidirectional(make(UNITS)),
            ]
        )
        for make in LAYERS["lstm"]
    )
    known.build((None, None)), model.build((None, None))
    model.set_weights(known.get_weights())
    assert_close(model(ids), known(ids))


@every_layer
def test_time_distributed(name):
    sequences = RANDOM.normal(size=(3, 4, 5, 2)).astype("float32")
    layer = LAYERS[name][0](UNITS)
    outputs = keras.layers.TimeDistributed(layer)(sequences)
    assert_close(outputs, np.stack([layer(sequences[:, i]) for i in range(4)], axis=1))


@pytest.mark.parametrize("activation", ["tanh", "relu"])  # with and without a gradient by hand
def test_dropout_is_one_mask_on_the_input_for_all_steps(activation):
    options = {"kernel_initializer": "identity", "recurrent_initializer": "zeros"}
    layer = Elman(40, activation=activation, return_sequences=True, dropout=0.25, seed=3, **options)
    inputs = RANDOM.uniform(0.1, 0.5, size=(3, 6, 40)).astype("float32")
    plain = layer(inputs)
    assert_close(plain, np.tanh(inputs) if activation == "tanh" else inputs)
    outputs = layer(inputs, training=True).numpy()
    seen = (np.arctanh(outputs) if activation == "tanh" else outputs) / inputs
    np.testing.assert_allclose(seen, np.repeat(seen[:, :1], 6, axis=1), atol=1e-4)
    dropped = seen[:, 0] == 0.0
    np.testing.assert_allclose(seen[:, 0][~dropped], 1 / 0.75, rtol=1e-4)
    assert 0.1 < dropped.mean() < 0.4  # 120 draws at 0.25
    assert np.any(dropped[0] != dropped[1])  # each row has its own
    assert np.any(layer(inputs, training=True) != outputs)  # and each call
    step, _ = layer.step(inputs[:, 0], layer.get_initial_state(3), training=True)
    assert 0.1 < np.mean(step == 0.0) < 0.4


def test_dropout_of_two_directions_and_of_a_decoder_that_is_fed():
    ones = np.ones((2, 4, 30), "float32")
    options = {"kernel_initializer": "identity", "recurrent_initializer": "zeros"}
    both = Bidirectional(Elman(30, dropout=0.5, seed=1, return_sequences=True, **options))
    forward, backward = np.split(both(ones, training=True) == 0.0, 2, axis=-1)
    for dropped in (forward, backward):
        assert np.all(dropped == dropped[:, :1]) and 0.2 < dropped.mean() < 0.8
    assert np.any(forward != backward)
    arguments = ones, ones[:, :, :3]
    for dropout, changes in ((0.0, False), (0.5, True)):
        decoder = AttentionDecoder(
            [GRU(4, dropout=dropout, seed=1)], LuongAttention("general"), 4, input_feeding=True
        )
        difference = decoder(*arguments, training=True)[0] - decoder(*arguments)[0]
        assert np.any(np.abs(difference) > 1e-3) == changes


def test_dropout_in_the_configuration():
    layer = LSTM(UNITS, dropout=0.2)
    assert layer.get_config()["dropout"] == 0.2
    assert LSTM.from_config(layer.get_config()).dropout == 0.2
    with pytest.raises(ValueError, match=r"`dropout` must be in \[0, 1\), got 1.0"):
        LSTM(UNITS, dropout=1.0)


@every_layer
def test_arguments_that_describe_what_the_layer_does(name):
    make = LAYERS[name][0]
    known = {"stateful": False, "unroll": False, "use_cudnn": "auto", "zero_output_for_mask": True}
    layer = make(UNITS, name="read", **known)
    plain = {**make(UNITS, name="read").get_config(), "cell": None}
    assert {**layer.get_config(), "cell": None} == plain
    assert not set(known) & set(layer.get_config())
    make(UNITS, use_cudnn=False)
    if name != "recurrent":
        make(UNITS, use_cudnn=True, implementation="cudnn")


@every_layer
@pytest.mark.parametrize(
    ("argument", "value", "message"),
    [
        ("stateful", True, "must be False, got True. .*`initial_state`.*`return_state=True`"),
        ("unroll", True, 'must be False, got True. .*`implementation="auto"`'),
        ("use_cudnn", True, 'must be False, got True. .*`implementation="cudnn"`'),
        (
            "zero_output_for_mask",
            False,
            "must be True, got False. Outputs at padding are always zero",
        ),
        ("implementation", 2, "must be one of auto, loop, cudnn, got 2"),
    ],
)
def test_arguments_that_ask_for_something_else(name, argument, value, message):
    with pytest.raises(ValueError, match=f"`{argument}` {message}"):
        LAYERS[name][0](UNITS, **{argument: value})


def test_every_argument_of_keras_is_known():
    """All arguments of Keras' layers, at their defaults, but `zero_output_for_mask`."""
    for name in ("lstm", "gru", "elman"):
        ours, theirs = LAYERS[name]
        config = theirs(UNITS).get_config()
        assert config.pop("zero_output_for_mask") is False
        layer = ours(**{**config, "activity_regularizer": "l2"})
        layer(SEQUENCE)
        assert len(layer.losses) == 1
        assert "l2" in str(layer.get_config()["activity_regularizer"]).lower()


@every_layer
@pytest.mark.parametrize("symbolic", [False, True])
def test_a_list_of_inputs_and_states(name, symbolic):
    layer = LAYERS[name][0](UNITS, return_state=True)
    initial = states(2 if name == "lstm" else 1)
    expected = layer(SEQUENCE, initial_state=initial)
    assert_close(layer([SEQUENCE]), layer(SEQUENCE))
    if symbolic:
        inputs = [keras.Input((None, 2)), *[keras.Input((UNITS,)) for _ in initial]]
        layer = keras.Model(inputs, layer(inputs))
    assert_close(layer([SEQUENCE, *initial]), expected)


@every_layer
def test_states_as_the_second_argument(name):
    options = {"return_sequences": True}
    ours, theirs = (make(UNITS, **options) for make in LAYERS[name])
    for layer in (ours, theirs):
        layer(SEQUENCE)
    ours.set_weights(theirs.get_weights())
    initial = states(2 if name == "lstm" else 1)
    assert_close(ours(SEQUENCE, initial, MASK), ours(SEQUENCE, initial_state=initial, mask=MASK))
    assert_close(ours(SEQUENCE, initial), theirs(SEQUENCE, initial), atol=1e-6)


def test_activity_regularizers_of_layers_inside_others():
    def regularized(**options):
        layer = GRU(UNITS, activity_regularizer="l2", return_sequences=True, **options)
        layer(SEQUENCE)
        layer.set_weights([RANDOM.normal(size=weight.shape) for weight in layer.weights])
        expected = 0.01 * np.sum(np.square(layer(SEQUENCE)))
        return layer, expected

    forward, ahead = regularized()
    backward, back = regularized(go_backwards=True)
    both = Bidirectional(forward, backward)
    both(SEQUENCE)
    assert_close(both.losses, [ahead, back])
    layer, expected = regularized()
    stack = Stack([layer, GRU(UNITS)])
    stack(SEQUENCE)
    assert_close(stack.losses, [expected])
    with pytest.raises(ValueError, match="`cell` must not have an `activity_regularizer`"):
        Recurrent(GRUCell(UNITS, activity_regularizer="l2"))
    with pytest.raises(ValueError, match="`layers` must not have an `activity_regularizer`"):
        AttentionDecoder([layer], LuongAttention("dot"), 4)


def test_a_list_of_inputs_and_states_of_several_layers():
    both = Bidirectional(LSTM(UNITS), merge_mode="sum")
    initial = states(4)
    assert_close(both([SEQUENCE, *initial]), both(SEQUENCE, initial_state=initial))
    stack = Stack([GRU(UNITS), LSTM(UNITS)])
    initial = [states(1), states(2)]
    assert_close(stack([SEQUENCE, *initial]), stack(SEQUENCE, initial_state=initial))
    with pytest.raises(ValueError, match="`initial_state` of Stack.*2 state"):
        stack([SEQUENCE, *initial], initial_state=initial)


MASKED = {
    "lstm": functools.partial(LSTM, UNITS),
    "bidirectional": lambda **k: Bidirectional(GRU(UNITS, **k)),
    "stack": lambda **k: Stack([GRU(UNITS)], **k),
}


@pytest.mark.parametrize("dtype", ["int32", "float32", "uint8"])
@pytest.mark.parametrize("make", MASKED.values(), ids=MASKED)
def test_masks_of_numbers(make, dtype):
    layer = make(return_sequences=True)
    expected = layer(SEQUENCE, mask=MASK)
    assert_close(layer(SEQUENCE, mask=MASK.astype(dtype)), expected)
    inputs = keras.Input((None, 2)), keras.Input((None,), dtype=dtype)
    model = keras.Model(inputs, layer(inputs[0], mask=inputs[1]))
    assert_close(model([SEQUENCE, MASK.astype(dtype)]), expected)


@pytest.mark.parametrize("input_feeding", [False, True])
def test_masks_of_numbers_in_an_attention_decoder(input_feeding):
    decoder = AttentionDecoder(
        [GRU(UNITS)], LuongAttention("general"), 4, input_feeding=input_feeding
    )
    expected = decoder(SEQUENCE, SEQUENCE, memory_mask=MASK, mask=MASK)
    numbers = MASK.astype("int32")
    assert_close(decoder(SEQUENCE, SEQUENCE, memory_mask=numbers, mask=numbers), expected)


def test_states_are_returned_flat_and_taken_back():
    layer = Bidirectional(LSTM(UNITS, return_state=True), merge_mode=None)
    forward, backward, *final = layer(SEQUENCE)
    assert_close(final[::2], [forward, backward])  # h of each direction is its last output
    assert_close(layer(SEQUENCE, initial_state=tuple(final)), layer(SEQUENCE, initial_state=final))
    stack = Stack([GRU(UNITS), LSTM(UNITS)], return_state=True)
    output, *final = stack(SEQUENCE)
    assert [len(state) for state in final] == [1, 2]
    assert_close(final[1][0], output)
    again = stack(SEQUENCE, initial_state=tuple(final))
    assert tf.nest.flatten(again)[0].shape == output.shape and np.any(again[0] != output)
