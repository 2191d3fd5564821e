import numpy as np
import pytest

from keras_seqzoo.models.language_model.ngram import FixedInterpolation, NGramLanguageModel
from keras_seqzoo.models.language_model.ngram.held_out import tune_interpolation
from tests.models.language_model.ngram.test_estimators import BEGIN, END, VOCABULARY, flat
from tests.seeds import random_generator
from tests.tiers import slow

RANDOM = random_generator(3)
# Words that lean on the one before.
CHAINS = [list(np.clip(np.cumsum(RANDOM.integers(-1, 2, 8)) + 3, 2, 5)) for _ in range(60)]
TEXT, HELD_OUT = CHAINS[:40], CHAINS[40:]


def words(sentences):
    return [" ".join(f"w{word}" for word in sentence) for sentence in sentences]


@pytest.mark.parametrize("order", [slow(1), 2, slow(3)])
def test_no_other_weights_are_better(order):
    model = NGramLanguageModel.train_interpolated(words(TEXT), words(HELD_OUT), order)
    found = tune_interpolation(flat(TEXT), flat(HELD_OUT), order, VOCABULARY, BEGIN)
    best = model.perplexity(words(HELD_OUT)).perplexity

    def perplexity(weights):
        estimator = FixedInterpolation(weights)
        other = NGramLanguageModel.train(words(TEXT), order, estimator, model.tokenizer)
        return other.perplexity(words(HELD_OUT)).perplexity

    for n in range(order):
        for weight in (0.0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0):
            weights = list(found.weights)
            weights[n] = weight
            assert perplexity(weights) >= best * (1 - 1e-4)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_deleted_interpolation_predicts_each_word_from_the_others(order):
    """No other weights are better, with the counts of the text without the word predicted."""
    sentences = TEXT[:12]
    found = tune_interpolation(flat(sentences), None, order, VOCABULARY, BEGIN).weights
    events = [
        [(tuple(sentence[max(0, t - n) : t]), sentence[t]) for n in range(order)]
        for sentence in ([BEGIN, *map(int, sentence), END] for sentence in sentences)
        for t in range(1, len(sentence))
    ]
    possible = VOCABULARY - 1

    def log_likelihood(weights):
        total = 0.0
        for event in events:
            probability = 1.0 / possible
            for n, (context, word) in enumerate(event):
                seen = [other[n][1] for other in events if other[n][0] == context]
                if len(context) == n and len(seen) > 1:
                    likelihood = (seen.count(word) - 1) / (len(seen) - 1)
                    probability = (1 - weights[n]) * likelihood + weights[n] * probability
            total += np.log(probability)
        return total

    best = log_likelihood(found)
    for n in range(order):
        for weight in (0.02, 0.3, 0.7, 0.98):
            weights = list(found)
            weights[n] = weight
            assert log_likelihood(weights) <= best + 1e-3


def test_a_text_that_says_nothing_new_needs_no_shorter_contexts():
    found = tune_interpolation(flat(TEXT), flat(TEXT), 2, VOCABULARY, BEGIN)
    assert found.weights[1] < 0.02


def test_words_that_are_new_lead_to_the_uniform_distribution():
    text, other = [[2, 2, 2]] * 5, [[3, 4, 5]] * 5
    found = tune_interpolation(flat(text), flat(other), 1, VOCABULARY, BEGIN)
    # Of four events one, the end, is known; it can come from both.
    assert found.weights[0] > 0.7


@pytest.mark.parametrize("held_out", [[BEGIN], [BEGIN, 5]])
def test_bad_held_out_text(held_out):
    with pytest.raises(ValueError, match="`held_out` must have tokens to predict"):
        tune_interpolation(flat(TEXT), held_out, 2, VOCABULARY, BEGIN, excluded=(5,))


def test_no_text():
    with pytest.raises(ValueError, match="`held_out` must have at least one"):
        NGramLanguageModel.train_interpolated(["a"], [])
