import keras
import numpy as np
import pytest

from keras_seqzoo.models import StackedConvolutionalEncoder
from tests.layer_checks import (
    assert_close,
    check_keras_saving,
    check_saved_model_in_fresh_process,
    check_serialisation,
    check_xla_equals_eager,
)

IDS = np.array([[5, 6, 7, 8, 3], [9, 10, 3, 0, 0], [0, 0, 0, 0, 0]], "int32")


def make(**options):
    keras.utils.set_random_seed(1)
    layer = StackedConvolutionalEncoder(
        keras.layers.Embedding(12, 4), **{"units": 3, "num_layers": 2, **options}
    )
    layer(IDS)
    random = np.random.default_rng(0)
    layer.set_weights([0.5 * random.normal(size=w.shape) for w in layer.get_weights()])
    return layer


def convolve(hidden, kernel, bias):
    """Sums over windows of a sequence `(time, features)`, with zeros beyond its ends."""
    width = len(kernel)
    before = (width - 1) // 2
    steps = np.pad(hidden, [(before, width - 1 - before), (0, 0)])
    windows = [steps[t : t + width] for t in range(len(hidden))]
    return np.array([np.einsum("kf,kfg->g", window, kernel) for window in windows]) + bias


@pytest.mark.parametrize(
    ("activation", "width"), [("tanh", 3), ("glu", 2)], ids=["tanh", "glu of two tokens"]
)
def test_equation(activation, width):
    layer = make(activation=activation, width=width, max_positions=4)
    memory, [[mean]] = layer(IDS, mask=IDS != 0)
    positions = layer.position_embedding.embeddings.numpy()
    kernel, bias = (w.numpy() for w in layer.projection.weights)
    for row, length in enumerate([5, 3, 0]):
        words = layer.embedding.embeddings.numpy()[IDS[row, :length]]
        # The fifth token shares the last of four positions.
        hidden = (2.0 * words + positions[[0, 1, 2, 3, 3][:length]]) @ kernel + bias
        for convolution in layer.convolutions if length else ():
            features = convolve(hidden, *(w.numpy() for w in convolution.weights))
            if activation == "glu":
                features = features[:, :3] / (1.0 + np.exp(-features[:, 3:]))
            hidden = hidden + (np.tanh(features) if activation == "tanh" else features)
        np.testing.assert_allclose(memory[row, :length], hidden, atol=1e-5)
        np.testing.assert_array_equal(memory[row, length:], 0.0)
        expected = hidden.mean(axis=0) if length else np.zeros(3)
        np.testing.assert_allclose(mean[row], expected, atol=1e-5)


def test_an_output_depends_on_its_windows_alone():
    layer = make()  # two layers of three tokens: two tokens to each side
    memory, _ = layer(np.array([[5, 6, 7, 8, 9, 10]]))
    changed, _ = layer(np.array([[5, 6, 7, 8, 9, 11]]))
    np.testing.assert_array_equal(changed[:, :3], memory[:, :3])
    assert not np.isclose(changed[:, 3:], memory[:, 3:]).any()


def test_padding_may_be_on_both_sides_and_hold_anything():
    layer = make()
    memory, [[mean]] = layer(IDS, mask=IDS != 0)
    padded = np.pad(np.where(IDS == 0, 11, IDS), [(0, 0), (2, 1)], constant_values=7)
    other, [[other_mean]] = layer(padded, mask=np.pad(IDS != 0, [(0, 0), (2, 1)]))
    assert_close(other[:, 2:-1], memory)
    assert_close(other_mean, mean)
    empty, _ = layer(IDS[:, :0])
    assert empty.shape == (3, 0, 3)


@pytest.mark.slow
def test_serialises():
    layer = make(activation="glu", dropout=0.3)
    check_serialisation(layer, IDS, mask=IDS != 0)
    check_keras_saving(layer, IDS, mask=IDS != 0)


@pytest.mark.slow
@pytest.mark.parametrize("activation", ["tanh", "glu"])
def test_compiles(activation):
    check_xla_equals_eager(make(activation=activation), IDS, mask=IDS != 0)


@pytest.mark.slow
def test_exports():
    layer = make()
    check_saved_model_in_fresh_process(layer, IDS, mask=IDS != 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"units": 0}, "`units` must be"),
        ({"num_layers": 0}, "`num_layers` must be"),
        ({"width": 1.5}, "`width` must be"),
        ({"activation": "relu"}, "`activation` must be one of tanh, glu, got 'relu'"),
        ({"max_positions": 0}, "`max_positions` must be"),
    ],
)
def test_errors_name_the_argument(options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)


def test_a_mask_of_another_shape_is_an_error():
    with pytest.raises(ValueError, match="`mask` must have the shape.*`token_ids`"):
        make()(IDS, mask=np.ones((3, 2), bool))
