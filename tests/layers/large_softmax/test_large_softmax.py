"""The exact probabilities of all output layers, and their training."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.layers.large_softmax import (
    ClassFactoredSoftmax,
    HierarchicalSoftmax,
    NegativeSampling,
    NoiseContrastiveEstimation,
    SampledSoftmax,
    frequency_classes,
)
from tests.layer_checks import (
    assert_close,
    check_keras_saving,
    check_saved_model_in_fresh_process,
    check_serialisation,
)
from tests.seeds import random_generator
from tests.tiers import mostly_slow

V, D = 23, 4
RANDOM = random_generator(3)
HIDDEN = RANDOM.normal(size=(40, D)).astype("float32")
LABELS = RANDOM.integers(0, V, 40).astype("int32")
COUNTS = RANDOM.integers(1, 50, V)
CLASSES = RANDOM.permutation([0] * 3 + [1] * 11 + [2] * 1 + [3] * 8)
SAMPLES = {"samples": 7, "seed": 1}


def sampling(cls, proposals=None):
    return lambda **options: cls(V, proposals=proposals, **{**SAMPLES, **options})


MAKERS = {
    "sampled": sampling(SampledSoftmax),
    "sampled by counts": sampling(SampledSoftmax, COUNTS),
    "nce": sampling(NoiseContrastiveEstimation),
    "negative": sampling(NegativeSampling, COUNTS**0.75),
    "classes": lambda **options: ClassFactoredSoftmax(V, **options),
    "uneven classes": lambda **options: ClassFactoredSoftmax(V, CLASSES, **options),
    "tree": lambda **options: HierarchicalSoftmax(V, **options),
    "tree by counts": lambda **options: HierarchicalSoftmax(V, COUNTS, **options),
}
EXACT = ("classes", "uneven classes", "tree", "tree by counts")
every_layer = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
every_exact_layer = pytest.mark.parametrize("make", [MAKERS[name] for name in EXACT], ids=EXACT)


def randomized(make, **options):
    layer = make(**options)
    layer.build((None, D))
    for weight in layer.trainable_weights:
        weight.assign(np.random.default_rng(5).normal(size=weight.shape))
    return layer


@every_layer
def test_a_distribution(make):
    layer = randomized(make)
    scores = layer(HIDDEN)
    assert scores.dtype == tf.float32 and scores.shape == (40, V)
    np.testing.assert_allclose(tf.reduce_sum(tf.exp(scores), axis=-1), np.ones(40), rtol=1e-5)
    found = layer.label_log_probabilities(HIDDEN, LABELS)
    assert_close(found, scores.numpy()[np.arange(40), LABELS], atol=1e-5)
    folded = layer(HIDDEN.reshape(5, 8, D))
    assert_close(folded, scores.numpy().reshape(5, 8, V), atol=1e-5)


@pytest.mark.slow
@every_layer
def test_xla(make):
    layer = randomized(make)
    for function, inputs in (
        (layer.__call__, (HIDDEN,)),
        (layer.label_log_probabilities, (HIDDEN, LABELS)),
    ):
        compiled = tf.function(function, jit_compile=True, autograph=False)
        assert_close(compiled(*inputs), function(*inputs), atol=1e-5)
    losses = tf.function(layer.training_losses, jit_compile=True, autograph=False)(HIDDEN, LABELS)
    assert np.isfinite(losses).all()
    if make in [MAKERS[name] for name in EXACT]:
        assert_close(losses, layer.training_losses(HIDDEN, LABELS), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKERS)
def test_learning(name):
    """Each layer learns the distribution of its labels."""
    keras.utils.set_random_seed(0)
    chances = np.random.default_rng(0).dirichlet(np.ones(V) * 0.5, size=2)
    generator = np.random.default_rng(1)
    kind = generator.integers(0, 2, 20000)
    labels = np.array([generator.choice(V, p=chances[k]) for k in kind[:20000]], np.int32)
    hidden = np.eye(2, D, dtype="float32")[kind]
    # More samples than there are tokens, for little noise.
    layer = MAKERS[name](**({} if name in EXACT else {"samples": 60}))
    layer.build((None, D))
    optimizer = keras.optimizers.Adam(0.05)

    @tf.function(autograph=False)
    def step(hidden, labels):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(layer.training_losses(hidden, labels))
        gradients = tape.gradient(loss, layer.trainable_weights)
        optimizer.apply_gradients(zip(gradients, layer.trainable_weights, strict=True))

    for rate in (0.05, 0.05, 0.01, 0.002):
        optimizer.learning_rate = rate
        for begin in range(0, 20000, 100):
            step(hidden[begin : begin + 100], labels[begin : begin + 100])
    found = np.exp(layer(np.eye(2, D, dtype="float32")))
    frequencies = [np.bincount(labels[kind == k], minlength=V) / (kind == k).sum() for k in (0, 1)]
    distance = 0.5 * np.abs(found - frequencies).sum(axis=1)
    assert distance.max() < 0.05


@pytest.mark.parametrize(
    "make",
    mostly_slow(MAKERS, "sampled by counts", "nce", "negative", "classes", "tree by counts"),
)
def test_saving(make):
    check_serialisation(make(), HIDDEN)
    layer = randomized(make)
    check_keras_saving(layer, HIDDEN)
    check_saved_model_in_fresh_process(layer, HIDDEN)


@every_layer
def test_mixed_precision(make):
    layer, exact = randomized(make, dtype="mixed_bfloat16"), randomized(make)
    scores = layer(HIDDEN)
    assert scores.dtype == tf.float32
    np.testing.assert_allclose(scores, exact(HIDDEN), atol=0.3)
    assert layer.training_losses(HIDDEN, LABELS).dtype == tf.float32


@every_exact_layer
def test_losses_and_gradients_equal_the_full_distribution(make):
    layer = randomized(make)
    results = []
    for losses in (
        lambda: layer.training_losses(HIDDEN, LABELS),
        lambda: -tf.gather(layer(HIDDEN), LABELS, batch_dims=1),
    ):
        with tf.GradientTape() as tape:
            loss = losses()
            total = tf.reduce_sum(loss * np.linspace(0.5, 1.5, 40))
        gradients = tape.gradient(total, layer.trainable_weights)
        results.append([loss, *map(tf.convert_to_tensor, gradients)])
    for one, other in zip(*results, strict=True):
        assert_close(one, other, atol=1e-4)


# Classes.


def test_class_equation():
    layer = randomized(MAKERS["uneven classes"])
    class_kernel, class_bias, kernel, bias = (w.numpy() for w in layer.trainable_weights)
    softmax = lambda x: np.exp(x) / np.exp(x).sum()  # noqa: E731
    for h, scores in zip(HIDDEN[:5], layer(HIDDEN[:5]).numpy(), strict=True):
        of_class = softmax(class_kernel @ h + class_bias)
        for c in range(4):
            tokens = np.flatnonzero(c == CLASSES)
            own = softmax((kernel[c] @ h + bias[c])[: len(tokens)])
            np.testing.assert_allclose(np.exp(scores[tokens]), of_class[c] * own, rtol=1e-4)


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 64, 200])
def test_any_number_of_tokens_of_a_class(count):
    """Groups of a class are full, partial or missing, for any labels."""
    layer = randomized(MAKERS["uneven classes"])
    random = np.random.default_rng(count)
    hidden = random.normal(size=(count, D)).astype("float32")
    for labels in (
        random.integers(0, V, count),
        np.full(count, int(np.flatnonzero(CLASSES == 1)[0])),
        random.choice(np.flatnonzero(CLASSES >= 2), count),
    ):
        expected = layer(hidden).numpy()[np.arange(count), labels]
        assert_close(layer.label_log_probabilities(hidden, labels.astype("int32")), expected, 1e-5)


def test_frequency_classes():
    counts = np.array([3, 100, 7, 7, 1, 50, 2, 2])
    assert frequency_classes(counts, 4).tolist() == [2, 0, 1, 1, 3, 0, 2, 3]
    assert np.bincount(frequency_classes(np.ones(100))).tolist() == [10] * 10
    assert frequency_classes(counts, 3).max() == 2
    for classes in range(1, 11):
        sizes = np.bincount(frequency_classes(np.ones(10), classes))
        assert len(sizes) == classes and sizes.max() - sizes.min() <= 1


# The tree.


def test_tree_equation():
    layer = randomized(MAKERS["tree by counts"])
    kernel, bias = (w.numpy() for w in layer.trainable_weights)
    scores = layer(HIDDEN[:4]).numpy()
    for h, row in zip(HIDDEN[:4], scores, strict=True):
        turns = 1 / (1 + np.exp(-(kernel @ h + bias)))
        for token in range(V):
            length = layer.lengths[token]
            nodes, signs = layer._nodes[token, :length], layer._turns[token, :length]
            own = np.prod(np.where(signs > 0, turns[nodes], 1 - turns[nodes]))
            assert row[token] == pytest.approx(np.log(own), abs=1e-4)


def test_huffman_codes_are_the_shortest():
    """By brute force over all lengths of a prefix code of six tokens (Kraft)."""
    for seed in range(20):
        counts = np.random.default_rng(seed).integers(1, 30, 6)
        layer = HierarchicalSoftmax(6, counts)
        assert sum(0.5**layer.lengths) == 1.0
        best = min(
            sum(c * n for c, n in zip(counts, lengths, strict=True))
            for lengths in itertools.product(range(1, 6), repeat=6)
            if sum(0.5**n for n in lengths) <= 1.0
        )
        assert (counts * layer.lengths).sum() == best


# Samples.


def test_sampling_equations():
    drawn = np.array([3, 3, 0, 9, 20, 7, 1], np.int32)
    q = np.log1p(1 / (np.arange(V) + 1)) / np.log(V + 1)
    assert q.sum() == pytest.approx(1.0)
    for cls in (SampledSoftmax, NoiseContrastiveEstimation, NegativeSampling):
        layer = randomized(lambda cls=cls, **options: cls(V, samples=7, **options))
        layer.draw = lambda: tf.constant(drawn)
        kernel, bias = (w.numpy() for w in layer.trainable_weights)
        scores = HIDDEN @ kernel.T + bias
        delta = scores - np.log(7 * q)
        rows, sigmoid = np.arange(40), lambda x: 1 / (1 + np.exp(-x))
        if cls is SampledSoftmax:
            expected = [
                -np.log(np.exp(d[y]) / (np.exp(d[y]) + np.exp(d[drawn]).sum()))
                for d, y in zip(delta, LABELS, strict=True)
            ]
        else:
            used = delta if cls is NoiseContrastiveEstimation else scores
            expected = -np.log(sigmoid(used[rows, LABELS]))
            expected -= np.log(1 - sigmoid(used[:, drawn])).sum(axis=1)
        assert_close(layer.training_losses(HIDDEN, LABELS), np.array(expected), atol=1e-4)


@pytest.mark.parametrize("proposals", [None, COUNTS**0.75, np.eye(V)[4] + 1e-9])
def test_samples_come_as_often_as_expected(proposals):
    layer = SampledSoftmax(V, samples=200_000, proposals=proposals, seed=1)
    found = np.bincount(layer.draw(), minlength=V)
    assert len(found) == V
    expected = np.exp(layer.log_expected_count(tf.range(V)))
    np.testing.assert_allclose(found, expected, rtol=0.05, atol=100)


def test_self_normalized_scores():
    layer = NoiseContrastiveEstimation(V, samples=5, self_normalized=True)
    layer.build((None, D))
    layer.kernel.assign(np.zeros((V, D)))  # as at the beginning: all scores are -log V
    found = layer.label_log_probabilities(HIDDEN, LABELS)
    assert_close(found, layer(HIDDEN).numpy()[np.arange(40), LABELS], atol=1e-5)
    layer.bias.assign_add(np.ones(V))
    assert_close(layer.label_log_probabilities(HIDDEN, LABELS), found + 1.0, atol=1e-5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SampledSoftmax(1), "`vocabulary_size`"),
        (lambda: SampledSoftmax(V, samples=0), "`samples`"),
        (lambda: SampledSoftmax(V, proposals=[1.0]), "`proposals` must be 23 finite numbers"),
        (lambda: SampledSoftmax(2, proposals=[-1.0, 2.0]), "`proposals`"),
        (lambda: SampledSoftmax(2, proposals=[0.0, 1.0]), "`proposals`.* from 0 to 1"),
        (lambda: ClassFactoredSoftmax(3, [0, 1]), "`classes` must be one int for each of the 3"),
        (lambda: SampledSoftmax(2, proposals=[np.inf, 1.0]), "`proposals`.* to inf"),
        (lambda: ClassFactoredSoftmax(3, [0.9, 1.2, 1.7]), "`classes` must be one int.* float64"),
        (lambda: ClassFactoredSoftmax(3, [0, 2, 2]), "`classes`"),
        (lambda: ClassFactoredSoftmax(3, [0, -1, 1]), "`classes`"),
        (lambda: frequency_classes([1, 2], 0), "`classes`"),
        (lambda: frequency_classes([1, 2], 3), "`classes` must be at most 2"),
        (lambda: HierarchicalSoftmax(3, [1, 2]), "`counts` must be 3 finite numbers"),
        (lambda: HierarchicalSoftmax(2, [1, np.nan]), "`counts`.* from nan"),
        (lambda: HierarchicalSoftmax(2, [1, -2]), "`counts`"),
    ],
)
def test_wrong_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()
