import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.layers.recurrence.bidirectional import Bidirectional
from keras_seqzoo.layers.recurrence.elman import Elman
from keras_seqzoo.layers.recurrence.gru import GRU
from keras_seqzoo.layers.recurrence.lstm import LSTM
from keras_seqzoo.layers.recurrence.stack import Stack
from tests.layer_checks import (
    assert_close,
    check_keras_saving,
    check_mixed_precision,
    check_padding_changes_nothing,
    check_saved_model_in_fresh_process,
    check_serialisation,
    check_xla_equals_eager,
)
from tests.seeds import random_generator
from tests.tiers import slow

RANDOM = random_generator(11)
SEQUENCE = RANDOM.normal(size=(4, 5, 2)).astype("float32")
MASK = np.array([[0, 0, 1, 1, 1], [1, 1, 0, 0, 0], [0, 1, 0, 1, 0], [0, 0, 0, 0, 0]], bool)
FIRST = [2, 0, 1, 0]  # first and last valid steps; any in the row that is all padding
LAST = [4, 1, 3, 0]
ROWS = np.arange(4)
both_outputs = pytest.mark.parametrize("sequences", [True, False])


def mixed_stack(dtype=None, **options):
    """Bidirectional at the bottom, LSTM, GRU: sizes 2 -> 6 -> 3 -> 3."""
    layers = [
        Bidirectional(GRU(3, dtype=dtype)),
        LSTM(3, dtype=dtype),
        GRU(3, dtype=dtype),
    ]
    return Stack(layers, **options)


def in_sequence_mode(layer, sequence, mask):
    """The outputs of a layer of a stack for all steps, in time order."""
    kept = layer.return_sequences
    layer.return_sequences = True
    output, *_ = layer(sequence, mask=mask)
    layer.return_sequences = kept
    return np.array(output[:, ::-1] if getattr(layer, "go_backwards", False) else output)


@both_outputs
def test_layers_run_one_after_the_other(sequences):
    stack = mixed_stack(return_sequences=sequences, return_state=True)
    output, *states = stack(SEQUENCE, mask=MASK)
    expected = SEQUENCE
    for layer, state in zip(stack.layers, states, strict=True):
        inputs = expected
        assert_close(state, layer.pack_states(layer(inputs, mask=MASK)[1:]))
        expected = in_sequence_mode(layer, inputs, MASK)
    assert_close(output, expected if sequences else stack.layers[-1](inputs, mask=MASK)[0])
    assert isinstance(states[0], dict) and [len(s) for s in states[1:]] == [2, 1]


@both_outputs
def test_residual_adds_the_input_and_projects_where_sizes_differ(sequences):
    stack = mixed_stack(residual=True, return_sequences=sequences)
    output = stack(SEQUENCE, mask=MASK)
    assert [p is None for p in stack.projections] == [False, False, True]
    expected = np.where(MASK[..., None], SEQUENCE, 0)
    for layer, projection in zip(stack.layers, stack.projections, strict=True):
        inputs = expected
        added = inputs if projection is None else inputs @ projection.kernel.numpy()
        expected = in_sequence_mode(layer, inputs, MASK) + added
    if not sequences:
        expected = expected[ROWS, LAST]
    assert_close(output, expected)
    assert not np.any(output[~MASK] if sequences else output[3])


@pytest.mark.parametrize("masked", [True, False])
def test_residual_of_a_last_output_is_the_step_it_belongs_to(masked):
    mask = MASK if masked else None
    valid = np.where(MASK[..., None], SEQUENCE, 0) if masked else SEQUENCE
    first = valid[ROWS, FIRST] if masked else SEQUENCE[:, 0]
    last = valid[ROWS, LAST] if masked else SEQUENCE[:, -1]
    for layer, added in (
        (GRU(2), last),
        (GRU(2, go_backwards=True), first),
        (Bidirectional(GRU(2), merge_mode="sum"), (first + last) / 2),
    ):
        stack = Stack([layer], residual=True)
        assert_close(stack(SEQUENCE, mask=mask), layer(SEQUENCE, mask=mask)[0] + added)


@both_outputs
def test_backward_layers_keep_the_order_of_time(sequences):
    stack = Stack(
        [GRU(2, go_backwards=True), LSTM(2, go_backwards=True)],
        residual=True,
        return_sequences=sequences,
    )
    turned = Stack([GRU(2), LSTM(2)], residual=True, return_sequences=sequences)
    turned.build(SEQUENCE.shape)
    output = stack(SEQUENCE, mask=MASK)
    turned.set_weights(stack.get_weights())
    expected = turned(SEQUENCE[:, ::-1], mask=MASK[:, ::-1])
    assert_close(output, expected[:, ::-1] if sequences else expected)


def test_equals_stacked_keras_layers():
    stack = Stack([GRU(3), LSTM(4)])
    theirs = keras.Sequential([keras.layers.GRU(3, return_sequences=True), keras.layers.LSTM(4)])
    expected = theirs(SEQUENCE)
    stack.build(SEQUENCE.shape)
    stack.set_weights(theirs.get_weights())
    assert_close(stack(SEQUENCE), expected)


@pytest.mark.slow
@pytest.mark.parametrize("residual", [False, True])
def test_general_checks(residual):
    make = functools.partial(
        mixed_stack,
        residual=residual,
        dropout=0.3,
        variational=residual,
        return_sequences=not residual,
        return_state=True,
        seed=3,
    )
    stack = make()
    arguments = {"mask": MASK, "initial_state": random_states()}
    check_serialisation(stack, SEQUENCE, **arguments)
    check_xla_equals_eager(stack, SEQUENCE, **arguments)
    check_keras_saving(stack, SEQUENCE, **arguments)
    check_saved_model_in_fresh_process(stack, SEQUENCE, **arguments)
    check_padding_changes_nothing(lambda s, m: stack(s, mask=m), SEQUENCE, MASK)
    check_mixed_precision(functools.partial(make, dropout=0.0), SEQUENCE, **arguments)


def random_states():
    def state():
        return RANDOM.normal(size=(4, 3)).astype("float32")

    return [{"forward": [state()], "backward": [state()]}, [state(), state()], [state()]]


@pytest.mark.parametrize("residual", [False, True])
def test_steps_one_by_one_give_the_whole(residual):
    stack = Stack(
        [LSTM(3), GRU(2), Elman(2)], residual=residual, return_sequences=True, return_state=True
    )
    states = stack.get_initial_state(4)
    outputs = []
    for inputs in np.swapaxes(SEQUENCE, 0, 1):
        output, states = stack.step(inputs, states)
        outputs.append(output)
    assert_close((tf.stack(outputs, 1), states), stack(SEQUENCE))
    with pytest.raises(ValueError, match="`layers`.* for `step`, got Bidirectional"):
        mixed_stack().step(SEQUENCE[:, 0], [])


def transparent(layer):
    """Set weights of an Elman layer that pass its input through."""
    layer.build((None, None, 8))
    layer.set_weights([np.eye(8), np.zeros((8, 8)), np.zeros(8)])
    return layer


@pytest.mark.parametrize("jit", [False, slow(True)])
@pytest.mark.parametrize("variational", [False, True])
def test_dropout_between_layers(variational, jit):
    layers = [transparent(Elman(8, activation="linear")) for _ in range(2)]
    stack = Stack(layers, dropout=0.5, variational=variational, return_sequences=True, seed=1)
    ones = tf.ones((3, 6, 8))
    np.testing.assert_array_equal(stack(ones), ones)
    run = tf.function(lambda: stack(ones, training=True), jit_compile=jit, autograph=False)
    first, second = run().numpy(), run().numpy()
    assert set(np.unique(first)) == {0.0, 2.0}  # dropped once, and scaled once
    assert np.any(first != second)
    assert np.all(first == first[:, :1]) == variational
    stepped, _ = stack.step(ones[:, 0], stack.get_initial_state(3), training=True)
    assert set(np.unique(stepped)) == {0.0, 2.0}
    assert np.all(Stack([layers[0]], dropout=0.9)(ones, training=True) == 1.0)


def test_one_layer_may_start_from_a_state_and_the_rest_from_zero():
    stack = Stack([GRU(3), LSTM(3)], return_state=True)
    state = RANDOM.normal(size=(4, 3)).astype("float32")
    zeros = stack.get_initial_state(4)
    expected = stack(SEQUENCE, initial_state=[[state], zeros[1]])
    assert_close(stack(SEQUENCE, initial_state=[[state], None]), expected)
    sequence, symbolic = keras.Input((None, 2)), keras.Input((3,))
    output, *states = stack(sequence, initial_state=[[symbolic], None])
    model = keras.Model([sequence, symbolic], [output, *states])
    assert_close(model([SEQUENCE, state]), expected)


def test_keras_masks_flow_through():
    ids = np.array([[4, 5, 0, 0], [0, 7, 0, 3]])
    embedding = keras.layers.Embedding(9, 2, mask_zero=True)
    stack, last = mixed_stack(residual=True, return_sequences=True), GRU(2)
    model = keras.Sequential([embedding, stack, last])
    expected = stack(np.array(embedding(ids)), mask=ids != 0)
    assert_close(model(ids), last(np.array(expected), mask=ids != 0))


def test_memory_stays_in_float32():
    stack = mixed_stack("mixed_bfloat16", return_state=True)
    states = stack.get_initial_state(4)
    states[1][1] = np.full((4, 3), 1 + 2**-12, "float32")
    output, *final = stack(SEQUENCE, mask=np.zeros((4, 5), bool), initial_state=states)
    assert output.dtype == tf.bfloat16
    np.testing.assert_array_equal(final[1][1], states[1][1])


@pytest.mark.slow
def test_fit_under_xla():
    stack = mixed_stack(residual=True, dropout=0.1, variational=True)
    model = keras.Sequential([stack, keras.layers.Dense(1)])
    model.compile("sgd", "mse", jit_compile=True)
    losses = model.fit(SEQUENCE, 3 * np.ones((4, 1)), epochs=3, verbose=0).history["loss"]
    assert losses[2] < losses[0]


def test_errors_name_the_argument():
    with pytest.raises(ValueError, match="`layers`"):
        Stack([])
    with pytest.raises(TypeError, match="`layers`"):
        Stack([keras.layers.GRU(3)])
    with pytest.raises(ValueError, match="`layers`.*merge_mode=None"):
        Stack([Bidirectional(GRU(3), merge_mode=None)])
    layer = GRU(3)
    with pytest.raises(ValueError, match="twice"):
        Stack([layer, layer])
    with pytest.raises(ValueError, match="`dropout`"):
        Stack([GRU(3)], dropout=1.0)
    stack = Stack([GRU(3), GRU(3)])
    with pytest.raises(
        ValueError, match="`initial_state`.*one entry for each of its 2 layers, got 1"
    ):
        stack(SEQUENCE, initial_state=[[np.zeros((4, 3), "float32")]])
    both, flat = Stack([Bidirectional(GRU(3))]), [np.zeros((4, 3), "float32")] * 2
    for sequence in (SEQUENCE, keras.Input((5, 2))):
        with pytest.raises(
            ValueError,
            match="`initial_state`.*in a Stack.*dict.*'forward' and 'backward', got list",
        ):
            both(sequence, initial_state=[flat])
    with pytest.raises(ValueError, match="`mask`"):
        stack(SEQUENCE, mask=MASK[:, :3])
    with pytest.raises(ValueError, match="ndim=3"):
        stack(SEQUENCE[0])


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_layers_of_different_dtypes(activation):
    layers = [GRU(3, dtype="mixed_bfloat16"), GRU(3, activation=activation, dtype="float32")]
    stack = Stack(layers, residual=True, return_sequences=True)
    assert stack(SEQUENCE).shape == (4, 5, 3)
    output, _ = stack.step(SEQUENCE[:, 0], stack.get_initial_state(4))
    assert output.dtype == stack.compute_dtype


def test_missing_states_of_a_step():
    with pytest.raises(ValueError, match="`states` of GRU 'own' must be a list of 1 tensor"):
        GRU(3, name="own").step(SEQUENCE[:, 0], None)
