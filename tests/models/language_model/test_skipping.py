import math

import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.models import (
    InterpolatedLanguageModel,
    NGramLanguageModel,
    SkippingLanguageModel,
)
from keras_seqzoo.models.language_model.ngram import MaximumLikelihood, WittenBell
from tests.tiers import slow

TEXTS = ["a b c d", "a b d", "c b a d c", "b"]


def relative_frequencies(distance):
    """c(v w) / c(v) for words `distance` apart, from counting."""
    pairs, singles = {}, {}
    for text in TEXTS:
        words = ["<s>"] * distance + [*text.split(), "</s>"]
        for before, word in zip(words, words[distance:], strict=False):
            pairs[before, word] = pairs.get((before, word), 0) + 1
            singles[before] = singles.get(before, 0) + 1
    return {pair: count / singles[pair[0]] for pair, count in pairs.items()}


@pytest.mark.parametrize("distance", [2, 3])
def test_bigrams_at_a_distance(distance):
    model = SkippingLanguageModel.train(TEXTS, distance, estimator=MaximumLikelihood())
    expected = relative_frequencies(distance)
    for text, scores in zip(TEXTS, model.token_scores(TEXTS), strict=True):
        words = ["<s>"] * distance + [*text.split(), "</s>"]
        pairs = list(zip(words, words[distance:], strict=False))
        np.testing.assert_allclose(np.exp(scores), [expected[pair] for pair in pairs], rtol=1e-5)


@pytest.mark.parametrize(("distance", "order"), [slow(2, 2), (2, 3), slow(3, 2)])
def test_all_tokens_at_once_are_those_of_single_steps(distance, order):
    model = SkippingLanguageModel.train(TEXTS, distance, order, WittenBell())
    ids = [model.tokenizer(text).numpy().tolist() + [3] for text in (*TEXTS, "a x c b b d a")]
    lengths = tf.constant([len(row) for row in ids])
    ids = tf.ragged.constant(ids, dtype=tf.int32).to_tensor()
    found = model.token_log_probabilities(ids, lengths)
    single = super(SkippingLanguageModel, model).token_log_probabilities(ids, lengths)
    np.testing.assert_allclose(found, single, rtol=1e-5)
    wider = model.token_log_probabilities(tf.pad(ids, [[0, 0], [0, 4]]), lengths)
    np.testing.assert_array_equal(wider[:, : ids.shape[1]], found)
    assert not wider[:, ids.shape[1] :].numpy().any()


def test_distributions_sum_to_one_and_text_is_generated():
    model = SkippingLanguageModel.train(TEXTS)
    state = model.start(2)
    for tokens in ([2, 2], [5, 6], [7, 5]):
        scores, state = model.step(tf.constant(tokens), state)
        np.testing.assert_allclose(tf.reduce_sum(tf.exp(scores), -1), 1.0, rtol=1e-5)
    assert isinstance(model.generate([""])[0][0], str)


def test_a_mixture_with_skips_predicts_what_bigrams_miss():
    # Every second word follows the word two before it.
    texts = [f"{x} {y} {x} {y} {x}" for x in "abcd" for y in "pqrs"]
    bigrams = NGramLanguageModel.train(texts[::2], order=2)
    skips = SkippingLanguageModel.train(texts[::2], tokenizer=bigrams.tokenizer)
    mixture = InterpolatedLanguageModel.tuned([bigrams, skips], texts[1::2])
    perplexities = [model.perplexity(texts[1::2]).perplexity for model in (bigrams, mixture)]
    assert perplexities[1] < 0.8 * perplexities[0] and math.isfinite(perplexities[1])


def test_bad_arguments():
    with pytest.raises(ValueError, match="`distance` must be an int of at least 2, got 1"):
        SkippingLanguageModel.train(TEXTS, distance=1)
    with pytest.raises(ValueError, match="`model` must be a LanguageModel, got None"):
        SkippingLanguageModel(None)
    with pytest.raises(ValueError, match="`texts` must have at least one"):
        SkippingLanguageModel.train([])
