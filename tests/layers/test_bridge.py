import functools

import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.layers.bridge import Bridge
from tests.layer_checks import (
    assert_close,
    check_keras_saving,
    check_mixed_precision,
    check_saved_model_in_fresh_process,
    check_serialisation,
    check_xla_equals_eager,
)


def random(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype("float32")


BELOW = [random(2, 5)]
BOTH = {"forward": [random(2, 3), random(2, 4)], "backward": [random(2, 6), random(2, 7)]}
STATES = [BELOW, BOTH]


def test_tanh_combines_both_directions_of_the_last_layer():
    bridge = Bridge([[3], [2, 4]])
    states = bridge(STATES)
    assert [[state.shape for state in layer] for layer in states] == [[(2, 3)], [(2, 2), (2, 4)]]
    both = np.concatenate(BOTH["backward"] + BOTH["forward"], axis=-1)
    weights = bridge.get_weights()
    assert [w.shape for w in weights] == [(20, 3), (3,), (20, 2), (2,), (20, 4), (4,)]
    expected = [np.tanh(both @ weights[i] + weights[i + 1]) for i in (0, 2, 4)]
    assert_close(states, expected)


def test_tanh_is_the_sum_of_a_product_for_each_direction():
    # Neubig (2017), equation 66: the rows of the one matrix are W_2 and then W_1.
    forward, backward = random(2, 3), random(2, 4)
    bridge = Bridge([[5]])
    [[state]] = bridge([{"forward": [forward], "backward": [backward]}])
    kernel, bias = bridge.get_weights()
    bias += 0.5
    bridge.set_weights([kernel, bias])
    [[state]] = bridge([{"forward": [forward], "backward": [backward]}])
    assert_close(state, np.tanh(forward @ kernel[4:] + backward @ kernel[:4] + bias))


def test_copy_gives_each_layer_its_own_states():
    states = [[random(2, 3), random(2, 3)], [random(2, 4), random(2, 4)]]
    bridge = Bridge([[3, 3], [4, 4]], "copy")
    copied = bridge(states)
    assert [len(layer) for layer in copied] == [2, 2]
    assert_close(copied, states, atol=0, rtol=0)
    assert not bridge.weights


def test_copy_keeps_the_dtypes():
    states = [[tf.constant(random(2, 3), tf.bfloat16), tf.constant(random(2, 3))]]
    [[h, c]] = Bridge([[3, 3]], "copy", dtype="mixed_bfloat16")(states)
    assert (h.dtype, c.dtype) == (tf.bfloat16, tf.float32)


def test_general_checks():
    check_serialisation(Bridge([[3], [2]]), STATES)
    check_serialisation(Bridge([[5]], "copy"), [BELOW])
    check_xla_equals_eager(Bridge([[3], [2]]), STATES)
    check_mixed_precision(functools.partial(Bridge, [[3], [2]]), STATES)
    check_keras_saving(Bridge([[3], [2, 4]]), STATES)
    check_saved_model_in_fresh_process(Bridge([[3], [2]]), STATES)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Bridge([[3]], "sum"), "`kind`"),
        (lambda: Bridge([[4]], "copy")([BELOW]), "`states`"),
        (lambda: Bridge([[5], [5]], "copy")([BELOW]), "`states`"),
        (lambda: Bridge([[5, 5]], "copy")([BELOW, BELOW]), "`states`"),
        (lambda: Bridge([[5, 5]], "copy")([{"forward": BELOW, "backward": BELOW}]), "directions"),
    ],
)
def test_errors_name_the_argument(make, message):
    with pytest.raises(ValueError, match=message):
        make()
