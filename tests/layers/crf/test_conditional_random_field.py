"""The layer and its algorithms against the enumeration of all label sequences."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from keras_seqzoo.layers.crf.conditional_random_field import ConditionalRandomField
from keras_seqzoo.layers.crf.iob2 import iob2_transitions
from tests.layer_checks import (
    assert_close,
    check_keras_saving,
    check_mixed_precision,
    check_padding_changes_nothing,
    check_saved_model_in_fresh_process,
    check_serialisation,
    check_xla_equals_eager,
    dtype_policy,
)
from tests.properties import examples
from tests.tiers import slow

LABELS = ["O", "B-x", "I-x"]
generator = np.random.default_rng(3)
SCORES = generator.normal(size=(5, 4, 3)).astype("float32")
MASK = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 0]], bool)


def make(allowed=None, seed=0):
    layer = ConditionalRandomField(3, allowed)
    layer.build((None, None, 3))
    generator = np.random.default_rng(seed)
    layer.set_weights([generator.normal(size=weight.shape) for weight in layer.weights])
    return layer


def enumerate_all(layer, scores):
    """Return all label sequences of one sentence without padding, and their scores."""
    transitions, first, last = (weight.astype(np.float64) for weight in layer.get_weights())
    allowed = np.ones((4, 4), bool) if layer.allowed is None else np.array(layer.allowed)
    sequences, found = [], []
    for labels in itertools.product(range(3), repeat=len(scores)):
        pairs = list(itertools.pairwise(labels))
        ends = [(3, labels[0]), (labels[-1], 3)] if labels else []
        total = sum(scores[step, label] for step, label in enumerate(labels))
        total += sum(transitions[pair] for pair in pairs)
        total += first[labels[0]] + last[labels[-1]] if labels else 0.0
        sequences.append(labels)
        found.append(total if all(allowed[pair] for pair in pairs + ends) else -np.inf)
    return sequences, np.array(found)


masks = st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=5, max_size=5)


@pytest.mark.parametrize("allowed", [slow(None), iob2_transitions(LABELS)])
@examples(12)
@given(mask=masks, seed=st.integers(0, 9))
def test_equal_to_enumeration(allowed, mask, seed):
    layer, mask = make(allowed, seed), np.array(mask)
    potentials = layer(SCORES, mask=mask)
    best, best_logs = layer.best_labels(potentials, mask)
    marginals = layer.marginals(potentials, mask).numpy()
    labels = np.where(mask, best, -1)
    losses = layer.loss(labels, potentials)
    for row in range(5):
        valid = mask[row]
        sequences, scores = enumerate_all(layer, SCORES[row][valid])
        logs = scores - np.logaddexp.reduce(scores)
        place = logs.argmax()
        assert best[row].numpy()[valid].tolist() == list(sequences[place])
        assert not best[row].numpy()[~valid].any()
        np.testing.assert_allclose(best_logs[row], logs[place], atol=2e-3)
        np.testing.assert_allclose(losses[row], -logs[place], atol=2e-3)
        expected = np.zeros((4, 3))
        for sequence, log in zip(sequences, logs, strict=True):
            expected[np.flatnonzero(valid), list(sequence)] += np.exp(log)
        np.testing.assert_allclose(marginals[row], expected, atol=2e-3)


def test_the_loss_of_any_labels():
    layer = make()
    potentials = layer(SCORES[:1])
    sequences, scores = enumerate_all(layer, SCORES[0])
    losses = layer.loss(np.array(sequences), tf.repeat(potentials, len(sequences), axis=0))
    np.testing.assert_allclose(losses, np.logaddexp.reduce(scores) - scores, atol=1e-4)
    np.testing.assert_allclose(tf.reduce_sum(tf.exp(-losses)), 1.0, atol=1e-5)


def test_gradients_equal_those_of_differences():
    layer = make(iob2_transitions(LABELS))
    labels = np.where(MASK, [[0, 1, 2, 0]], -1)

    def loss(scores):
        weights = tf.constant([1.0, 2.0, 0.5, 1.0, 3.0])
        return tf.reduce_sum(layer.loss(labels, layer(scores, mask=MASK)) * weights)

    variables = [layer.transition_weights, layer.first_weights, layer.last_weights]
    scores = tf.Variable(SCORES)
    with tf.GradientTape() as tape:
        value = loss(scores)
    gradients = tape.gradient(value, [scores, *(variable.value for variable in variables)])
    for variable, gradient in zip([scores, *variables], gradients, strict=True):
        start = keras.ops.convert_to_numpy(variable).copy()
        numeric = np.zeros_like(start)
        for place in np.ndindex(start.shape):
            ends = []
            for step in (0.05, -0.05):
                moved = start.copy()
                moved[place] += step
                variable.assign(moved)
                ends.append(float(loss(scores)))
            numeric[place] = (ends[0] - ends[1]) / 0.1
        variable.assign(start)
        np.testing.assert_allclose(gradient, numeric, atol=0.02)


def test_general_checks():
    layer = make(iob2_transitions(LABELS))
    check_serialisation(layer, SCORES, mask=MASK)
    check_xla_equals_eager(layer, SCORES, mask=MASK)
    check_mixed_precision(lambda **options: ConditionalRandomField(3, **options), SCORES, mask=MASK)
    check_keras_saving(layer, SCORES, mask=MASK)
    check_saved_model_in_fresh_process(layer, SCORES, mask=MASK)
    for method in ("marginals", "best_labels"):
        find = getattr(layer, method)
        check_padding_changes_nothing(lambda s, m, f=find: f(layer(s, mask=m), m), SCORES, MASK)


@pytest.mark.parametrize("compiled", [slow(False), True])
def test_xla_and_graph_equal_eager(compiled):
    layer = make()
    labels = np.where(MASK, [[0, 1, 2, 0]], -1)

    def run(scores, labels):
        with tf.GradientTape() as tape:
            tape.watch(scores)
            losses = layer.loss(labels, layer(scores, mask=MASK))
        potentials = layer(scores, mask=MASK)
        best = layer.best_labels(potentials, MASK)
        return losses, tape.gradient(losses, scores), layer.marginals(potentials, MASK), *best

    expected = run(tf.constant(SCORES), labels)
    found = tf.function(run, jit_compile=compiled, autograph=False)(
        tf.constant(SCORES), tf.constant(labels)
    )
    assert_close(found, expected)


@pytest.mark.slow
def test_long_sentences_stay_exact():
    layer = make()
    scores = 30.0 * generator.normal(size=(2, 500, 3)).astype("float32")
    potentials = layer(scores)
    best, logs = layer.best_labels(potentials)
    assert np.isfinite(logs).all() and (logs.numpy() <= 0.05).all()
    np.testing.assert_allclose(tf.reduce_sum(layer.marginals(potentials), 2), 1.0, atol=1e-5)
    np.testing.assert_allclose(layer.loss(best, potentials), -logs, atol=0.05)


def test_no_steps_at_all():
    layer = make()
    empty = np.zeros((2, 0, 3), "float32")
    assert layer.best_labels(layer(empty))[0].shape == (2, 0)
    assert layer.marginals(layer(empty)).shape == (2, 0, 3)
    assert_close(layer.loss(np.zeros((2, 0), int), layer(empty)), np.zeros(2))


@pytest.mark.slow
@pytest.mark.parametrize("steps", [0, 2])
def test_no_steps_in_graph(steps):
    layer = make()

    @tf.function(input_signature=[tf.TensorSpec((None, None, 3))], autograph=False)
    def run(scores):
        with tf.GradientTape() as tape:
            tape.watch(scores)
            losses = layer.loss(tf.zeros(tf.shape(scores)[:2], tf.int32), layer(scores))
        gradient = tape.gradient(losses, scores)
        return losses, gradient, layer.best_labels(scores)[0], layer.marginals(scores)

    scores = np.ones((2, steps, 3), "float32")
    assert_close(run(scores), run.python_function(tf.constant(scores)))


@pytest.mark.slow
def test_learns_in_a_model_that_labels_follow_each_other():
    words = np.tile([[1, 1, 1, 1]], (32, 1))
    labels = np.tile([[0, 1, 2, 0]], (32, 1))
    labels[:16, 3] = -1
    inputs = keras.Input((None,), dtype="int32")
    crf = ConditionalRandomField(3)
    # All words are alike, so that only the order of the labels can be learned.
    outputs = crf(keras.layers.Embedding(2, 3)(inputs))
    model = keras.Model(inputs, outputs)
    model.compile(keras.optimizers.Adam(0.2), loss=crf.loss)
    history = model.fit(words, labels, epochs=40, verbose=0).history["loss"]
    assert history[-1] < 0.2 * history[0]
    found, logs = crf.best_labels(model(words[:1]))
    assert found.numpy().tolist() == [[0, 1, 2, 0]] and logs[0] > np.log(0.4)


@pytest.mark.parametrize("options", [slow({"jit_compile": True}), {"run_eagerly": True}])
def test_padding_that_keras_masks_is_ignored_in_training(options):
    ids, labels = np.array([[3, 1, 2], [2, 4, 1]]), np.array([[2, 0, 1], [1, 1, 2]])
    more = [[0, 0], [0, 2]]
    padded = np.pad(ids, more), np.pad(labels, more)  # 0 is a label like any other

    def train(*batch):
        keras.utils.set_random_seed(0)
        inputs = keras.Input((None,), dtype="int32")
        embedded = keras.layers.Embedding(5, 4, mask_zero=True)(inputs)
        crf = ConditionalRandomField(3)
        model = keras.Model(inputs, crf(keras.layers.Dense(3)(embedded)))
        model.compile(keras.optimizers.SGD(1.0), loss=crf.loss, **options)
        losses = [model.train_on_batch(*batch) for _ in range(2)]
        return losses, model.get_weights(), model, crf

    expected, weights, *_ = train(ids, labels)
    losses, own, model, crf = train(*padded)
    assert_close(losses, expected)
    assert_close(own, weights)
    assert losses[1] < losses[0]
    potentials = model(padded[0])
    found, logs = crf.best_labels(potentials)
    known, known_logs = crf.best_labels(potentials[:, :3])
    np.testing.assert_array_equal(found, np.pad(known, more))
    assert_close(logs, known_logs)
    marginals = crf.marginals(potentials)
    assert_close(marginals[:, :3], crf.marginals(potentials[:, :3]))
    assert not np.any(marginals[:, 3:])


class Subclassed(keras.Model):
    def __init__(self, crf, *after):
        super().__init__()
        self.crf = crf
        self.parts = [keras.layers.Embedding(5, 4, mask_zero=True), keras.layers.Dense(3)]
        self.after = after

    def call(self, ids):
        for layer in (*self.parts, self.crf, *self.after):
            ids = layer(ids)
        return ids


def functional(*layers):
    ids = keras.Input((None,), dtype="int32")
    return keras.Model(ids, Subclassed(*layers).call(ids))


def losses_of_padding(make, *after, **options):
    """Labels at padding may be 0, which is a valid label, or -1."""
    crf = ConditionalRandomField(3)
    model = make(crf, *after)
    model.compile(keras.optimizers.SGD(0.0), loss=crf.loss, **options)
    ids, labels = np.array([[3, 1, 2, 0], [2, 4, 0, 0]]), np.array([[2, 0, 1, 0], [1, 1, 0, 0]])
    return [model.train_on_batch(ids, own) for own in (labels, np.where(ids == 0, -1, labels))]


@pytest.mark.parametrize("make", [functional, Subclassed])
@pytest.mark.parametrize("options", [slow({"jit_compile": False}), {"run_eagerly": True}])
def test_mixed_precision_keeps_the_mask(make, options):
    with dtype_policy("mixed_bfloat16"):
        zeros, negatives = losses_of_padding(make, **options)
    assert zeros == negatives > 0


def test_a_layer_after_it_loses_the_mask():
    zeros, negatives = losses_of_padding(functional, keras.layers.Rescaling(1.0), run_eagerly=True)
    assert zeros > 1.1 * negatives


def test_a_given_mask_overrides_the_mask_of_the_call():
    layer = make()
    mask = np.ones((5, 4), bool)
    mask[:, 2:] = False
    labels = np.ones((5, 4), int)
    potentials = layer(SCORES, mask=mask)
    assert_close(layer.loss(labels, potentials), layer.loss(labels[:, :2], potentials[:, :2]))
    every = np.ones((5, 4), bool)
    assert_close(layer.loss(labels, potentials, every), layer.loss(labels, potentials[:]))
    assert_close(layer.loss(labels, potentials[:], mask), layer.loss(labels, potentials))
    assert_close(
        layer.best_labels(potentials, every), layer.best_labels(tf.constant(potentials.numpy()))
    )


def test_bfloat16_around_it_rounds_nothing():
    with dtype_policy("mixed_bfloat16"):
        layer = ConditionalRandomField(2)
    scores = tf.constant([[[100.3, 0.1]]])
    np.testing.assert_array_equal(layer(scores), scores)


def test_errors():
    with pytest.raises(ValueError, match=r"`allowed` must have the shape \(4, 4\)"):
        ConditionalRandomField(3, np.ones((3, 3)))
    with pytest.raises(ValueError, match="`num_labels` must be an int of at least 1"):
        ConditionalRandomField(0)
    with pytest.raises(ValueError, match="`scores` must have 3 labels"):
        ConditionalRandomField(3)(np.zeros((1, 2, 4), "float32"))
    with pytest.raises(ValueError, match="`mask` must have the shape"):
        make()(SCORES, mask=np.ones((5, 3), bool))


def test_padding_may_be_anything():
    layer = ConditionalRandomField(3)
    scores = np.random.default_rng(0).normal(size=(1, 3, 3)).astype("float32")
    expected = layer.loss([[0, 2]], layer(scores[:, :2]))
    scores[:, 2] = np.nan
    for dtype in ("float32", "float64"):
        potentials = tf.cast(scores, dtype)
        for label in (-1, 3):  # what pads labels may be their number
            loss = layer.loss([[0, 2, label]], potentials, mask=[[True, True, False]])
            assert_close(loss, expected)


def test_the_dtype_of_symbols():
    symbol = keras.Input((None, 3), dtype="bfloat16")
    assert ConditionalRandomField(3, dtype="mixed_bfloat16")(symbol).dtype == "float32"
