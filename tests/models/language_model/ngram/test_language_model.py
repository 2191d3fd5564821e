import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.decoding import BeamSearch, Greedy, Sampling
from keras_seqzoo.models import (
    CacheLanguageModel,
    InterpolatedLanguageModel,
    LogLinearLanguageModel,
)
from keras_seqzoo.models.language_model.ngram import NGramLanguageModel, WittenBell
from keras_seqzoo.tokenizers import BytePairTokenizer, WordTokenizer, training_texts
from tests.counting.texts import LINES, Stream, write_ngrams
from tests.layer_checks import check_saved_model_in_fresh_process
from tests.tiers import slow

TEXT = ["the cat sat", "the dog sat on the cat", "a dog", "", "the cat"]


def model(order=3, **kwargs):
    return NGramLanguageModel.train(TEXT, order=order, estimator=WittenBell(), **kwargs)


@pytest.mark.parametrize("order", [1, 2, 3, slow(5)])
def test_a_step_and_a_score_and_a_call_agree(order):
    lm = model(order)
    ids = tf.constant([[5, 6, 1, 5, 3], [7, 5, 3, 0, 0]])
    scores = lm.token_log_probabilities(ids, tf.constant([5, 3])).numpy()
    begin = tf.fill([2, 1], 2)
    called = lm(tf.concat([begin, ids[:, :-1]], axis=1)).numpy()
    state = lm.start(2)
    assert state.shape == (2, order - 1)
    step = tf.function(lm.step, autograph=False)
    token = begin[:, 0]
    for t in range(5):
        found, state = step(token, state)
        np.testing.assert_allclose(found, called[:, t], rtol=1e-6)
        np.testing.assert_allclose(tf.reduce_sum(tf.exp(found), axis=-1), [1, 1], rtol=1e-5)
        token = ids[:, t]
        own = tf.where([True, t < 3], tf.gather(found, token, batch_dims=1), 0.0)
        np.testing.assert_allclose(scores[:, t], own, rtol=1e-6)


def test_padding_and_batches_change_nothing():
    lm = model()
    sentences = ["the cat", "a dog sat on the unknown cat", "", "dog"]
    together = lm.score(sentences)
    np.testing.assert_allclose(together, [lm.score([s])[0] for s in sentences], rtol=1e-6)
    np.testing.assert_allclose(together, lm.score(sentences, batch_size=1), rtol=1e-6)
    assert [tokens for _, tokens in together] == [3, 8, 1, 2]


def test_perplexity():
    lm = model()
    found = lm.perplexity(["the cat", "a bird"])
    total = sum(score for score, _ in lm.score(["the cat", "a bird"]))
    assert found.events == 6 and found.unknown == 1
    assert found.log_probability == pytest.approx(total)
    assert found.perplexity == pytest.approx(np.exp(-total / 6))
    assert found.bits_per_character == pytest.approx(-total / np.log(2) / 15)


def test_text_is_brought_into_its_normal_form():
    tokenizer = WordTokenizer.train(TEXT, normalization=["lowercase"], add_bos=True)
    plain, lowered = (
        model(),
        NGramLanguageModel.train(
            [text.upper() for text in TEXT], order=3, estimator=WittenBell(), tokenizer=tokenizer
        ),
    )
    assert lowered.score(["The Cat"]) == plain.score(["the cat"])
    assert lowered.perplexity(["The Cat"]).unknown == 0
    assert lowered.generate(["THE"], Greedy()) == plain.generate(["the"], Greedy())


@pytest.mark.parametrize(
    "use",
    [
        lambda lm: lm.score("the cat"),
        lambda lm: lm.perplexity("the cat"),
        lambda lm: CacheLanguageModel(lm).score("the cat"),
        lambda lm: InterpolatedLanguageModel.tuned([lm], "the cat"),
        lambda lm: NGramLanguageModel.train("the cat"),
        lambda lm: NGramLanguageModel.train_interpolated(TEXT, "the cat"),
        lambda lm: LogLinearLanguageModel.for_text("the cat"),
    ],
)
def test_a_string_is_not_read_letter_by_letter(use):
    with pytest.raises(ValueError, match="must be a list of strings, got the string 'the cat'"):
        use(model())


def test_generation():
    lm = model()
    [[best]] = lm.generate(["the"], Greedy())
    assert best.startswith("the cat")
    both = lm.generate(["", "a dog"], BeamSearch(3, n_best=2), max_length=6)
    assert [len(found) for found in both] == [2, 2]
    assert all(text.startswith("a dog") for text in both[1])
    assert lm.generate(["the"], Sampling(2, seed=1)) == lm.generate(["the"], Sampling(2, seed=1))
    assert lm.generate([]) == []


def test_a_subword_tokenizer():
    tokenizer = BytePairTokenizer.train(["the cat sat on the dog"] * 3, 275)
    lm = model(tokenizer=tokenizer)
    assert lm.lookup.sizes[0] == 275
    [[text]] = lm.generate(["the cat"], Greedy())
    assert text.startswith("the cat")


def check_equal(found, expected):
    assert found.tokenizer.get_vocabulary() == expected.tokenizer.get_vocabulary()
    assert found.lookup.sizes == expected.lookup.sizes
    for got, wanted in zip(found.get_weights(), expected.get_weights(), strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("memory", [slow(None), 1])
def test_texts_of_any_length(memory, monkeypatch):
    expected = NGramLanguageModel.train(LINES, order=3)
    monkeypatch.setattr(training_texts, "BATCH_SIZE", 3)
    found = NGramLanguageModel.train(Stream(LINES), order=3, memory=memory)
    check_equal(found, expected)
    check_equal(NGramLanguageModel.train(iter(LINES), order=3, memory=memory), expected)
    tuned = NGramLanguageModel.train_interpolated(Stream(LINES), Stream(TEXT), order=2)
    check_equal(tuned, NGramLanguageModel.train_interpolated(LINES, TEXT, order=2))


def test_counts_of_a_text(tmp_path):
    path = write_ngrams(tmp_path / "ngrams.tsv", LINES, 4)
    check_equal(NGramLanguageModel.from_counts(path), NGramLanguageModel.train(LINES, order=4))
    few = WordTokenizer.train(LINES, minimum_count=4)
    found = NGramLanguageModel.from_counts(path, 2, WittenBell(), few, memory=1)
    check_equal(found, NGramLanguageModel.train(LINES, 2, WittenBell(), few))
    with pytest.raises(ValueError, match="`order` must be at most 4, .*got 5"):
        NGramLanguageModel.from_counts(path, order=5)
    words = WordTokenizer(few.words, control_tokens=["<2fr>", "<2de>"])
    check_equal(
        NGramLanguageModel.from_counts(path, 2, tokenizer=words),
        NGramLanguageModel.train(LINES, 2, tokenizer=words),
    )


def test_saving(tmp_path):
    lm = model()
    path = tmp_path / "model.keras"
    lm.save(path)
    other = keras.saving.load_model(path)
    assert other.tokenizer.get_vocabulary() == lm.tokenizer.get_vocabulary()
    assert other.score(["the cat"]) == lm.score(["the cat"])


@pytest.mark.slow
def test_export():
    check_saved_model_in_fresh_process(model(), np.array([[2, 5, 6], [2, 1, 3]], np.int32))


def test_compiled_scores():
    lm = model()
    ids, lengths = tf.constant([[5, 6, 3]]), tf.constant([3])
    compiled = tf.function(lm.token_log_probabilities, jit_compile=True, autograph=False)(
        ids, lengths
    )
    np.testing.assert_allclose(compiled, lm.token_log_probabilities(ids, lengths), rtol=1e-6)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: NGramLanguageModel.train([]), "`texts` must have at least one"),
        (lambda: NGramLanguageModel.train(Stream([])), "`texts` must have at least one"),
        (lambda: NGramLanguageModel.train(TEXT, memory=0), "`memory`.*0"),
        (lambda: NGramLanguageModel.train(TEXT, order=0), "`order`.*0"),
        (lambda: NGramLanguageModel.train(TEXT, estimator="ml"), "`estimator`.*'ml'"),
        (lambda: NGramLanguageModel([7], WordTokenizer(["a"])), "`sizes`.*6, got 7"),
        (lambda: model().perplexity([]), "`texts` must have at least one"),
        (lambda: model().score("the cat"), "`texts`.*'the cat'"),
        (lambda: model().generate("the cat"), "`prompts`.*'the cat'"),
        (lambda: model().generate(["the"], "greedy"), "`strategy`.*'greedy'"),
        (
            lambda: model().generate(["the cat sat"], max_length=2),
            "`prompts`.*\\(2\\).*got 3 in 'the",
        ),
    ],
)
def test_bad_arguments(make, match):
    with pytest.raises(ValueError, match=match):
        make()
