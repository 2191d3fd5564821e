import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.layers.search_steps import for_search_steps
from keras_seqzoo.layers.tied_softmax import TiedSoftmax
from tests.layer_checks import (
    assert_close,
    check_keras_saving,
    check_mixed_precision,
    check_saved_model_in_fresh_process,
    check_serialisation,
    check_xla_equals_eager,
)
from tests.tiers import slow

HIDDEN = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
IDS = np.array([[1, 2, 3], [4, 5, 6]])


def make(depth=4, dtype=None, **kwargs):
    return TiedSoftmax(keras.layers.Embedding(7, depth, dtype=dtype), dtype=dtype, **kwargs)


@pytest.mark.parametrize("depth", [4, 6], ids=["same size", "projected"])
@pytest.mark.parametrize("use_bias", [True, False])
def test_numbers(depth, use_bias):
    layer = make(depth, use_bias=use_bias)
    layer.build(HIDDEN.shape)
    weights = [np.random.default_rng(1).normal(size=w.shape) for w in layer.weights]
    layer.set_weights(weights)
    expected = HIDDEN if depth == 4 else HIDDEN @ layer.projection.kernel.numpy()
    expected = expected @ layer.embedding.embeddings.numpy().T
    if use_bias:
        expected = expected + layer.bias.numpy()
    assert_close(layer(HIDDEN), expected)
    assert_close(layer(HIDDEN[:, 0]), expected[:, 0])


@pytest.mark.parametrize("depth", [slow(4), 6])
def test_general_checks(depth):
    layer = make(depth)
    check_serialisation(layer, HIDDEN)
    check_xla_equals_eager(layer, HIDDEN)
    check_mixed_precision(lambda dtype: make(depth, dtype), HIDDEN)
    check_keras_saving(layer, HIDDEN)
    check_saved_model_in_fresh_process(layer, HIDDEN)


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_logits_are_float32(policy):
    layer = make(6, policy)
    assert layer(HIDDEN).dtype == tf.float32
    assert layer(keras.Input((None, 4))).dtype == "float32"


@pytest.mark.parametrize("depth", [4, 6])
@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16", "int8"])
def test_the_function_for_steps_has_the_results_of_the_layer(depth, policy):
    layer = make(depth, None if policy == "int8" else policy)
    layer.build(HIDDEN.shape)
    layer.bias.assign(np.arange(7.0))
    if policy == "int8":
        layer.embedding.quantize("int8")
    read = for_search_steps(layer)
    for hidden in map(tf.constant, (HIDDEN, HIDDEN[:, 0], HIDDEN[:1, 0])):
        assert_close(read(hidden), layer(hidden), atol=1e-5)
    dense = keras.layers.Dense(3)
    assert for_search_steps(dense) is dense


def test_a_layer_with_a_call_of_its_own_is_not_replaced_in_a_search():
    class Doubled(TiedSoftmax):
        def call(self, hidden):
            return 2.0 * super().call(hidden)

    layer = Doubled(keras.layers.Embedding(7, 4))
    layer.build(HIDDEN.shape)
    assert for_search_steps(layer) is layer


def test_one_variable_gets_the_gradients_of_both_sides():
    layer = make()
    layer(HIDDEN)
    matrix = layer.embedding.embeddings.value
    with tf.GradientTape(persistent=True) as tape:
        read, scored = layer.embedding(IDS[:, :1]), layer(HIDDEN)
        both = tf.reduce_sum(read) + tf.reduce_sum(scored)
    parts = [tf.convert_to_tensor(tape.gradient(y, matrix)) for y in (read, scored)]
    assert_close(tape.gradient(both, matrix), parts[0] + parts[1])
    assert all(np.abs(part).sum() > 0 for part in parts)


def functional_model():
    embedding = keras.layers.Embedding(7, 6, mask_zero=True)
    ids = keras.Input((None,), dtype="int32")
    hidden = keras.layers.Dense(4, activation="tanh")(embedding(ids))
    return keras.Model(ids, TiedSoftmax(embedding)(hidden))


def softmax_first_model():
    """The output layer precedes the embedding in the file, which is not yet built then."""
    embedding = keras.layers.Embedding(7, 6)
    output = TiedSoftmax(embedding)
    ids = keras.Input((None,), dtype="int32")
    start = keras.layers.Dense(4)(keras.ops.one_hot(ids, 3))
    logits = output(start)
    for _ in range(4):  # pushes the embedding to a later depth than the output layer
        logits = keras.layers.Activation("linear")(logits)
    mean = keras.layers.Dense(7)(embedding(ids))
    return keras.Model(ids, logits + mean)


@keras.saving.register_keras_serializable(package="tests")
class Subclassed(keras.Model):
    """A model that creates its layers."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.output_layer = TiedSoftmax(keras.layers.Embedding(7, 6))
        self.hidden = keras.layers.Dense(4)

    def call(self, ids):
        return self.output_layer(self.hidden(self.output_layer.embedding(ids)))


@keras.saving.register_keras_serializable(package="tests")
class Assembled(keras.Model):
    """A model with layers from outside; the output layer comes first in the file."""

    def __init__(self, output_layer, embedding, **kwargs):
        super().__init__(**kwargs)
        self.output_layer = output_layer
        self.embedding = embedding
        self.hidden = keras.layers.Dense(4)

    def call(self, ids):
        return self.output_layer(self.hidden(self.embedding(ids)))

    def get_config(self):
        layers = {"output_layer": self.output_layer, "embedding": self.embedding}
        layers = {k: keras.saving.serialize_keras_object(v) for k, v in layers.items()}
        return {**super().get_config(), **layers}

    @classmethod
    def from_config(cls, config):
        for name in ("output_layer", "embedding"):
            config[name] = keras.saving.deserialize_keras_object(config[name])
        return cls(**config)


def assembled_model():
    embedding = keras.layers.Embedding(7, 6)
    return Assembled(TiedSoftmax(embedding), embedding)


def embedding_matrices(model):
    return [w for w in model.weights if w.path.endswith("embeddings")]


@pytest.mark.parametrize("trained", [slow(False), True], ids=["fresh", "trained"])
@pytest.mark.parametrize(
    "make_model", [functional_model, slow(softmax_first_model), slow(Subclassed), assembled_model]
)
def test_the_embedding_is_one_variable_after_saving(make_model, trained, tmp_path):
    model = make_model()
    expected = model(IDS)
    if trained:
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile("sgd", loss)
        model.fit(IDS, IDS, verbose=0)
        expected = model(IDS)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert_close(loaded(IDS), expected)
    assert len(loaded.weights) == len(model.weights)
    assert len(embedding_matrices(loaded)) == len(embedding_matrices(model)) == 1

    layers = loaded._flatten_layers()
    output = next(layer for layer in layers if isinstance(layer, TiedSoftmax))
    reading = [layer for layer in layers if isinstance(layer, keras.layers.Embedding)]
    assert all(layer is output.embedding for layer in reading)
    loaded.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    before = output.embedding.embeddings.numpy()
    loaded.fit(IDS, IDS, verbose=0)
    assert (output.embedding.embeddings.numpy() != before).any()


def test_weights_files_hold_the_embedding_once(tmp_path):
    model, other = functional_model(), functional_model()
    model.save_weights(tmp_path / "model.weights.h5")
    other.load_weights(tmp_path / "model.weights.h5")
    assert_close(other(IDS), model(IDS))


def test_masks_pass_through():
    logits = functional_model()(np.array([[3, 0]]))
    np.testing.assert_array_equal(logits._keras_mask, [[True, False]])


def test_config_is_json():
    assert json.loads(json.dumps(make().get_config()))["use_bias"] is True


def test_embedding_must_be_one():
    with pytest.raises(TypeError, match="`embedding`.*Dense"):
        TiedSoftmax(keras.layers.Dense(3))
