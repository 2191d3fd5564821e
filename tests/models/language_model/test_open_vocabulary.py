import math

import numpy as np
import pytest

from keras_seqzoo.models import NGramLanguageModel, OpenVocabulary
from keras_seqzoo.models.language_model.ngram import WittenBell
from keras_seqzoo.tokenizers import BytePairTokenizer, WordTokenizer

TEXT = ["the cat sat", "the dog sat on the cat", "a dog"]
MODEL = NGramLanguageModel.train(TEXT, order=2, estimator=WittenBell())
LETTERS = NGramLanguageModel.train(
    [" ".join(word) for line in TEXT for word in line.split()], order=2, estimator=WittenBell()
)


def test_interpolation_with_a_uniform_distribution():
    found = OpenVocabulary(MODEL, weight=0.2, vocabulary_size=1000).score(["the cow"])
    the, _, end = np.exp(MODEL.token_scores(["the cow"])[0])
    expected = (0.8 * the + 0.2 / 1000) * (0.2 / 1000) * (0.8 * end)
    assert found == [(pytest.approx(math.log(expected)), 3)]


def test_interpolation_with_a_spelling():
    found = OpenVocabulary(MODEL, weight=0.2, spelling=LETTERS).score(["the cod"])
    the, _, end = np.exp(MODEL.token_scores(["the cod"])[0])
    spelled = {word: np.exp(LETTERS.score([" ".join(word)])[0][0]) for word in ("the", "cod")}
    expected = (0.8 * the + 0.2 * spelled["the"]) * (0.2 * spelled["cod"]) * (0.8 * end)
    assert found == [(pytest.approx(math.log(expected), rel=1e-5), 3)]


@pytest.mark.parametrize("spelling", [None, LETTERS])
def test_words_that_were_rare_in_training(spelling):
    tokenizer = WordTokenizer.train(TEXT, minimum_count=2)
    model = NGramLanguageModel.train(TEXT, 2, WittenBell(), tokenizer)
    found = OpenVocabulary(model, weight=None, vocabulary_size=500, spelling=spelling)
    word = -math.log(500) if spelling is None else LETTERS.score(["c o d"])[0][0]
    [(score, tokens)] = found.score(["the cod sat"])
    assert tokens == 4
    assert score == pytest.approx(model.score(["the cod sat"])[0][0] + word, rel=1e-5)


@pytest.mark.slow
def test_probabilities_of_all_words_sum_to_one():
    known = MODEL.tokenizer.words
    lexicon = [*known, *(f"new{number}" for number in range(50 - len(known)))]
    model = OpenVocabulary(MODEL, weight=0.3, vocabulary_size=50)
    # Of one-word sentences and the empty one: what comes first, whatever follows.
    firsts = [
        score - np.log(0.7) - MODEL.token_scores([word])[0][-1]
        for word, (score, _) in zip(lexicon, model.score(lexicon), strict=True)
    ]
    total = np.exp(firsts).sum() + 0.7 * np.exp(MODEL.score([""])[0][0])
    # The model's own [UNK] has a part that no word gets.
    unknown = 0.7 * np.exp(MODEL.token_scores(["new1"])[0][0])
    assert total + unknown == pytest.approx(1.0, rel=1e-5)


def test_words_are_those_of_the_tokenizer():
    tokenizer = WordTokenizer.train(TEXT, normalization=["lowercase"], split_punctuation=True)
    model = NGramLanguageModel.train(TEXT, 2, WittenBell(), tokenizer)
    open_model = OpenVocabulary(model, weight=0.1)
    assert open_model.score(["The CAT, sat"]) == open_model.score(["the cat , sat"])
    assert open_model.perplexity(["The CAT, sat"]).unknown == 1
    assert OpenVocabulary(model, weight=0.0).score(["The Cat"]) == model.score(["the cat"])


def test_unknown_letters_share_a_probability():
    texts = ["東", "d東"]
    found = OpenVocabulary(MODEL, weight=1.0, spelling=LETTERS)._score_words(set(texts), set())
    for word in texts:
        [(score, _)] = LETTERS.score([" ".join(word)])
        assert found[word] == pytest.approx(score - math.log(0x110000))


def test_perplexity():
    texts = ["the cow", "a dog sat"]
    model = OpenVocabulary(MODEL)
    found = model.perplexity(texts)
    total = sum(score for score, _ in model.score(texts))
    assert (found.events, found.unknown) == (7, 1)
    assert found.perplexity == pytest.approx(math.exp(-total / 7))
    assert found.unknown_words == "0.05 times 1 / 1000000, also added to known words"
    rare = OpenVocabulary(MODEL, weight=None, spelling=LETTERS).perplexity(texts)
    assert rare.unknown_words == "the probability of [UNK] times the probability of its letters"
    assert MODEL.perplexity(texts).unknown_words == "the probability of [UNK]"
    assert OpenVocabulary(MODEL, weight=0.0).perplexity(["the cow"]).perplexity == math.inf


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: OpenVocabulary("model"), "`model` must be a LanguageModel.*'model'"),
        (lambda: OpenVocabulary(MODEL, spelling=1), "`spelling` must be a LanguageModel.*1"),
        (lambda: OpenVocabulary(MODEL, weight=1.5), "`weight`.*from 0 to 1 or None.*1.5"),
        (lambda: OpenVocabulary(MODEL, vocabulary_size=5), "`vocabulary_size`.*at least 6.*5"),
        (lambda: OpenVocabulary(MODEL).score("the cat"), "`texts` must be a list"),
        (lambda: OpenVocabulary(MODEL).perplexity("the cat"), "`texts` must be a list"),
        (lambda: OpenVocabulary(MODEL).perplexity([]), "`texts` must have at least one"),
        (
            lambda: OpenVocabulary(
                NGramLanguageModel.train(TEXT, tokenizer=BytePairTokenizer.train(TEXT, 275))
            ),
            "WordTokenizer.*BytePairTokenizer",
        ),
    ],
)
def test_bad_arguments(make, match):
    with pytest.raises(ValueError, match=match):
        make()
