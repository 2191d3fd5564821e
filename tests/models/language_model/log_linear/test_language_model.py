import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.decoding import Greedy
from keras_seqzoo.losses import SequenceCrossentropy
from keras_seqzoo.models import FeedForwardLanguageModel
from keras_seqzoo.models.language_model.log_linear import (
    BagOfTokens,
    LogLinearLanguageModel,
    PreviousClass,
    PreviousToken,
    previous_tokens,
)
from keras_seqzoo.tokenizers import WordTokenizer
from tests.fits import fit_passes
from tests.layer_checks import check_saved_model_in_fresh_process
from tests.tiers import mostly_slow

TEXT = ["the cat sat", "the dog sat on the cat", "a dog", "", "the cat"]


@keras.saving.register_keras_serializable(package="tests")
def length_of_the_last_two(contexts):
    """A feature of one's own: whether the last two tokens are the same."""
    return tf.cast(contexts[:, -1] == contexts[:, -2], tf.int64)


FEATURES = {
    "n-grams": None,
    "tokens": [PreviousToken(1), PreviousToken(2)],
    "bag": [PreviousToken(1), BagOfTokens(1, excluded=[2])],
    "classes": [PreviousClass([0, 0, 1, 1, 0, 2, 2, 3, 3, 4, 4], 1), previous_tokens(2)],
    "own function": [previous_tokens(2), length_of_the_last_two],
}
every_set = pytest.mark.parametrize("features", FEATURES.values(), ids=FEATURES)


def make(features=None, **options):
    model = LogLinearLanguageModel.for_text(TEXT, features, **{"order": 4, **options})
    random = np.random.default_rng(0)
    model.weight.assign(random.normal(size=model.entries))
    return model


def expected_logits(model, contexts, minimum_count=1):
    """The definition: a column for each feature, in dictionaries."""
    found, wanted = model.examples(TEXT)
    followers = {}
    for keys, label in zip(model.feature_keys(tf.constant(found)).numpy(), wanted, strict=True):
        for key in keys[keys >= 0]:
            column = followers.setdefault(int(key), {})
            column[int(label)] = column.get(int(label), 0) + 1
    size = model.vocabulary_size
    columns, weights = {}, iter(model.weight.numpy())
    for key in sorted(followers):
        tokens = range(size) if minimum_count == 0 else sorted(followers[key])
        column = {t: next(weights) for t in tokens if followers[key].get(t, 0) >= minimum_count}
        columns[key] = column
    assert next(weights, None) is None
    logits = np.tile(model.bias.numpy(), (len(contexts), 1))
    for row, keys in zip(logits, model.feature_keys(tf.constant(contexts)).numpy(), strict=True):
        for key in keys:
            for token, weight in columns.get(int(key), {}).items():
                row[token] += weight
    return logits


@every_set
@pytest.mark.parametrize("minimum_count", [0, 1, 2])
def test_equation(features, minimum_count):
    model = make(features, minimum_count=minimum_count)
    contexts = np.concatenate([model.examples(TEXT)[0], [[7, 7, 7], [2, 1, 1]]]).astype(np.int32)
    expected = expected_logits(model, contexts, minimum_count)
    np.testing.assert_allclose(model(contexts), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("features", mostly_slow(FEATURES, "classes"))
def test_gradient(features):
    """That of the weights is dense, and equals the differences of the loss."""
    model = make(features)
    contexts, labels = model.examples(TEXT)

    def loss():
        return tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels, model(contexts))
        )

    with tf.GradientTape() as tape:
        value = loss()
    weight, bias = tape.gradient(value, model.trainable_variables)
    assert isinstance(weight, tf.Tensor) and weight.shape == (model.entries,)
    for variable, gradient in ((model.weight, weight), (model.bias, bias)):
        before = variable.numpy()
        for place in range(0, len(before), 3):
            step = np.zeros_like(before)
            step[place] = 1e-2
            variable.assign(before + step)
            higher = loss()
            variable.assign(before - step)
            numeric = float(higher - loss()) / 2e-2
            variable.assign(before)
            assert float(gradient[place]) == pytest.approx(numeric, abs=2e-4)


@every_set
def test_a_step_and_a_score_agree(features):
    model = make(features)
    ids = tf.constant([[5, 6, 1, 5, 3], [7, 5, 3, 0, 0]])
    scores = model.token_log_probabilities(ids, tf.constant([5, 3])).numpy()
    state, token = model.start(2), tf.fill([2], 2)
    step = tf.function(model.step, autograph=False)
    for t in range(5):
        found, state = step(token, state)
        np.testing.assert_allclose(tf.reduce_sum(tf.exp(found), axis=-1), [1, 1], rtol=1e-5)
        token = ids[:, t]
        own = tf.where([True, t < 3], tf.gather(found, token, batch_dims=1), 0.0)
        np.testing.assert_allclose(scores[:, t], own, rtol=1e-4, atol=1e-6)


def test_before_training_it_is_a_unigram_model():
    model = LogLinearLanguageModel.for_text(TEXT, order=3)
    _, labels = model.examples(TEXT)
    counts = np.bincount(labels, minlength=model.vocabulary_size) + 0.5
    found, _ = model.step(tf.constant([5]), model.start(1))
    np.testing.assert_allclose(np.exp(found[0]), counts / counts.sum(), rtol=1e-5)


def test_fit():
    model = LogLinearLanguageModel.for_text(TEXT, order=4)
    model.compile(keras.optimizers.Adagrad(0.5), SequenceCrossentropy())
    before = model.perplexity(TEXT).perplexity
    fit_passes(model, *model.examples(TEXT), passes=60)
    assert model.perplexity(TEXT).perplexity < 2.5 < before
    assert model.generate(["a"], Greedy()) == [["a dog"]]


@pytest.mark.slow
def test_a_regularizer_keeps_weights_small():
    norms = []
    for strength in (0.0, 0.1):
        regularizer = keras.regularizers.L2(strength)
        model = LogLinearLanguageModel.for_text(TEXT, order=3, regularizer=regularizer)
        model.compile(keras.optimizers.Adagrad(0.5), SequenceCrossentropy())
        fit_passes(model, *model.examples(TEXT), passes=20)
        norms.append(np.linalg.norm(model.weight))
    assert norms[1] < 0.5 * norms[0]


# Of what farmers and cows do, only the pair of both words tells what follows.
FARM = {"farmers eat": "steak", "farmers grow": "corn", "cows eat": "corn", "cows grow": "steak"}


def learnt(model, **options):
    contexts, labels = model.examples([f"{begin} {end}" for begin, end in FARM.items()])
    model.compile(keras.optimizers.Adam(0.1), SequenceCrossentropy())
    fit_passes(model, contexts, labels, passes=150)
    ids = model.tokenizer(list(FARM)).to_tensor().numpy()
    begins = np.pad(ids, ((0, 0), (model.order - 3, 0)), constant_values=2)
    scores = tf.nn.softmax(model(begins)).numpy()
    ends = [model.tokenizer.token_to_id(end) for end in FARM.values()]
    return scores[np.arange(4), ends]


@pytest.mark.slow
def test_words_alone_cannot_tell_what_two_words_say_together():
    """The exclusive or of Neubig's tutorial: one feature a word gives each answer one half."""
    tokenizer = WordTokenizer.train([f"{begin} {end}" for begin, end in FARM.items()])
    texts = [f"{begin} {end}" for begin, end in FARM.items()]
    keras.utils.set_random_seed(0)
    single = [PreviousToken(1), PreviousToken(2)]
    alone = LogLinearLanguageModel.for_text(texts, single, 3, tokenizer, minimum_count=0)
    assert (learnt(alone) < 0.55).any() and learnt(alone).mean() < 0.55
    pairs = LogLinearLanguageModel.for_text(texts, [previous_tokens(2)], 3, tokenizer)
    assert (learnt(pairs) > 0.9).all()
    hidden = FeedForwardLanguageModel(tokenizer, 3, embedding_dim=4, hidden_units=[8])
    assert (learnt(hidden) > 0.9).all()


@every_set
def test_saving(features, tmp_path):
    model = make(features, regularizer=keras.regularizers.L2(0.1))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert loaded.score(TEXT) == model.score(TEXT)
    assert loaded.regularizer.l2 == model.regularizer.l2


@pytest.mark.slow
def test_saved_model():
    check_saved_model_in_fresh_process(make(), np.array([[5, 6, 7], [2, 2, 5]], np.int32))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": 1}, "`order`"),
        ({"minimum_count": -1}, "`minimum_count`"),
        ({"features": []}, "`features`"),
        ({"features": [PreviousToken(4)]}, "an `order` of 5"),
    ],
)
def test_wrong_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)
    with pytest.raises(ValueError, match="`texts`"):
        LogLinearLanguageModel.for_text([])
