import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.layers import VocabularyProjection
from keras_seqzoo.layers.large_softmax import (
    ClassFactoredSoftmax,
    HierarchicalSoftmax,
    SampledSoftmax,
)
from keras_seqzoo.models.common.next_token_training import (
    label_log_probabilities,
    sentence_log_probabilities,
)
from tests.tiers import slow

LAYERS = {
    "full": VocabularyProjection,
    "sampled": SampledSoftmax,
    "classes": ClassFactoredSoftmax,
    "tree": HierarchicalSoftmax,
}


@pytest.mark.parametrize("count", [0, slow(1), slow(5), slow(10), 12, slow(23)])
@pytest.mark.parametrize("make", LAYERS.values(), ids=LAYERS)
def test_chunks_change_nothing(make, count):
    """Whatever the number of tokens is, known when the graph is made or not, compiled or not."""
    layer = make(11)
    layer.build((None, 3))
    random = np.random.default_rng(count)
    hidden = random.normal(size=(count, 3)).astype("float32")
    labels = random.integers(0, 11, count).astype("int32")
    scores = tf.nn.log_softmax(layer(hidden)).numpy()
    expected = scores[np.arange(count), labels]

    def run(hidden, labels):
        return label_log_probabilities(layer, hidden, labels, chunk_size=5)

    specs = [tf.TensorSpec([None, 3]), tf.TensorSpec([None], tf.int32)]
    ways = {
        "eager": run,
        "graph": tf.function(run, input_signature=specs, autograph=False),
        "compiled": tf.function(run, jit_compile=True, autograph=False),
    }
    for way in ways.values() if count else [ways["eager"], ways["graph"]]:
        found = way(hidden, labels)
        assert found.shape == (count,)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_gradient_of_chunks():
    """The gradient is that of the whole, also under XLA."""
    layer = VocabularyProjection(11)
    layer.build((None, 3))
    random = np.random.default_rng(0)
    hidden = tf.constant(random.normal(size=(12, 3)), tf.float32)
    labels = random.integers(0, 11, 12).astype("int32")

    def gradient():
        with tf.GradientTape() as tape:
            tape.watch(hidden)
            total = tf.reduce_sum(label_log_probabilities(layer, hidden, labels, chunk_size=5))
        return tape.gradient(total, hidden)

    errors = tf.one_hot(labels, 11) - tf.nn.softmax(layer(hidden))  # ∂ log P / ∂ logits
    with tf.GradientTape() as tape:
        tape.watch(hidden)
        logits = layer(hidden)
    expected = tape.gradient(logits, hidden, errors)
    for jit_compile in (False, True):
        found = tf.function(gradient, jit_compile=jit_compile, autograph=False)()
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_sentences_sum_their_tokens():
    layer = VocabularyProjection(11)
    layer.build((None, 3))
    random = np.random.default_rng(0)
    hidden = tf.constant(random.normal(size=(4, 6, 3)), tf.float32)
    labels = random.integers(0, 11, (4, 6)).astype("int32")
    weights = random.random((4, 6)).astype("float32") * [[1], [1], [0], [1]]
    logs = tf.nn.log_softmax(layer(hidden)).numpy()
    expected = (np.take_along_axis(logs, labels[..., None], -1)[..., 0] * weights).sum(-1)
    with tf.GradientTape() as tape:
        tape.watch(hidden)
        found = sentence_log_probabilities(layer, hidden, labels, weights.astype("float32"))
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert found[2] == 0
    assert tape.gradient(found, hidden) is None
