import keras
import numpy as np
import pytest

from keras_seqzoo.layers import SourceSoftmax, TiedSoftmax, VocabularyProjection
from keras_seqzoo.layers.large_softmax import HierarchicalSoftmax
from tests.layer_checks import (
    assert_close,
    check_keras_saving,
    check_mixed_precision,
    check_serialisation,
    check_xla_equals_eager,
)

RANDOM = np.random.default_rng(0)
FEATURES = RANDOM.normal(size=(2, 3, 4))
TOKENS = RANDOM.random((2, 3, 5)).argsort(-1)[..., :3].astype("int32")
PROBABILITIES = RANDOM.dirichlet(np.ones(3), (2, 3)) * [0, 1, 1]
SOURCE = (PROBABILITIES[..., None] * np.eye(5)[TOKENS]).sum(-2)
INPUTS = {
    "features": FEATURES.astype("float32"),
    "source_tokens": TOKENS,
    "source_probabilities": PROBABILITIES.astype("float32"),
}


def make(form="mixture", **options):
    return SourceSoftmax(VocabularyProjection(5, **options), form, **options)


def softmax(x):
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def test_a_mixture():
    layer = make()
    logits = layer(INPUTS)
    kernel, _, gate, _ = layer.get_weights()
    share = 1 / (1 + np.exp(-FEATURES @ gate))
    expected = share * softmax(FEATURES @ kernel) + (1 - share) * SOURCE
    np.testing.assert_allclose(np.exp(logits), expected, rtol=1e-5)


def test_a_bias():
    layer = make("bias")
    logits = layer(INPUTS)
    kernel, _ = layer.get_weights()
    expected = FEATURES @ kernel + np.log(SOURCE + 1e-3) - np.log(1e-3)
    np.testing.assert_allclose(logits, expected, rtol=1e-4)


@pytest.mark.parametrize("form", ["mixture", "bias"])
def test_general_checks(form):
    check_serialisation(make(form), INPUTS)
    check_keras_saving(make(form), INPUTS)
    check_xla_equals_eager(make(form), INPUTS)
    check_mixed_precision(lambda **options: make(form, **options), INPUTS, atol=0.1)


def test_an_output_layer_that_shares_the_embedding():
    embedding = keras.layers.Embedding(5, 3)
    layer = SourceSoftmax(TiedSoftmax(embedding))
    assert layer(INPUTS).shape == (2, 3, 5) and layer.output_layer.projection is not None


def test_any_output_layer_in_a_functional_model():
    layer = SourceSoftmax(HierarchicalSoftmax(5))
    inputs = {name: keras.Input(x.shape[1:], dtype=str(x.dtype)) for name, x in INPUTS.items()}
    model = keras.Model(inputs, layer(inputs))
    assert_close(model(INPUTS), layer(INPUTS))


def test_the_form_is_checked():
    with pytest.raises(ValueError, match="`form` must be one of"):
        make("sum")


def test_a_mask_stays():
    features = keras.layers.Masking()(np.ones((1, 2, 2), "float32"))
    source = {"source_tokens": np.ones((1, 2, 1), "int32")}
    source["source_probabilities"] = np.ones((1, 2, 1), "float32")
    layer = SourceSoftmax(VocabularyProjection(3))
    assert layer({"features": features, **source})._keras_mask is not None
