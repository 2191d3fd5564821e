import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.decoding import BeamSearch, Greedy, MinimumLength, Sampling
from keras_seqzoo.models import (
    FeedForwardLanguageModel,
    InterpolatedLanguageModel,
    LogLinearLanguageModel,
    NGramLanguageModel,
    RecurrentBackbone,
    RecurrentLanguageModel,
    RecurrentLanguageModelPreprocessor,
)
from keras_seqzoo.serving import export
from keras_seqzoo.tokenizers import BytePairTokenizer, CharacterTokenizer, WordTokenizer
from tests.serving.fresh_server import answers_of, hexadecimal

TEXT = ["the cat sat", "the dog sat on the cat", "a dog", "", "the cat"]
PROMPTS = ["the", "", "a dog"]


def recurrent(tokenizer):
    keras.utils.set_random_seed(3)
    return RecurrentLanguageModel(
        RecurrentBackbone(tokenizer.vocabulary_size(), embedding_dim=4, units=6),
        RecurrentLanguageModelPreprocessor(tokenizer),
    )


def ngram_model():
    return NGramLanguageModel.train(TEXT, 3, tokenizer=WordTokenizer.train(TEXT))


def models():
    words = WordTokenizer.train(TEXT)
    ngram = ngram_model()
    return {
        "n-gram": ngram,
        "log-linear": LogLinearLanguageModel.for_text(TEXT, order=3, tokenizer=words),
        "feed-forward": FeedForwardLanguageModel(words, order=3, embedding_dim=4),
        "recurrent": recurrent(words),
        "mixture": InterpolatedLanguageModel([ngram, recurrent(words)]),
        "characters": recurrent(CharacterTokenizer.train(TEXT)),
        "subwords": recurrent(BytePairTokenizer.train(TEXT * 3, 275)),
    }


OTHERS = ("log-linear", "feed-forward", "recurrent", "characters", "subwords")


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [("n-gram", "mixture"), OTHERS], ids=["some", "others"])
def test_all_kinds_are_served(kinds, tmp_path):
    """A process with TensorFlow alone scores and generates as the models do."""
    made = models()
    requests, expected = [], []
    for name in kinds:
        model = made[name]
        strategy = BeamSearch(2, n_best=2)
        path = export(model, tmp_path / name, strategy=strategy, max_length=9)
        calls = [
            ["serving_default", {"text": hexadecimal(PROMPTS)}],
            ["score", {"text": hexadecimal(TEXT)}],
            ["serving_default", {"text": []}],
            ["score", {"text": []}],
            ["score", {"text": hexadecimal([""])}],
        ]
        requests.append([path, calls, "v1" if name == "mixture" else "v2"])
        options = {"strategy": strategy, "max_length": 9}
        expected.append((model.generate(PROMPTS, **options), model.score(TEXT)))
    for answer, (texts, scores) in zip(answers_of(requests), expected, strict=True):
        generated, scored, *nothing, blank = answer["outputs"]
        assert not any(rows for outputs in nothing for rows in outputs.values())
        assert blank["tokens"] == [1]
        assert generated["generated"] == texts
        np.testing.assert_allclose(scored["log_probability"], [s for s, _ in scores], rtol=1e-4)
        assert scored["tokens"] == [tokens for _, tokens in scores]
        assert not any(generated["truncated"] + scored["truncated"])


@pytest.mark.slow
def test_samples_and_long_prompts(tmp_path):
    model = ngram_model()
    path = export(model, tmp_path, strategy=Sampling(samples=4), max_length=3)
    served = tf.saved_model.load(path).signatures["serving_default"]
    found = served(text=tf.constant(["the", "the dog sat on the cat"]))
    assert found["generated"].shape == (2, 4) and found["scores"].shape == (2, 4)
    assert {text.decode() for text in found["generated"][1].numpy()} == {"the dog sat"}
    assert found["truncated"].numpy().tolist() == [False, True]
    assert served(text=tf.constant([], tf.string))["generated"].shape == (0, 4)


def test_long_sentences_are_scored_to_the_limit(tmp_path):
    model = ngram_model()
    path = export(model, tmp_path, max_input_length=4)
    served = tf.saved_model.load(path)
    texts = ["the dog sat on", "the dog sat on the cat", "the", ""]
    found = served.signatures["score"](text=tf.constant(texts))
    assert found["truncated"].numpy().tolist() == [False, True, False, False]
    assert found["tokens"].numpy().tolist() == [5, 4, 2, 1]
    expected = [sum(scores.tolist()) for scores in model.token_scores(texts)]
    expected[1] = sum(model.token_scores(texts)[1][:4].tolist())
    np.testing.assert_allclose(found["log_probability"], expected, rtol=1e-5)
    found = served.signatures["serving_default"](text=tf.constant(texts))
    assert found["truncated"].numpy().tolist() == [False, True, False, False]
    assert found["generated"][1, 0].numpy().startswith(b"the dog sat on")


def test_wrong_arguments(tmp_path):
    model = ngram_model()
    with pytest.raises(TypeError, match="`strategy` must be a DecodingStrategy"):
        export(model, tmp_path, strategy="greedy")
    with pytest.raises(ValueError, match="`max_length` must be an int of at least 1"):
        export(model, tmp_path, strategy=Greedy(), max_length=0)
    with pytest.raises(ValueError, match="`max_length` must be at least the 9 of MinimumLength"):
        export(model, tmp_path, strategy=Greedy(constraints=[MinimumLength(9)]), max_length=5)
    with pytest.raises(ValueError, match="`n_best` must be at most `width`"):
        export(model, tmp_path, strategy=BeamSearch(2), n_best=3)
    assert not list(tmp_path.iterdir())
