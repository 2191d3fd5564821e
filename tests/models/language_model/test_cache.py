import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.decoding import BeamSearch
from keras_seqzoo.models import CacheLanguageModel, NGramLanguageModel
from keras_seqzoo.models.language_model.ngram import WittenBell

TEXT = ["the cat sat", "the dog sat on the cat", "a dog", "", "the cat"]
MODEL = NGramLanguageModel.train(TEXT, order=2, estimator=WittenBell())


def expected(texts, weight, size, decay):
    """The definition, token by token."""
    own = np.concatenate(MODEL.token_scores(texts))
    ids = [int(id) for text in texts for id in [*MODEL.tokenizer(text), 3]]
    found = []
    for t, (token, score) in enumerate(zip(ids, own, strict=True)):
        past = ids[max(0, t - size) : t][::-1]
        parts = [np.exp(-decay * d) for d in range(len(past))]
        cached = sum(part for part, other in zip(parts, past, strict=True) if other == token)
        probability = np.exp(score)
        if past:
            probability = (1 - weight) * probability + weight * cached / sum(parts)
        found.append(np.log(probability))
    return found


@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize("decay", [0.0, 0.3])
def test_equation(size, decay):
    model = CacheLanguageModel(MODEL, 0.3, size, decay)
    texts = ["the cat sat", "", "the unknown dog sat", "the dog sat"]
    found = model.token_scores(texts)
    assert [len(own) for own in found] == [4, 1, 5, 4]
    np.testing.assert_allclose(np.concatenate(found), expected(texts, 0.3, size, decay), rtol=1e-5)
    total = sum(score for score, _ in model.score(texts))
    assert model.perplexity(texts).log_probability == pytest.approx(total)


@pytest.mark.parametrize("decay", [0.0, 0.3])
def test_steps_are_scores_of_one_sentence(decay):
    model = CacheLanguageModel(MODEL, 0.4, 3, decay)
    text = "the dog sat on the dog"
    ids = [int(id) for id in model.tokenizer(text)] + [3]
    scores = model.token_scores([text])[0]
    state, token = model.start(2), 2
    step = tf.function(model.step, autograph=False)
    for t, following in enumerate(ids):
        found, state = step(tf.constant([token, 5]), state)
        np.testing.assert_allclose(tf.reduce_sum(tf.exp(found), axis=-1), [1, 1], rtol=1e-5)
        assert float(found[0, following]) == pytest.approx(scores[t], rel=1e-4)
        token = following


def test_generation():
    [[text]] = CacheLanguageModel(MODEL, 0.2, 4).generate(["the"], BeamSearch(3), max_length=8)
    assert text.startswith("the")


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_the_ends_of_the_weight(weight):
    texts = ["the cat", "the cat"]
    found = np.concatenate(CacheLanguageModel(MODEL, weight).token_scores(texts))
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(found, expected(texts, weight, 500, 0.0), rtol=1e-5)


def test_no_text():
    assert CacheLanguageModel(MODEL).score([]) == []
    with pytest.raises(ValueError, match="`texts` must have at least one"):
        CacheLanguageModel(MODEL).perplexity([])


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: CacheLanguageModel("model"), "`model`.*'model'"),
        (lambda: CacheLanguageModel(MODEL, weight=2), "`weight`.*from 0 to 1.*2"),
        (lambda: CacheLanguageModel(MODEL, size=0), "`size`.*0"),
        (lambda: CacheLanguageModel(MODEL, decay=-1), "`decay`.*-1"),
    ],
)
def test_bad_arguments(make, match):
    with pytest.raises(ValueError, match=match):
        make()
