import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.layers.recurrence.bidirectional import Bidirectional
from keras_seqzoo.layers.recurrence.elman import Elman, ElmanCell
from keras_seqzoo.layers.recurrence.gru import GRU, GRUCell
from keras_seqzoo.layers.recurrence.lstm import LSTM, LSTMCell
from keras_seqzoo.layers.recurrence.recurrent import Recurrent, RecurrentCell
from tests.layer_checks import (
    assert_close,
    check_keras_saving,
    check_padding_changes_nothing,
    check_serialisation,
    check_xla_equals_eager,
    dtype_policy,
    leaves,
    weighted_sum,
)
from tests.tiers import slow

SEQUENCE = np.random.default_rng(5).normal(size=(3, 5, 2)).astype("float32")
MASK = np.array([[0, 1, 1, 1, 0], [0, 0, 0, 0, 0], [1, 0, 0, 1, 0]], bool)
IDS = np.array([[4, 5, 0, 0], [0, 7, 0, 3]])


@keras.saving.register_keras_serializable(package="tests")
class Averages(RecurrentCell):
    """Two running means, projected separately, and an output that is not a state."""

    state_size = [2, 2]
    output_size = 1

    def project(self, inputs, training=False):
        return {"slow": 0.1 * inputs, "fast": 0.5 * inputs}

    def advance(self, projected, states, training=False):
        slow, fast = states
        slow = 0.9 * slow + projected["slow"]
        fast = 0.5 * fast + projected["fast"]
        return tf.reduce_sum(slow * fast, -1, keepdims=True), [slow, fast]


def averages(row):
    slow = fast = np.zeros(2)
    outputs = np.zeros((0, 1))
    for x in row:
        slow, fast = 0.9 * slow + 0.1 * x, 0.5 * fast + 0.5 * x
        outputs = np.append(outputs, [[slow @ fast]], 0)
    return outputs, slow, fast


@pytest.mark.parametrize("sequences", [True, False])
def test_a_user_defined_cell(sequences):
    layer = Recurrent(Averages(), return_sequences=sequences, return_state=True)
    outputs, *states = layer(SEQUENCE, mask=MASK)
    for row in range(3):
        expected, *finals = averages(SEQUENCE[row][MASK[row]])
        if sequences:
            assert_close(outputs[row][MASK[row]], expected)
            assert not np.any(outputs[row][~MASK[row]])
        else:  # zero in the row that is all padding
            assert_close(outputs[row], expected[-1] if len(expected) else np.zeros(1))
        assert_close([state[row] for state in states], finals)
    check_serialisation(layer, SEQUENCE, mask=MASK)
    check_keras_saving(layer, SEQUENCE, mask=MASK)
    check_padding_changes_nothing(lambda s, m: layer(s, mask=m), SEQUENCE, MASK)
    half = Recurrent(Averages(dtype="mixed_bfloat16"))
    assert half(SEQUENCE, mask=MASK).dtype == tf.bfloat16


def test_a_cell_without_its_methods():
    with pytest.raises(NotImplementedError, match="project"):
        RecurrentCell().project(SEQUENCE)
    with pytest.raises(NotImplementedError, match="advance"):
        RecurrentCell().advance(SEQUENCE, [])


@pytest.mark.slow
def test_xla_without_mask_and_with_open_shapes():
    layer = GRU(3, return_sequences=True)
    check_xla_equals_eager(layer, SEQUENCE)

    @tf.function(
        jit_compile=True, input_signature=[tf.TensorSpec((None, None, 2))], autograph=False
    )
    def gradient(sequence):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(sequence) ** 2)
        return tape.gradient(loss, layer.trainable_variables)

    def eager(sequence):
        return gradient.python_function(sequence)

    for sequence in (SEQUENCE, SEQUENCE[:2, :3]):
        sequence = tf.constant(sequence)
        assert_close(gradient(sequence), eager(sequence))


def test_truncated_halves_give_the_whole():
    layer = LSTM(3, return_sequences=True, return_state=True)
    whole, *final = layer(SEQUENCE)
    first, *states = layer(SEQUENCE[:, :2])
    second, *states = layer(SEQUENCE[:, 2:], initial_state=states)
    assert_close((tf.concat((first, second), 1), states), (whole, final))
    empty, *states = layer(SEQUENCE[:, :0], initial_state=states)
    assert empty.shape == (3, 0, 3)
    assert_close(states, final)


@pytest.mark.parametrize("make", [Elman, GRU, LSTM])
def test_steps_one_by_one_give_the_whole(make):
    layer = make(3, return_sequences=True, return_state=True)
    states = layer.get_initial_state(3)
    outputs = []
    for inputs in np.swapaxes(SEQUENCE, 0, 1):
        output, states = layer.step(inputs, tuple(states))
        outputs.append(output)
    assert_close((tf.stack(outputs, 1), states), layer(SEQUENCE))


def test_a_bare_tensor_is_a_state_where_there_is_one():
    layer = GRU(3)
    state = np.ones((3, 3), "float32")
    assert_close(layer(SEQUENCE, initial_state=state), layer(SEQUENCE, initial_state=[state]))


@pytest.mark.parametrize("backwards", [slow(False), True])
def test_keras_masks_flow_through(backwards):
    embedding = keras.layers.Embedding(9, 2, mask_zero=True)
    first = GRU(3, return_sequences=True, go_backwards=backwards)
    second = LSTM(3)
    model = keras.Sequential([embedding, first, second])
    model.build((None, None))
    vectors = embedding(IDS)
    mask = IDS != 0
    middle = first(vectors, mask=mask)
    mask = mask[:, ::-1] if backwards else mask
    np.testing.assert_array_equal(np.any(middle, -1), mask)
    expected = second(np.array(middle), mask=mask)
    assert_close(model(IDS), expected)

    ids = keras.Input((None,), dtype="int32")
    functional = keras.Model(ids, second(first(embedding(ids))))
    assert_close(functional(IDS), expected)
    assert_close(functional.predict(IDS, verbose=0), expected)


def test_the_mask_of_the_sequence_is_used_with_an_initial_state():
    embedding = keras.layers.Embedding(9, 2, mask_zero=True)
    layer = GRU(3, return_sequences=True, return_state=True)
    ids, state = keras.Input((None,), dtype="int32"), keras.Input((3,))
    outputs, final = layer(embedding(ids), initial_state=[state])
    assert outputs.shape == (None, None, 3) and final.shape == (None, 3)
    model = keras.Model([ids, state], [outputs, final])
    initial = np.ones((2, 3), "float32")
    vectors = np.array(embedding(IDS))
    expected = layer(vectors, mask=IDS != 0, initial_state=[initial])
    assert_close(model([IDS, initial]), expected)


def test_an_explicit_mask_in_a_functional_model():
    sequence, mask = keras.Input((None, 2)), keras.Input((None,), dtype="bool")
    layer = LSTM(3, return_state=True)
    model = keras.Model([sequence, mask], layer(sequence, mask=mask))
    assert_close(model([SEQUENCE, MASK]), layer(SEQUENCE, mask=MASK))


def test_encoder_state_starts_a_decoder_in_a_functional_model():
    source, target = keras.Input((None, 2)), keras.Input((None, 2))
    encoder, decoder = LSTM(3, return_state=True), LSTM(3, return_sequences=True)
    _, *states = encoder(source)
    model = keras.Model([source, target], decoder(target, initial_state=states))
    expected = decoder(SEQUENCE, initial_state=encoder(SEQUENCE)[1:])
    assert_close(model([SEQUENCE, SEQUENCE]), expected)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_fit_under_xla(policy):
    with dtype_policy(policy):
        model = keras.Sequential(
            [
                keras.layers.Embedding(9, 4, mask_zero=True),
                GRU(4, return_sequences=True, reset_after=False),
                LSTM(4),
                keras.layers.Dense(1, dtype="float32"),
            ]
        )
        model.compile("sgd", "mse", jit_compile=True)
        assert model.supports_jit
        history = model.fit(IDS, np.array([[1.0], [-1.0]]), epochs=3, verbose=0)
    losses = history.history["loss"]
    assert losses[2] < losses[1] < losses[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "make_keras"),
    [
        (Elman, keras.layers.SimpleRNN),
        (LSTM, keras.layers.LSTM),
        (GRU, keras.layers.GRU),
        (functools.partial(GRU, reset_after=False), None),
    ],
    ids=["elman", "lstm", "gru", "gru_reset_before"],
)
@pytest.mark.parametrize("in_graph", [False, True])
def test_gradients_in_training_equal_those_of_keras(make, make_keras, in_graph):
    make_keras = make_keras or functools.partial(keras.layers.GRU, reset_after=False)
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1], [1, 0, 0, 0, 0]], bool)
    ours, theirs = make(3, return_state=True), make_keras(3, return_state=True)
    for layer in (ours, theirs):
        layer.build(SEQUENCE.shape)
    ours.set_weights(
        [0.7 * np.sin(1.0 + np.arange(w.size)).reshape(w.shape) for w in theirs.get_weights()]
    )
    theirs.set_weights(ours.get_weights())

    def gradients(layer, sequence):
        with tf.GradientTape() as tape:
            tape.watch(sequence)
            results = leaves(layer(sequence, mask=mask, training=True))
            loss = sum(weighted_sum(result) for result in results)
        return tape.gradient(loss, [*layer.trainable_variables, sequence])

    run = tf.function(gradients, autograph=False) if in_graph else gradients
    sequence = tf.constant(SEQUENCE)
    assert_close(run(ours, sequence), run(theirs, sequence), atol=1e-5, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("jit_compile", [False, True])
def test_fit_with_batches_of_different_lengths(jit_compile):
    random = np.random.default_rng(0)

    def batches():
        for length in (3, 5, 5, 3):
            ids = random.integers(1, 9, size=(8, length))
            yield np.where(np.arange(length) < 2 + np.arange(8)[:, None] % 3, ids, 0), ids[:, :1]

    signature = (tf.TensorSpec((None, None), "int64"), tf.TensorSpec((None, 1), "int64"))
    batches = list(batches())
    data = tf.data.Dataset.from_generator(lambda: iter(batches), output_signature=signature)
    model = keras.Sequential(
        [
            keras.layers.Embedding(9, 8, mask_zero=True),
            Bidirectional(GRU(8)),
            keras.layers.Dense(9),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.02), loss, jit_compile=jit_compile, steps_per_execution=2)
    losses = model.fit(
        data.repeat(), epochs=6, steps_per_epoch=4, shuffle=False, verbose=0
    ).history["loss"]
    assert losses[-1] < 0.8 * losses[0]
    assert np.isfinite(model.evaluate(data, steps=4, verbose=0))


def test_the_layer_takes_the_dtype_of_its_cell():
    layer = Recurrent(GRUCell(3, dtype="mixed_float16"))
    assert layer.compute_dtype == "float16"
    assert layer(SEQUENCE).dtype == tf.float16
    output, states = layer.step(SEQUENCE[:, 0], layer.get_initial_state(3))
    assert output.dtype == states[0].dtype == tf.float16
    with pytest.raises(ValueError, match="`dtype` must be .* float32, got float16"):
        Recurrent(GRUCell(3), dtype="float16")


def test_frozen_layers_have_no_trainable_weights():
    layer = GRU(3, trainable=False)
    layer(SEQUENCE)
    assert not layer.trainable_weights and len(layer.weights) == 3


@pytest.mark.parametrize("symbolic", [False, True])
def test_errors_name_the_argument(symbolic):
    layer = LSTM(3, name="memory")
    layer(SEQUENCE)

    def example(*shape, dtype="float32"):
        if symbolic:
            return keras.Input(batch_shape=shape, dtype=dtype)
        return np.zeros(shape, dtype)

    sequence = example(3, 5, 2)
    for shape in ((3, 4), (2, 5), (3,), (3, 5, 1)):
        with pytest.raises(ValueError, match=r"`mask`.*'memory'.*\(3, 5\)"):
            layer(sequence, mask=example(*shape, dtype="bool"))
    with pytest.raises(ValueError, match="ndim=3"):
        layer(example(3, 5))
    with pytest.raises(ValueError, match="`initial_state`.*2 tensor"):
        layer(sequence, initial_state=[example(3, 3)])
    with pytest.raises(ValueError, match=r"`initial_state`.*\(3, 4\)"):
        layer(sequence, initial_state=[example(3, 3), example(3, 4)])


def test_errors_of_construction():
    with pytest.raises(TypeError, match="`cell`"):
        Recurrent(keras.layers.GRUCell(3))
    with pytest.raises(ValueError, match="`inputs` .*last dimension"):
        ElmanCell(3).build((None, None))


def test_cells_take_a_bare_state_as_keras_cells_do():
    cell = GRUCell(3)
    output, state = cell(SEQUENCE[:, 0], np.zeros((3, 3), "float32"))
    assert_close(state, output)
    symbolic, states = LSTMCell(3)(keras.Input((2,)), [keras.Input((3,)), keras.Input((3,))])
    assert symbolic.shape == (None, 3) and len(states) == 2


@pytest.mark.parametrize("axis", [0, slow(1)])
def test_gradient_through_a_gather(axis):
    """It comes as slices, not as a tensor."""
    layer, reference = GRU(3, return_sequences=True), keras.layers.GRU(3, return_sequences=True)
    sequence = np.random.default_rng(0).normal(size=(2, 4, 3)).astype("float32")
    layer(sequence), reference(sequence)
    reference.set_weights(layer.get_weights())

    def gradients(layer):
        with tf.GradientTape() as tape:
            outputs = layer(sequence, training=True)
            loss = tf.reduce_sum(tf.sin(tf.gather(outputs, [0, 1, 1], axis=axis)))
        return tape.gradient(loss, layer.trainable_variables)

    expected = gradients(reference)
    for run in (gradients, tf.function(gradients, autograph=False)):
        for one, other in zip(run(layer), expected, strict=True):
            assert_close(one, other)


@pytest.mark.parametrize("cell", [GRUCell, LSTMCell, ElmanCell])
def test_a_subclass_may_change_the_step(cell):
    class Still(cell):
        def advance(self, projected, states, training=False, **kwargs):
            return tf.zeros_like(states[0]), [tf.zeros_like(state) for state in states]

    layer = Recurrent(Still(3), return_sequences=True)
    assert not np.any(layer(np.ones((2, 4, 3), "float32"), training=True))
