import functools

import numpy as np
import pytest

from keras_seqzoo.layers import ParallelConvolution
from tests.layer_checks import (
    assert_close,
    check_keras_saving,
    check_mixed_precision,
    check_padding_changes_nothing,
    check_saved_model_in_fresh_process,
    check_serialisation,
    check_xla_equals_eager,
)

SEQUENCE = np.random.default_rng(1).normal(size=(4, 5, 3)).astype("float32")
MASK = np.array([[1, 1, 0, 0, 0], [0, 0, 1, 1, 1], [0, 1, 1, 1, 0], [0, 0, 0, 0, 0]], bool)
WIDTHS = [1, 2, 3, 7]


def numpy_convolution(layer, steps):
    """Compute the features of one sentence `(time, features)`, window by window."""
    outputs = []
    for width, convolution in zip(layer.widths, layer.convolutions, strict=True):
        kernel, bias = (weight.numpy() for weight in convolution.weights)
        before = (width - 1) // 2
        padded = np.pad(steps, [(before, width - 1 - before), (0, 0)])
        windows = [padded[step : step + width] for step in range(len(steps))]
        values = [np.einsum("wf,wfo->o", window, kernel) + bias for window in windows]
        outputs.append(np.maximum(np.reshape(values, (len(steps), layer.filters)), 0.0))
    return np.concatenate(outputs, axis=1)


def test_numbers():
    layer = ParallelConvolution(4, WIDTHS)
    outputs = layer(SEQUENCE, mask=MASK).numpy()
    for row, valid in enumerate(MASK):
        assert_close(outputs[row][valid], numpy_convolution(layer, SEQUENCE[row][valid]))
        assert not outputs[row][~valid].any()
    assert_close(layer(SEQUENCE)[0], numpy_convolution(layer, SEQUENCE[0]))


def test_general_checks():
    layer = ParallelConvolution(4, WIDTHS, activation="tanh")
    check_padding_changes_nothing(lambda s, m: layer(s, mask=m), SEQUENCE, MASK)
    check_serialisation(layer, SEQUENCE, mask=MASK)
    check_xla_equals_eager(layer, SEQUENCE, mask=MASK)
    check_mixed_precision(functools.partial(ParallelConvolution, 4), SEQUENCE, mask=MASK)
    check_keras_saving(layer, SEQUENCE, mask=MASK)
    check_saved_model_in_fresh_process(layer, SEQUENCE, mask=MASK)


def test_errors():
    with pytest.raises(ValueError, match="`filters` must be"):
        ParallelConvolution(0)
    with pytest.raises(ValueError, match="`widths` must be"):
        ParallelConvolution(4, [0])
    with pytest.raises(ValueError, match="`widths` must have at least one"):
        ParallelConvolution(4, [])
    with pytest.raises(ValueError, match="`sequence` must have the shape"):
        ParallelConvolution(4)(SEQUENCE[0])
