import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.models.word_vectors import GloVe
from tests.layer_checks import dtype_policy

WORDS, COUNTS = ["a", "b", "c", "d", "e"], [9, 7, 5, 3, 1]
TEXT = ["king rules land", "queen rules land", "dog eats bone", "cat eats bone"] * 60
PAIRS = {
    "rows": np.array([0, 1, 1, 4, 0], np.int32),
    "columns": np.array([1, 0, 1, 2, 1], np.int32),
    "counts": np.array([0.5, 3, 7.25, 12, 10], np.float32),
}


def make(**kwargs):
    model = GloVe(WORDS, COUNTS, dimensions=3, **kwargs)
    generator = np.random.default_rng(0)
    model.set_weights([generator.normal(size=weight.shape) for weight in model.weights])
    return model


def test_loss_and_gradients_of_a_step():
    model = make(x_max=10, alpha=0.75)
    vectors, contexts, biases, context_biases = before = model.get_weights()
    gradients = [np.zeros_like(weight) for weight in before]
    losses = []
    for i, j, count in zip(*PAIRS.values(), strict=True):
        weight = min(1, (count / 10) ** 0.75)
        error = vectors[i] @ contexts[j] + biases[i] + context_biases[j] - np.log(count)
        losses.append(weight * error**2)
        slope = 2 * weight * error / len(PAIRS["rows"])
        gradients[0][i] += slope * contexts[j]
        gradients[1][j] += slope * vectors[i]
        gradients[2][i] += slope
        gradients[3][j] += slope
    model.compile(keras.optimizers.SGD(1.0))
    assert float(model.train_on_batch(PAIRS)) == pytest.approx(np.mean(losses), rel=1e-5)
    for old, new, gradient in zip(before, model.get_weights(), gradients, strict=True):
        np.testing.assert_allclose(new, old - gradient, rtol=1e-5, atol=1e-5)


def test_the_vectors_are_sums():
    model = make()
    expected = model.get_weights()[0] + model.get_weights()[1]
    np.testing.assert_allclose(model.vectors().matrix, expected, rtol=1e-6)
    np.testing.assert_allclose(model(np.array([[4, 0]]))[0], expected[[4, 0]], rtol=1e-6)


def test_counts_of_a_text():
    model = GloVe(["a", "b", "c"], [1, 1, 1], window=2)
    found = model.count(["a x b c", "", "c a"])  # x has no vector
    counts = {pair[:2]: pair[2] for pair in zip(*(part.tolist() for part in found), strict=True)}
    half = {(0, 1): 1.0, (0, 2): 1.5, (1, 2): 1.0}
    assert counts == half | {(j, i): count for (i, j), count in half.items()}
    again = model.count(model.encode(["a x b c", "", "c a"]), block_words=2)
    for one, other in zip(found, again, strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(ValueError, match="`texts` must have at least one word with a vector"):
        model.count(["x"])
    with pytest.raises(ValueError, match="`texts` must have two words with vectors in one string"):
        model.batches(["a", "b x"])


@pytest.mark.slow
def test_words_that_stand_alike_become_alike():
    keras.utils.set_random_seed(1)
    model = GloVe.for_text(TEXT, dimensions=8, window=2, x_max=50)
    model.compile()
    losses = model.fit(model.batches(TEXT, pairs=8), epochs=20, verbose=0).history["loss"]
    assert losses[-1] < 0.1 * losses[0]
    vectors = model.vectors()
    for one, alike, other in (("king", "queen", "dog"), ("cat", "dog", "king")):
        assert vectors.similarity(one, alike) > vectors.similarity(one, other) + 0.1


def test_a_seed_of_several_ints():
    model = make()
    found = model.count(["a b c d e"])
    orders = [
        [batch["rows"].numpy().tolist() for batch in model.batches(found, pairs=8, seed=seed)]
        for seed in ((3, 0), (3, 0), (3, 1))
    ]
    assert orders[0] == orders[1] != orders[2]


def test_a_saved_model(tmp_path):
    model = make()
    model.compile()
    model.train_on_batch(PAIRS)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.get_config() == model.get_config()
    np.testing.assert_array_equal(loaded.vectors().matrix, model.vectors().matrix)
    for got, wanted in zip(loaded.optimizer.variables, model.optimizer.variables, strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_mixed_precision():
    with dtype_policy("mixed_bfloat16"):
        model = make()
    model.compile()
    before = model.vectors().matrix
    assert np.isfinite(model.train_on_batch(PAIRS))
    assert (model.vectors().matrix != before).any()
    assert model(np.array([0])).dtype == tf.float32


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"x_max": 0}, "`x_max` must be a number of at least"),
        ({"alpha": -1}, "`alpha` must be a number of at least 0"),
        ({"window": 0}, "`window`"),
        ({"dimensions": 0}, "`dimensions`"),
        ({"counts": [1]}, "`counts` must be 5 integers"),
    ],
)
def test_bad_arguments(arguments, match):
    with pytest.raises(ValueError, match=match):
        GloVe(**{"words": WORDS, "counts": COUNTS, **arguments})
