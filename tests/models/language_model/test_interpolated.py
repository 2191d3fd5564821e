import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.decoding import BeamSearch
from keras_seqzoo.models import (
    FeedForwardLanguageModel,
    InterpolatedLanguageModel,
    NGramLanguageModel,
)
from keras_seqzoo.models.language_model.ngram import MaximumLikelihood, WittenBell

TEXT = ["the cat sat", "the dog sat on the cat", "a dog", "", "the cat"]
HELD_OUT = ["the dog sat", "a cat on the dog", "dog"]
TRIGRAM = NGramLanguageModel.train(TEXT, order=3, estimator=WittenBell())
UNIGRAM = NGramLanguageModel.train(TEXT, order=1, estimator=WittenBell())
NEURAL = FeedForwardLanguageModel(TRIGRAM.tokenizer, order=3, embedding_dim=3, hidden_units=[4])


def test_a_mean_of_probabilities():
    models = [TRIGRAM, NEURAL, UNIGRAM]
    mixed = InterpolatedLanguageModel(models, [2, 1, 1])
    each = [model.token_scores(HELD_OUT) for model in models]
    for found, *own in zip(mixed.token_scores(HELD_OUT), *each, strict=True):
        expected = np.average(np.exp(own), axis=0, weights=[2, 1, 1])
        np.testing.assert_allclose(np.exp(found), expected, rtol=1e-5)
    found, state = tf.function(mixed.step, autograph=False)(tf.constant([2, 2]), mixed.start(2))
    np.testing.assert_allclose(tf.reduce_sum(tf.exp(found), axis=-1), [1, 1], rtol=1e-5)
    own, _ = TRIGRAM.step(tf.constant([2, 2]), TRIGRAM.start(2))
    assert np.isneginf(own[:, 2]).all() and not np.isneginf(found[:, 2]).any()
    assert len(state) == 3
    [[text]] = mixed.generate(["the"], BeamSearch(3))
    assert text.startswith("the")


def test_a_weight_of_0_leaves_the_others():
    impossible = NGramLanguageModel.train(TEXT, order=3, estimator=MaximumLikelihood())
    mixed = InterpolatedLanguageModel([TRIGRAM, impossible], [3, 0])
    np.testing.assert_allclose(mixed.score(HELD_OUT), TRIGRAM.score(HELD_OUT), rtol=1e-6)


@pytest.mark.slow
def test_tuned_weights_are_the_best():
    models = [TRIGRAM, UNIGRAM]
    tuned = InterpolatedLanguageModel.tuned(models, HELD_OUT)
    best = tuned.perplexity(HELD_OUT).perplexity
    assert sum(tuned.weights) == pytest.approx(1.0)
    for weight in np.linspace(0, 1, 21):
        other = InterpolatedLanguageModel(models, [weight, 1 - weight])
        assert other.perplexity(HELD_OUT).perplexity >= best * (1 - 1e-6)
    assert best < min(model.perplexity(HELD_OUT).perplexity for model in models)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: InterpolatedLanguageModel([]), "`models` must have at least one"),
        (lambda: InterpolatedLanguageModel([TRIGRAM, 1]), "got 1 as number 2"),
        (
            lambda: InterpolatedLanguageModel([TRIGRAM, NGramLanguageModel.train(["a b"])]),
            r"same vocabulary as number 1 \(11 tokens\), got .* 7 tokens in number 2",
        ),
        (lambda: InterpolatedLanguageModel([TRIGRAM], [1, 2]), "`weights`.*1 `models`, got 2"),
        (lambda: InterpolatedLanguageModel([TRIGRAM], [-1]), "`weights`.*-1"),
        (lambda: InterpolatedLanguageModel([TRIGRAM], [0]), "`weights` must not all be 0"),
        (lambda: InterpolatedLanguageModel.tuned([TRIGRAM], []), "`held_out`.*at least one"),
        (
            lambda: InterpolatedLanguageModel.tuned(
                [NGramLanguageModel.train(TEXT, 2, MaximumLikelihood())], HELD_OUT
            ),
            "`held_out` must have tokens that are possible in one",
        ),
    ],
)
def test_bad_arguments(make, match):
    with pytest.raises(ValueError, match=match):
        make()
