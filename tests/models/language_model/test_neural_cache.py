import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.decoding import Greedy
from keras_seqzoo.models import (
    CacheLanguageModel,
    DynamicEvaluation,
    NeuralCacheLanguageModel,
    RunningText,
)
from keras_seqzoo.models.language_model.running_text import running_tokens
from tests.models.language_model.test_recurrent import TEXT, make
from tests.tiers import slow


def expected(model, texts, weight, flatness, size):
    """The definition, token by token."""
    inputs, labels = running_tokens(model.sentence_ids(texts), model.tokenizer.start_token_id)
    state, found, past = model.start(1), [], []
    for token, label in zip(inputs, labels, strict=True):
        scores, hidden, state = model.step_with_features(tf.constant([token]), state)
        probability, hidden = np.exp(np.float64(scores[0, label])), hidden.numpy()[0]
        seen = past[-size:]
        likelihoods = [np.exp(flatness * np.float64(hidden @ before)) for before, _ in seen]
        if seen:
            same = [one for one, (_, word) in zip(likelihoods, seen, strict=True) if word == label]
            probability = (1 - weight) * probability + weight * sum(same) / sum(likelihoods)
        past.append((hidden, label))
        found.append(np.log(probability))
    return found


@pytest.mark.parametrize(
    ("size", "length"), [slow(1, 4), (3, 100), slow(3, 2), slow(100, 4), slow(100, 1)]
)
def test_equation(size, length):
    model = make(num_layers=2)
    cached = NeuralCacheLanguageModel(RunningText(model, length=length), 0.3, 2.5, size)
    found = cached.token_scores(TEXT)
    assert [len(own) for own in found] == [len(ids) for ids in model.sentence_ids(TEXT)]
    np.testing.assert_allclose(
        np.concatenate(found), expected(model, TEXT, 0.3, 2.5, size), rtol=1e-4, atol=1e-6
    )


def test_without_flatness_it_is_a_cache_of_words():
    model = make()
    running = RunningText(model, length=5)
    found = NeuralCacheLanguageModel(running, 0.2, 0.0, 4).token_scores(TEXT)
    plain = CacheLanguageModel(running, 0.2, 4).token_scores(TEXT)
    np.testing.assert_allclose(np.concatenate(found), np.concatenate(plain), rtol=1e-5)


def test_each_stream_has_a_cache():
    model = make()
    cached = NeuralCacheLanguageModel(RunningText(model, streams=3, length=4), 0.3, 1.0)
    found = np.concatenate(cached.token_scores(TEXT))
    _, labels = running_tokens(model.sentence_ids(TEXT), model.tokenizer.start_token_id)
    own = np.concatenate(RunningText(model, streams=3, length=4).token_scores(TEXT))
    assert len(labels) == 18
    for begin in (0, 6, 12):  # 18 tokens, 3 streams of 6: the first has nothing before it
        assert found[begin] == pytest.approx(own[begin], rel=1e-5)


@pytest.mark.slow
def test_over_dynamic_evaluation():
    model = make()
    weights = model.get_weights()
    dynamic = DynamicEvaluation(model, learning_rate=0.5, length=6)
    found = NeuralCacheLanguageModel(dynamic, 0.0, 1.0).token_scores(TEXT)
    plain = dynamic.token_scores(TEXT)
    np.testing.assert_allclose(np.concatenate(found), np.concatenate(plain), rtol=1e-5)
    better = NeuralCacheLanguageModel(dynamic, 0.3, 1.0).perplexity(TEXT * 3).perplexity
    assert better < dynamic.perplexity(TEXT * 3).perplexity
    for one, other in zip(weights, model.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kind", ["running", slow("dynamic")])
def test_the_best_of_a_grid_is_found_in_one_reading(kind, monkeypatch):
    running = RunningText(make(), streams=2, length=4)
    if kind == "dynamic":
        running = DynamicEvaluation(running.model, learning_rate=0.5, streams=2, length=4)
    weights, flatnesses = (0.02, 0.4, 0.9), (0.0, 1.5)
    grid = [(weight, flatness) for weight in weights for flatness in flatnesses]
    perplexities = [
        NeuralCacheLanguageModel(running, *options, 3).perplexity(TEXT).perplexity
        for options in grid
    ]
    readings, read = [], RunningText.read_parts

    def counted(*arguments):
        readings.append(1)
        return read(*arguments)

    monkeypatch.setattr(RunningText, "read_parts", counted)
    best = NeuralCacheLanguageModel.tuned(running, TEXT, weights, flatnesses, 3)
    assert readings == [1]
    assert len({round(perplexity, 3) for perplexity in perplexities}) == len(grid)
    assert (best.weight, best.flatness) == grid[int(np.argmin(perplexities))]
    assert (best.model, best.size) == (running, 3)


def test_tuning_needs_a_text_and_values():
    running = RunningText(make())
    with pytest.raises(ValueError, match="`held_out` must have at least one"):
        NeuralCacheLanguageModel.tuned(running, [])
    with pytest.raises(ValueError, match=r"`weights` and `flatnesses` .* \[\] and \[0.1\]"):
        NeuralCacheLanguageModel.tuned(running, TEXT, [], [0.1])


def test_steps_are_scores_of_one_sentence():
    model = make()
    cached = NeuralCacheLanguageModel(RunningText(model), 0.4, 1.5, 3)
    text = "the dog sat on the dog"
    ids = [int(id) for id in model.tokenizer(text)] + [3]
    scores = cached.token_scores([text])[0]
    state, token = cached.start(2), 2
    step = tf.function(cached.step, autograph=False)
    for t, following in enumerate(ids):
        found, state = step(tf.constant([token, 5]), state)
        np.testing.assert_allclose(tf.reduce_sum(tf.exp(found), axis=-1), [1, 1], rtol=1e-5)
        assert float(found[0, following]) == pytest.approx(scores[t], rel=1e-4)
        token = following


def test_generation():
    cached = NeuralCacheLanguageModel(RunningText(make()), 0.2, 1.0, 4)
    [[text]] = cached.generate(["the"], Greedy(), max_length=8)
    assert text.startswith("the")


@pytest.mark.parametrize("weight", [slow(0.0), 1.0])
def test_the_ends_of_the_weight(weight):
    model = make()
    texts = ["the cat", "the cat"]
    found = NeuralCacheLanguageModel(RunningText(model), weight, 1.0).token_scores(texts)
    with np.errstate(divide="ignore"):
        wanted = expected(model, texts, weight, 1.0, 500)
    np.testing.assert_allclose(np.concatenate(found), wanted, rtol=1e-4)


def test_no_text():
    cached = NeuralCacheLanguageModel(RunningText(make()))
    assert cached.score([]) == []
    with pytest.raises(ValueError, match="`texts` must have at least one"):
        cached.perplexity([])


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"model": "model"}, "`model` must be a RunningText, got 'model'"),
        ({"weight": 2}, "`weight`.*from 0 to 1.*2"),
        ({"size": 0}, "`size`.*0"),
        ({"flatness": -1}, "`flatness`.*-1"),
    ],
)
def test_bad_arguments(options, match):
    with pytest.raises(ValueError, match=match):
        NeuralCacheLanguageModel(**{"model": RunningText(make()), **options})
