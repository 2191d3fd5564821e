import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.models import RDrop, RecurrentSeq2SeqLM
from tests.layer_checks import assert_close
from tests.made_up import parallel_text, tiny_model
from tests.models.small import SOURCE, TARGET, backbone, inputs, model
from tests.seeds import made_once
from tests.tiers import slow

LABELS = np.roll(TARGET, -1, axis=1)
VALID = np.array([[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 0, 0]], "float32")
SHARED = made_once(lambda: model(attention_units=5, dropout=0.4))


def seeds(subject):
    """The states of everything that draws dropout."""
    layers = subject._flatten_layers()
    found = [getattr(layer, "seed_generator", None) for layer in layers]
    return [generator.state for generator in found if generator is not None]


def make_model(objective=None, seed=1, subject=None, **options):
    """The shared model, with the same weights and the same dropout each time."""
    subject = subject or SHARED()
    random = np.random.default_rng(0)
    subject.set_weights([0.7 * random.normal(size=w.shape) for w in subject.get_weights()])
    options = {"run_eagerly": True, **options}  # so small that compiling takes longer
    subject.compile(keras.optimizers.SGD(0.1), objective=objective, **options)
    for number, state in enumerate(seeds(subject)):
        state.assign([seed, number])
    return subject


def batch(source=SOURCE, target=TARGET):
    data = {name: tf.constant(value) for name, value in inputs(source, target).items()}
    return data, tf.constant(LABELS), VALID


def log_probabilities(subject):
    """Those of two passes over the batch, in NumPy: `(2, rows, length, V)`."""
    data, _, _ = batch()
    twice = {name: tf.concat([value, value], 0) for name, value in data.items()}
    logits = np.float64(subject.output_layer(subject.features(twice, training=True)))
    logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    return logs.reshape(2, *TARGET.shape, -1)


@pytest.mark.parametrize("weight", [slow(0.0), 3.0])
def test_the_loss_is_that_of_the_equation(weight):
    p, q = log_probabilities(make_model())
    assert np.abs(p - q).max() > 0.1  # the passes differ
    targets = 0.9 * np.eye(p.shape[-1])[LABELS] + 0.1 / p.shape[-1]
    likelihood = -(targets * (p + q)).sum(-1) / 2
    divergence = ((np.exp(p) - np.exp(q)) * (p - q)).sum(-1) / 2
    expected = (VALID * (likelihood + weight / 2 * divergence)).sum() / VALID.sum()
    found = make_model(RDrop(weight)).train_on_batch(*batch())
    assert float(found) == pytest.approx(expected, rel=1e-5)


@pytest.mark.slow
def test_a_step_takes_the_gradient_of_both_passes():
    subject = make_model()
    with tf.GradientTape() as tape:
        data, labels, valid = batch()
        twice = {name: tf.concat([value, value], 0) for name, value in data.items()}
        logits = subject.output_layer(subject.features(twice, training=True))
        p, q = tf.split(tf.nn.log_softmax(logits), 2)
        targets = tf.one_hot(labels, p.shape[-1]) * 0.9 + 0.1 / p.shape[-1]
        losses = -tf.reduce_sum(targets * (p + q), -1) / 2
        losses += 2.0 * tf.reduce_sum((tf.exp(p) - tf.exp(q)) * (p - q), -1) / 2
        loss = tf.reduce_sum(valid * losses) / tf.reduce_sum(valid)
    gradients = tape.gradient(loss, subject.trainable_weights)
    expected = [
        weight.numpy() - 0.1 * tf.convert_to_tensor(gradient).numpy()
        for weight, gradient in zip(subject.trainable_weights, gradients, strict=True)
    ]
    subject = make_model(RDrop(4.0))
    subject.train_on_batch(*batch())
    assert_close([w.numpy() for w in subject.trainable_weights], expected, 1e-5)


@pytest.mark.slow
def test_xla_trains_as_eager_does():
    results = []
    # XLA draws other numbers: with this rate no unit is dropped, and the passes are made to differ.
    subject = model(attention_units=5, dropout=1e-9)
    features = subject.features

    def two_passes(inputs, training=None):
        found = features(inputs, training=training)
        first = tf.range(tf.shape(found)[0]) < tf.shape(found)[0] // 2
        return found * tf.where(first, 1.0, 0.5)[:, tf.newaxis, tf.newaxis]

    subject.features = two_passes
    for jit_compile in (False, True):
        subject = make_model(RDrop(), subject=subject, run_eagerly=False, jit_compile=jit_compile)
        subject.fit(tf.data.Dataset.from_tensors(batch()), epochs=2, verbose=0)
        results.append(subject.get_weights())
    for found, expected in zip(*results, strict=True):
        assert_close(found, expected, 1e-4)
    alone = make_model(RDrop(0.0), subject=subject, run_eagerly=False)
    alone.fit(tf.data.Dataset.from_tensors(batch()), epochs=2, verbose=0)
    moved = [abs(a - b).max() for a, b in zip(results[0], alone.get_weights(), strict=True)]
    assert max(moved) > 1e-3  # the divergence has a part in it


def test_validation_is_by_the_likelihood():
    losses = [make_model(objective).test_on_batch(*batch()) for objective in (RDrop(), None)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)


@pytest.mark.slow
def test_the_passes_agree_more_after_training_with_a_large_weight():
    source, target = parallel_text(100)
    divergences = []
    for weight in (0.0, 20.0):
        keras.utils.set_random_seed(1)
        subject = tiny_model(dropout=0.3, embedding_dim=16, encoder_units=16, decoder_units=32)
        subject.compile(keras.optimizers.Adam(0.01), objective=RDrop(weight))
        texts = {"encoder_text": source, "decoder_text": target}
        subject.fit(texts, batch_size=20, epochs=6, verbose=0)
        data, _, valid = subject.preprocessor(texts)
        logs = [
            tf.nn.log_softmax(subject.output_layer(subject.features(data, training=True)))
            for _ in range(2)
        ]
        gaps = tf.reduce_sum((tf.exp(logs[0]) - tf.exp(logs[1])) * (logs[0] - logs[1]), -1)
        divergences.append(float(tf.reduce_mean(tf.boolean_mask(gaps, valid))))
    assert divergences[1] < 0.5 * divergences[0]


def test_configuration():
    objective = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(RDrop(2.0))
    )
    assert isinstance(objective, RDrop) and objective.get_config() == {"weight": 2.0}
    assert RDrop().weight == 5.0


@pytest.mark.parametrize("weight", [-0.1, "x", None, float("inf")])
def test_the_weight_is_checked(weight):
    with pytest.raises(ValueError, match="`weight` must be a number of at least 0, got"):
        RDrop(weight)


def test_models_it_does_not_train():
    without = RecurrentSeq2SeqLM(backbone())
    with pytest.raises(ValueError, match="must not be RDrop for a model with `dropout` 0"):
        without.compile(objective=RDrop())
    copying = RecurrentSeq2SeqLM(backbone(source_output="copy", share_embeddings=True, dropout=0.1))
    with pytest.raises(ValueError, match="must not be RDrop for a model with the `source_output`"):
        copying.compile(objective=RDrop())
    with pytest.raises(ValueError, match="`weighted_metrics` and `metrics` must be empty with R"):
        SHARED().compile(objective=RDrop(), weighted_metrics=["accuracy"])
    subject = make_model(RDrop(), loss=keras.losses.SparseCategoricalCrossentropy(True))
    with pytest.raises(ValueError, match="`loss` must be a SequenceCrossentropy"):
        subject.train_on_batch(*batch())
