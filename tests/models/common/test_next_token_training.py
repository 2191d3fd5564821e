import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.layers import SourceSoftmax, TiedSoftmax, VocabularyProjection
from keras_seqzoo.losses import SequenceCrossentropy
from keras_seqzoo.models.common import next_token_training
from keras_seqzoo.models.common.next_token_training import (
    NextTokenTraining,
    consistent_next_token_loss,
    weighted_log_probability,
)
from tests.layer_checks import dtype_policy
from tests.losses.test_linear_crossentropy import with_gradients
from tests.models.small import SENTENCES, model
from tests.tiers import slow

IDS = np.random.default_rng(0).integers(1, 9, size=(7, 6)).astype("int32")
INPUTS, LABELS = IDS[:, :-1], IDS[:, 1:]
WEIGHT = (np.random.default_rng(1).random(LABELS.shape) < 0.7).astype("float32")
OUTPUT_LAYERS = {
    "tied": lambda embedding: TiedSoftmax(embedding),
    "tied, no bias": lambda embedding: TiedSoftmax(embedding, use_bias=False),
    "projection": lambda embedding: VocabularyProjection(9),
    "dense": lambda embedding: keras.layers.Dense(9),
    "dense, no bias": lambda embedding: keras.layers.Dense(9, use_bias=False),
    "dense, float32": lambda embedding: keras.layers.Dense(9, dtype="float32"),
}
OTHER_LAYERS = {
    "tanh": lambda embedding: keras.layers.Dense(9, activation="tanh"),
    "regularized": lambda embedding: keras.layers.Dense(9, activity_regularizer="l2"),
}


def source_softmax(size=9, form="bias"):
    """A built layer, the tokens of a distribution, and features and probabilities of two passes."""
    layer = SourceSoftmax(VocabularyProjection(size), form)
    layer.build({"features": (None, 4)})
    random = np.random.default_rng(2)
    layer.output_layer.bias.assign(random.normal(size=size))
    tokens = tf.constant(random.random((3, 5, size)).argsort(-1)[..., :4], tf.int32)
    probabilities = np.maximum(0.0, random.random((2, 3, 5, 4)) - 0.5)
    passes = (random.normal(size=(2, 3, 5, 4)), probabilities)
    return layer, tokens, *(tf.constant(x, tf.float32) for x in passes)


@pytest.mark.slow
def test_losses_of_a_softmax_with_a_source_as_bias():
    layer, tokens, features, probabilities = source_softmax()
    labels = np.random.default_rng(3).integers(0, 9, (3, 5))
    weights = np.random.default_rng(4).normal(size=(3, 5)).astype("float32")

    def inputs(features, probabilities):
        names = ("features", "source_tokens", "source_probabilities")
        return dict(zip(names, (features, tokens, probabilities), strict=True))

    def log_probabilities(hidden):
        logs = tf.nn.log_softmax(layer(hidden))
        return logs, tf.gather(logs, labels, batch_dims=2)

    def expected_score(*one):
        return tf.reduce_sum(weights * log_probabilities(inputs(*one))[1])

    def expected_consistency(x, y, q, r):
        (p, here), (q, there) = (log_probabilities(inputs(*own)) for own in ((x, q), (y, r)))
        divergence = tf.reduce_sum((tf.exp(p) - tf.exp(q)) * (p - q), -1) / 2
        return tf.reduce_mean(3.0 * divergence - (here + there) / 2)

    for found, expected, given in (
        (
            lambda x, q: weighted_log_probability(layer, inputs(x, q), labels, weights),
            expected_score,
            (features[0], probabilities[0]),
        ),
        (
            lambda x, y, q, r: consistent_next_token_loss(
                *(layer, inputs(x, q), inputs(y, r), tf.constant(labels), None),
                label_smoothing=0.0,
                consistency=3.0,
            ),
            expected_consistency,
            (*features, *probabilities),
        ),
    ):
        actual, wanted = with_gradients(found, *given), with_gradients(expected, *given)
        for value, other in zip(actual, wanted, strict=True):
            np.testing.assert_allclose(value, other, rtol=1e-4, atol=1e-4)


def test_a_mixture_needs_logits():
    layer, *_ = source_softmax(form="mixture")
    with pytest.raises(ValueError, match="`output_layer` must be a TiedSoftmax, a Vocabulary"):
        weighted_log_probability(layer, {}, np.zeros((3, 5), "int32"), np.ones((3, 5)))


class Plain(keras.Model):
    """A language model of one layer."""

    def __init__(self, output="tied", units=4, mask_zero=False, regularizer=None, **kwargs):
        super().__init__(**kwargs)
        self.embedding = keras.layers.Embedding(
            9, 4, mask_zero=mask_zero, embeddings_regularizer=regularizer
        )
        self.hidden = keras.layers.Dense(units, activation="tanh")
        self.dropout = keras.layers.Dropout(0.5, seed=3)
        self.output_layer = (OUTPUT_LAYERS | OTHER_LAYERS)[output](self.embedding)

    def features(self, inputs, training=None):
        return self.dropout(self.hidden(self.embedding(inputs)), training=training)

    def call(self, inputs, training=None):
        return self.output_layer(self.features(inputs, training))


class Fused(NextTokenTraining, Plain):
    """The same with the steps under test."""


@pytest.fixture
def calls(monkeypatch):
    """How often a step without logits was traced, by whether gradients were made."""
    made = []
    original = next_token_training.linear_crossentropy

    def counted(*args, gradient, **kwargs):
        made.append(gradient)
        return original(*args, gradient=gradient, **kwargs)

    monkeypatch.setattr(next_token_training, "linear_crossentropy", counted)
    return made


def trained(
    cls, options=None, loss=None, optimizer="sgd", inputs=INPUTS, labels=LABELS, **compiled
):
    """Model, losses of two epochs of two batches, and logs of an evaluation."""
    keras.utils.set_random_seed(4)
    result = cls(**options or {})
    result(inputs)
    result.compile(optimizer, loss or SequenceCrossentropy(0.1), **compiled)
    data = tf.data.Dataset.from_tensor_slices((inputs, labels, WEIGHT)).batch(4)
    history = result.fit(data, epochs=2, verbose=0).history
    return result, history, result.evaluate(data, verbose=0, return_dict=True)


def assert_same_training(options=None, tolerance=1e-5, **arguments):
    expected, history, logs = trained(Plain, options, **arguments)
    actual, own_history, own_logs = trained(Fused, options, **arguments)
    assert own_history.keys() == history.keys() and own_logs.keys() == logs.keys()
    for name in history:
        np.testing.assert_allclose(own_history[name], history[name], rtol=tolerance)
    for name in logs:
        np.testing.assert_allclose(own_logs[name], logs[name], rtol=tolerance)
    for one, other in zip(actual.get_weights(), expected.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("output", "units"),
    # With 3 units a tied layer has a projection to the embedding's 4.
    [
        *(("tied", 4), slow("tied", 3), slow("tied, no bias", 3)),
        *(slow(output, 4) for output in OUTPUT_LAYERS if output not in ("tied", "dense")),
        slow("dense", 4),
    ],
)
def test_same_losses_and_weights_as_with_logits(calls, output, units):
    assert_same_training({"output": output, "units": units})
    assert True in calls and False in calls


@pytest.mark.slow
@pytest.mark.parametrize(
    "compiled",
    [
        {"jit_compile": True},
        {"jit_compile": False},
        {"run_eagerly": True},
        {"steps_per_execution": 3, "jit_compile": False},
        {"steps_per_execution": 2, "jit_compile": True},
        {"weighted_metrics": [], "metrics": []},
    ],
)
def test_ways_to_compile(calls, compiled):
    assert_same_training(**compiled)
    assert True in calls and False in calls


def test_masks_and_regularizers_count(calls):
    inputs = np.where(np.arange(5) < [[2], [5], [3], [0], [1], [4], [5]], INPUTS, 0)
    assert_same_training({"mask_zero": True, "regularizer": "l2"}, inputs=inputs)
    assert calls


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
@pytest.mark.parametrize("output", ["tied", "dense", "dense, float32"])
def test_mixed_precision(calls, policy, output):
    with dtype_policy(policy):
        options = {"output": output, "units": 3}
        assert_same_training(options, tolerance=3e-2)
    assert calls


@pytest.mark.slow
def test_loss_scaling_optimizer(calls):
    optimizers = []

    def fitted(cls):
        inner = keras.optimizers.SGD(0.1)
        optimizers.append(keras.optimizers.LossScaleOptimizer(inner, initial_scale=64.0))
        return trained(cls, optimizer=optimizers[-1])[0].get_weights()

    for one, other in zip(fitted(Fused), fitted(Plain), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    assert calls and all(x.iterations == 4 for x in optimizers)


class OwnLoss(SequenceCrossentropy):
    """A loss whose call may be anything."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        {"weighted_metrics": lambda: [keras.metrics.SparseCategoricalAccuracy()]},
        {"loss": lambda: keras.losses.SparseCategoricalCrossentropy(from_logits=True)},
        {"loss": lambda: SequenceCrossentropy(reduction="sum")},
        {"loss": lambda: OwnLoss(0.1)},
        {"loss_weights": lambda: [2.0]},
        {"options": lambda: {"output": "tanh"}},
        {"options": lambda: {"output": "regularized"}},
    ],
)
def test_other_cases_take_the_steps_of_keras(calls, arguments):
    def fitted(cls):
        made = {name: make() for name, make in arguments.items()}
        return trained(cls, **made)

    expected, history, logs = fitted(Plain)
    actual, own_history, own_logs = fitted(Fused)
    assert not calls
    assert own_history == history and own_logs == logs
    for one, other in zip(actual.get_weights(), expected.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_overridden_compute_loss_is_kept(calls):
    class Doubled(Fused):
        def compute_loss(self, *args, **kwargs):
            return 2.0 * super().compute_loss(*args, **kwargs)

    _, history, _ = trained(Doubled)
    assert not calls and history["loss"][0] > 3.0


@pytest.mark.slow
def test_labels_and_weights_with_a_last_dimension_of_one(calls):
    expected = trained(Fused)[2]["loss"]
    model = trained(Fused)[0]
    actual = model.evaluate(
        INPUTS, LABELS[..., None], sample_weight=WEIGHT[..., None], batch_size=4, verbose=0
    )
    np.testing.assert_allclose(actual, expected, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("tie_softmax", [True, False])
def test_translation_model_on_strings(calls, tie_softmax):
    pairs = {"encoder_text": SENTENCES, "decoder_text": SENTENCES}

    def fitted(metrics):
        keras.utils.set_random_seed(5)
        result = model(tie_softmax, attention_units=3)
        result.compile(keras.optimizers.SGD(0.1), weighted_metrics=metrics)
        return result, result.fit(pairs, batch_size=3, epochs=2, verbose=0).history["loss"]

    expected, losses = fitted([keras.metrics.SparseCategoricalAccuracy()])
    assert not calls
    actual, own_losses = fitted([])
    assert calls
    np.testing.assert_allclose(own_losses, losses, rtol=1e-5)
    for one, other in zip(actual.get_weights(), expected.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


@pytest.mark.slow
def test_compiled_model_in_a_file(calls, tmp_path):
    translator = model()
    translator.compile(weighted_metrics=[])
    translator.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    pairs = {"encoder_text": SENTENCES, "decoder_text": SENTENCES}
    assert list(loaded.fit(pairs, batch_size=3, verbose=0).history) == ["loss"]
    assert calls == [True]


@pytest.mark.slow
def test_an_overridden_call_is_believed(calls):
    class Sharper(Fused):
        def call(self, inputs, training=None):
            return 100.0 * super().call(inputs, training)

    class PlainSharper(Plain):
        def call(self, inputs, training=None):
            return 100.0 * super().call(inputs, training)

    expected, actual = (trained(cls)[1]["loss"] for cls in (PlainSharper, Sharper))
    np.testing.assert_allclose(actual, expected, rtol=1e-5)
    assert not calls


@pytest.mark.slow
def test_weights_of_whole_sequences(calls):
    losses = []
    for cls in (Plain, Fused):
        keras.utils.set_random_seed(4)
        model = cls()
        model.compile("sgd", SequenceCrossentropy(0.1))
        weight = np.ones((len(INPUTS), 1), "float32")
        losses.append(model.fit(INPUTS, LABELS, sample_weight=weight, verbose=0).history["loss"])
    np.testing.assert_allclose(*losses, rtol=1e-5)
    assert not calls


@pytest.mark.slow
@pytest.mark.parametrize("run_eagerly", [False, True])
def test_added_losses_do_not_pile_up(calls, run_eagerly):
    class Adding:
        def features(self, inputs, training=None):
            hidden = super().features(inputs, training)
            self.add_loss(0.1 * tf.reduce_mean(tf.cast(hidden, tf.float32) ** 2))
            return hidden

    class AddingPlain(Adding, Plain):
        pass

    class AddingFused(Adding, Fused):
        pass

    expected, actual = (
        trained(cls, run_eagerly=run_eagerly)[1]["loss"] for cls in (AddingPlain, AddingFused)
    )
    np.testing.assert_allclose(actual, expected, rtol=1e-5)
    assert calls
