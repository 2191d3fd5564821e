import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

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
from tests.seeds import random_generator

RANDOM = random_generator(7)
SEQUENCE = RANDOM.normal(size=(4, 5, 2)).astype("float32")
MASK = np.array([[0, 0, 1, 1, 1], [1, 1, 0, 0, 0], [0, 1, 0, 1, 0], [0, 0, 0, 0, 0]], bool)
MERGE = {
    "concat": lambda f, b: np.concatenate((f, b), -1),
    "sum": lambda f, b: f + b,
    "mul": lambda f, b: f * b,
    "ave": lambda f, b: (f + b) / 2,
    None: lambda f, b: (f, b),
}
INITIAL = [RANDOM.normal(size=(4, 3)).astype("float32") for _ in range(3)]  # h; h and c


def gru_and_lstm(dtype=None, merge_mode="concat", **options):
    """Two directions that differ in kind."""
    forward = GRU(3, dtype=dtype, **options)
    backward = LSTM(3, go_backwards=True, dtype=dtype, **options)
    return Bidirectional(forward, backward, merge_mode=merge_mode)


@pytest.mark.parametrize("sequences", [True, False])
@pytest.mark.parametrize("merge_mode", MERGE)
def test_each_direction_by_itself_and_merged(merge_mode, sequences):
    layer = gru_and_lstm(merge_mode=merge_mode, return_sequences=sequences, return_state=True)
    results = layer(SEQUENCE, mask=MASK, initial_state=INITIAL)
    forward, *forward_states = layer.forward(SEQUENCE, mask=MASK, initial_state=INITIAL[:1])
    # The backward direction, as a forward layer over the turned sequence.
    turned = LSTM(3, return_sequences=sequences, return_state=True)
    turned.build(SEQUENCE.shape)
    turned.set_weights(layer.backward.get_weights())
    backward, *backward_states = turned(
        SEQUENCE[:, ::-1], mask=MASK[:, ::-1], initial_state=INITIAL[1:]
    )
    if sequences:
        backward = backward[:, ::-1]
    output = MERGE[merge_mode](np.array(forward), np.array(backward))
    assert_close(results, (output, forward_states, backward_states))
    assert all(isinstance(tensor, tf.Tensor) for tensor in results)


def test_equals_keras_where_nothing_is_padding():
    ours = Bidirectional(GRU(3, return_sequences=True))
    theirs = keras.layers.Bidirectional(keras.layers.GRU(3, return_sequences=True))
    theirs(SEQUENCE)
    ours.build(SEQUENCE.shape)
    ours.set_weights(theirs.get_weights())
    assert_close(ours(SEQUENCE), theirs(SEQUENCE))


@pytest.mark.slow
@pytest.mark.parametrize("merge_mode", ["concat", None])
def test_general_checks(merge_mode):
    make = functools.partial(
        gru_and_lstm, merge_mode=merge_mode, return_sequences=True, return_state=True
    )
    layer = make()
    arguments = {"mask": MASK, "initial_state": INITIAL}
    check_serialisation(layer, SEQUENCE, **arguments)
    check_xla_equals_eager(layer, SEQUENCE, **arguments)
    check_mixed_precision(make, SEQUENCE, **arguments)
    check_keras_saving(layer, SEQUENCE, **arguments)
    check_saved_model_in_fresh_process(layer, SEQUENCE, **arguments)
    check_padding_changes_nothing(lambda s, m: layer(s, mask=m), SEQUENCE, MASK)


def test_the_copy_has_new_weights_and_the_same_options():
    layer = Bidirectional(GRU(3, reset_after=False, kernel_regularizer="l2", name="read"))
    layer(SEQUENCE)
    assert layer.backward.go_backwards and not layer.backward.cell.reset_after
    assert layer.backward.name == "backward_read"
    assert len(layer.weights) == 6 and len(layer.losses) == 2
    assert np.any(layer.forward.cell.kernel != layer.backward.cell.kernel)


def test_sizes_may_differ():
    layer = Bidirectional(GRU(3), Elman(2, go_backwards=True))
    assert layer(SEQUENCE).shape == (4, 5)
    assert layer.output_size == 5


def test_keras_masks_flow_through():
    ids = np.array([[4, 5, 0, 0], [0, 7, 0, 3]])
    embedding = keras.layers.Embedding(9, 2, mask_zero=True)
    layer, last = Bidirectional(GRU(3, return_sequences=True)), GRU(2)
    model = keras.Sequential([embedding, layer, last])
    expected = layer(np.array(embedding(ids)), mask=ids != 0)
    assert_close(model(ids), last(np.array(expected), mask=ids != 0))
    forward, backward = Bidirectional(GRU(3, return_sequences=True), merge_mode=None)(
        embedding(ids)
    )
    for output in (forward, backward):
        np.testing.assert_array_equal(output._keras_mask, ids != 0)
        np.testing.assert_array_equal(np.any(output, -1), ids != 0)


def test_memory_stays_in_float32():
    layer = gru_and_lstm("mixed_bfloat16", return_state=True)
    memory = np.full((4, 3), 1 + 2**-12, "float32")
    initial = [*[np.zeros((4, 3), "float32")] * 2, memory]
    _, forward, _, kept = layer(SEQUENCE, mask=np.zeros((4, 5), bool), initial_state=initial)
    np.testing.assert_array_equal(kept, memory)
    assert forward.dtype == tf.bfloat16
    zeros = layer.get_initial_state(4)
    assert_close(layer(SEQUENCE, initial_state=zeros), layer(SEQUENCE))


@pytest.mark.slow
def test_fit_under_xla():
    model = keras.Sequential([gru_and_lstm(), keras.layers.Dense(1)])
    model.compile("sgd", "mse", jit_compile=True)
    losses = model.fit(SEQUENCE, np.ones((4, 1)), epochs=2, verbose=0).history["loss"]
    assert losses[1] < losses[0]


def test_errors_name_the_argument():
    with pytest.raises(TypeError, match="`forward`"):
        Bidirectional(keras.layers.GRU(3))
    with pytest.raises(TypeError, match="`backward`"):
        Bidirectional(GRU(3), keras.layers.GRU(3, go_backwards=True))
    with pytest.raises(ValueError, match="`merge_mode`.*'product'"):
        Bidirectional(GRU(3), merge_mode="product")
    with pytest.raises(ValueError, match="`go_backwards`"):
        Bidirectional(GRU(3), GRU(3))
    with pytest.raises(ValueError, match="`return_state`.*must be equal"):
        Bidirectional(GRU(3), GRU(3, go_backwards=True, return_state=True))
    with pytest.raises(ValueError, match="merge_mode='sum'.*3 and 2"):
        Bidirectional(GRU(3), GRU(2, go_backwards=True), merge_mode="sum")
    layer = Bidirectional(GRU(3))
    with pytest.raises(
        ValueError, match="`initial_state`.*1 state.*forward.*1 of the backward.*got 1"
    ):
        layer(SEQUENCE, initial_state=[np.zeros((4, 3), "float32")])
    with pytest.raises(
        ValueError, match="`initial_state`.*1 state.*forward.*1 of the backward.*got dict"
    ):
        layer(keras.Input((5, 2)), initial_state={"forward": None, "backward": None})
    for states in ([np.zeros((4, 3), "float32"), None], [None, None]):
        with pytest.raises(ValueError, match=r"`initial_state`.* must be None or.*got.*\[None\]"):
            layer(SEQUENCE, initial_state=states)
    with pytest.raises(ValueError, match=r"`initial_state`.*\(batch, 3\)"):
        layer(keras.Input((5, 2)), initial_state=[keras.Input((3,)), keras.Input((4,))])
    with pytest.raises(ValueError, match="`mask`"):
        layer(SEQUENCE, mask=MASK[:, :3])
    with pytest.raises(ValueError, match="ndim=3"):
        layer(SEQUENCE[0])
