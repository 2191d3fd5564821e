import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.models.word_vectors import FastText, Word2Vec
from keras_seqzoo.models.word_vectors.character_ngrams import CharacterNgrams
from keras_seqzoo.models.word_vectors.windows import neighbours
from tests.layer_checks import dtype_policy

WORDS, COUNTS = ["cat", "cats", "dog", "a", "dogs"], [9, 7, 5, 3, 1]
BUCKETS = 5  # so that n-grams share them, and words have some twice
TEXT = ["king rules land", "queen rules land", "dog eats bone", "cat eats bone"] * 60


def make(minimum_ngram=3, **kwargs):
    ngrams = {"minimum_ngram": minimum_ngram, "maximum_ngram": 4, "buckets": BUCKETS}
    model = FastText(WORDS, COUNTS, dimensions=4, window=2, subsample=0, **ngrams, **kwargs)
    generator = np.random.default_rng(0)
    model.set_weights([generator.normal(size=weight.shape) for weight in model.weights])
    return model


def ngrams_of(words, minimum=3):
    rows, lengths = CharacterNgrams(minimum, 4, BUCKETS).hash(words)
    return np.split(rows, np.cumsum(lengths)[:-1])


@pytest.mark.parametrize("minimum", [3, 4])  # with 4 "a" has none
def test_a_word_is_the_sum_of_its_ngrams_and_its_own(minimum):
    model = make(minimum)
    own, _, table = model.get_weights()
    expected = own + [table[rows].sum(axis=0) for rows in ngrams_of(WORDS, minimum)]
    words = np.array([[3, 0, 4], [1, 3, 3]])
    np.testing.assert_allclose(model(words), expected[words], rtol=1e-5)
    np.testing.assert_allclose(model.vectors().matrix, expected, rtol=1e-5)


def batch():
    return {
        "words": np.array([[0, 0, 1, 0, 2, 3, 0]], np.int32),
        "sentences": np.array([[-1, -1, 0, 0, 0, 0, -1]], np.int32),
        "reach": np.array([[1, 2, 2]], np.int32),
    }


def test_loss_and_gradients_of_a_step():
    """Skip-gram with the full softmax, which has no noise."""
    model, x = make(objective="full"), batch()
    own, outputs, table = before = model.get_weights()
    ngrams = ngrams_of(WORDS)
    near = neighbours(x["sentences"], x["reach"], 2).numpy()[0]
    gradients, losses = [np.zeros_like(weight) for weight in before], []
    for place in range(3):
        for other in np.flatnonzero(near[place]):
            word, target = x["words"][0, place + 2], x["words"][0, other]
            hidden = own[word] + table[ngrams[word]].sum(axis=0)
            probabilities = np.exp(outputs @ hidden)
            probabilities /= probabilities.sum()
            losses.append(-np.log(probabilities[target]))
            errors = probabilities - np.eye(len(WORDS))[target]
            gradients[0][word] += errors @ outputs
            gradients[1] += np.outer(errors, hidden)
            np.add.at(gradients[2], ngrams[word], errors @ outputs)
    assert len(losses) == 7
    model.compile(keras.optimizers.SGD(1.0))
    assert float(model.train_on_batch(x)) == pytest.approx(np.mean(losses), rel=1e-5)
    for old, new, gradient in zip(before, model.get_weights(), gradients, strict=True):
        np.testing.assert_allclose(new, old - gradient / len(losses), rtol=1e-4, atol=1e-4)


def test_negative_sampling_is_that_of_word2vec():
    """With n-grams that are zeros, all is as in `Word2Vec`, noise words too."""
    models = []
    for kind, more in ((Word2Vec, {}), (FastText, {"buckets": BUCKETS})):
        keras.utils.set_random_seed(0)
        models.append(kind(WORDS, COUNTS, dimensions=4, window=2, **more))
    plain, with_ngrams = models
    generator = np.random.default_rng(0)
    weights = [generator.normal(size=(5, 4)) for _ in range(2)]
    plain.set_weights(weights)
    with_ngrams.set_weights([*weights, np.zeros((BUCKETS, 4))])
    losses = [float(model.compute_loss(batch(), y_pred=model(batch()))) for model in models]
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("architecture", "objective"),
    [("skip-gram", "negative-sampling"), ("cbow", "negative-sampling"), ("cbow", "full")],
)
def test_words_that_stand_alike_become_alike(architecture, objective):
    keras.utils.set_random_seed(1)
    kind = {"architecture": architecture, "objective": objective}
    model = FastText.for_text(TEXT, dimensions=8, window=2, subsample=0, buckets=200, **kind)
    model.compile()
    batches = model.batches(TEXT, words=90, row_length=16)
    losses = model.fit(batches, epochs=8, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    vectors = model.vectors()
    for one, alike, other in (("king", "queen", "dog"), ("cat", "dog", "king")):
        assert vectors.similarity(one, alike) > vectors.similarity(one, other) + 0.1
    assert "kings" not in vectors.words
    assert vectors.similarity("kings", "king") > vectors.similarity("kings", "dog") + 0.1


def test_a_saved_model(tmp_path):
    model = make()
    model.compile()
    model.train_on_batch(batch())
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.get_config() == model.get_config()
    np.testing.assert_array_equal(loaded.vectors().matrix, model.vectors().matrix)
    np.testing.assert_array_equal(loaded.vectors()["cow"], model.vectors()["cow"])
    for got, wanted in zip(loaded.optimizer.variables, model.optimizer.variables, strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.slow
def test_mixed_precision():
    with dtype_policy("mixed_bfloat16"):
        model = make()
    model.compile()
    before = model.vectors().matrix
    assert np.isfinite(model.train_on_batch(batch()))
    assert (model.vectors().matrix != before).any()
    vectors = model(np.array([0, 2]))
    assert vectors.dtype == tf.float32
    np.testing.assert_allclose(vectors, model.vectors().matrix[[0, 2]], rtol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"minimum_ngram": 0}, "`minimum_ngram`"),
        ({"maximum_ngram": 2}, "`maximum_ngram`"),
        ({"buckets": 0}, "`buckets`"),
        ({"objective": "nce"}, "`objective`"),
    ],
)
def test_bad_arguments(arguments, match):
    with pytest.raises(ValueError, match=match):
        FastText(WORDS, COUNTS, **arguments)
