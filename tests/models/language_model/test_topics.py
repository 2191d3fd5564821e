import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.models import (
    CacheLanguageModel,
    InterpolatedLanguageModel,
    NGramLanguageModel,
    TopicLanguageModel,
    TopicModel,
)
from keras_seqzoo.models.language_model.ngram import WittenBell
from keras_seqzoo.tokenizers import WordTokenizer

ANIMALS = ["dog cat dog cow", "cat dog cow", "cow cat cat dog"]
TREES = ["tree leaf tree", "leaf root leaf tree", "root tree leaf"]
TOKENIZER = WordTokenizer.train(ANIMALS + TREES)


@pytest.fixture(scope="module")
def topics():
    return TopicModel.train(ANIMALS + TREES, TOKENIZER, topics=2, iterations=60, seed=1)


@pytest.fixture(scope="module")
def model():
    return NGramLanguageModel.train(ANIMALS + TREES, 2, WittenBell(), TOKENIZER)


def test_expectation_maximization_in_plain_numpy():
    texts = [ANIMALS[0], "", *ANIMALS[1:]]  # the empty text changes nothing
    found = TopicModel.train(texts, TOKENIZER, topics=2, iterations=3, seed=5)
    size = TOKENIZER.vocabulary_size()
    counts = np.zeros((len(ANIMALS), size))
    for row, text in enumerate(ANIMALS):
        for word in TOKENIZER(text).numpy():
            counts[row, word] += 1
    noise = np.random.default_rng(5).uniform(0.5, 1.5, (2, size))
    phi = (counts.sum(axis=0) + 0.01) * noise
    phi /= phi.sum(axis=1, keepdims=True)
    theta = np.full((len(ANIMALS), 2), 0.5)
    for _ in range(3):
        joint = theta[:, :, np.newaxis] * phi  # (texts, K, V)
        shares = counts[:, np.newaxis] * joint / joint.sum(axis=1, keepdims=True)
        theta, phi = shares.sum(axis=2), shares.sum(axis=0) + 0.01
        theta /= theta.sum(axis=1, keepdims=True)
        phi /= phi.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.words, phi, rtol=1e-5)
    np.testing.assert_allclose(found.weights, counts.sum(1) @ theta / counts.sum(), rtol=1e-5)


def test_topics_are_what_words_occur_together(topics):
    words = {frozenset(words) for words in topics.frequent_words(3)}
    assert words == {frozenset({"dog", "cat", "cow"}), frozenset({"tree", "leaf", "root"})}
    np.testing.assert_allclose(topics.words.sum(axis=1), 1.0, rtol=1e-5)
    np.testing.assert_allclose(topics.unigrams.sum(), 1.0, rtol=1e-5)


def test_the_equations_in_plain_numpy(model, topics):
    following = TopicLanguageModel(model, topics, exponent=0.7, prior=3.0, memory=2)
    texts = ["dog tree", "cow"]
    found = np.concatenate(following.token_scores(texts))
    weights, expected, read = topics.weights.astype(float), [], 0
    for text in texts:
        state, before = model.start(1), TOKENIZER.start_token_id
        for word in [*TOKENIZER(text).numpy(), TOKENIZER.end_token_id]:
            scores, state = model.step(tf.constant([before], tf.int32), state)
            ratio = (weights @ topics.words) / (topics.weights @ topics.words)
            ratio[TOKENIZER.end_token_id] = 1.0
            scaled = np.exp(scores[0].numpy().astype(float)) * ratio**0.7
            expected.append(np.log(scaled[word] / scaled.sum()))
            if word != TOKENIZER.end_token_id:
                read += 1
                joint = weights * topics.words[:, word]
                weights = weights + (joint / joint.sum() - weights) / (min(read, 2) + 3.0)
            before = word
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_steps_are_those_of_a_first_sentence(model, topics):
    following = TopicLanguageModel(model, topics)
    [expected] = following.token_scores(["dog cow cat"])
    ids = [*TOKENIZER("dog cow cat").numpy(), TOKENIZER.end_token_id]
    found = following.token_log_probabilities(tf.constant([ids]), tf.constant([4]))
    np.testing.assert_allclose(found[0], expected, rtol=1e-4)


def test_a_text_about_one_thing_is_predicted_better(model, topics):
    text = ["dog cow cat cow dog", "cat dog cow"]
    following = TopicLanguageModel(model, topics, exponent=1.0, prior=1.0)
    assert following.perplexity(text).perplexity < model.perplexity(text).perplexity
    same = TopicLanguageModel(model, topics, exponent=0.0)
    np.testing.assert_allclose(
        same.perplexity(text).perplexity, model.perplexity(text).perplexity, rtol=1e-5
    )
    assert following.token_scores([]) == []


def test_bad_arguments(model, topics):
    with pytest.raises(ValueError, match="`topics` must be an int of at least 1, got 0"):
        TopicModel.train(ANIMALS, TOKENIZER, topics=0)
    with pytest.raises(ValueError, match="`texts` must have at least one word, got none"):
        TopicModel.train(["", " "], TOKENIZER)
    with pytest.raises(ValueError, match=r"`words` must have the shape .* \(2, 11\), got \(2, 3\)"):
        TopicModel(np.ones((2, 3)), [0.5, 0.5], TOKENIZER)
    with pytest.raises(ValueError, match="`words` must be finite numbers above 0"):
        TopicModel(np.eye(2, 11), [0.5, 0.5], TOKENIZER)
    with pytest.raises(ValueError, match="`prior` must be a number above 0, got 0"):
        TopicLanguageModel(model, topics, prior=0)
    with pytest.raises(ValueError, match="`topics` must be a TopicModel, got None"):
        TopicLanguageModel(model, None)
    with pytest.raises(ValueError, match="of separate sentences, got CacheLanguageModel"):
        TopicLanguageModel(CacheLanguageModel(model), topics)
    mixture = InterpolatedLanguageModel([model, TopicLanguageModel(model, topics)])
    with pytest.raises(ValueError, match="of separate sentences, got Interpolated"):
        TopicLanguageModel(mixture, topics)
    other = TopicModel.train(["x"], WordTokenizer(["x"]), topics=1)
    with pytest.raises(ValueError, match="`models` must have the same vocabulary"):
        TopicLanguageModel(model, other)
