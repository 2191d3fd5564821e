import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.decoding import Greedy
from keras_seqzoo.losses import SequenceCrossentropy
from keras_seqzoo.models import FeedForwardLanguageModel
from keras_seqzoo.tokenizers import WordTokenizer
from tests.fits import fit_passes
from tests.layer_checks import assert_close, check_saved_model_in_fresh_process
from tests.tiers import slow

TEXT = ["the cat sat", "the dog sat on the cat", "a dog", "", "the cat"]
OPTIONS = [
    {},
    {"order": 2},
    {"hidden_units": [6, 5], "activation": "relu", "tie_softmax": True},
    {"direct": True, "tie_softmax": True},
    {"direct": True, "dropout": 0.5},
]


def make(**options):
    options = {"order": 4, "embedding_dim": 3, "hidden_units": [7], **options}
    return FeedForwardLanguageModel(WordTokenizer.train(TEXT), **options)


def test_equation():
    model = make(direct=True)
    contexts = np.array([[2, 2, 5], [5, 6, 7]], np.int32)
    logits = model(contexts)
    embeddings, hidden, bias, output, output_bias = (w.numpy() for w in model.weights)
    x = embeddings[contexts].reshape(2, 9)
    h = np.tanh(x @ hidden + bias)
    np.testing.assert_allclose(
        logits, np.concatenate([h, x], axis=-1) @ output + output_bias, rtol=1e-4, atol=1e-6
    )


def test_examples():
    model = make()
    contexts, labels = model.examples(["the cat", "", "a"])
    words = model.tokenizer.get_vocabulary()
    found = [([words[w] for w in c], words[w]) for c, w in zip(contexts, labels, strict=True)]
    bos = "[BOS]"
    assert found == [
        ([bos, bos, bos], "the"),
        ([bos, bos, "the"], "cat"),
        ([bos, "the", "cat"], "[EOS]"),
        ([bos, bos, bos], "[EOS]"),
        ([bos, bos, bos], "a"),
        ([bos, bos, "a"], "[EOS]"),
    ]


@pytest.mark.parametrize("options", [*map(slow, OPTIONS[:3]), OPTIONS[3], slow(OPTIONS[4])])
def test_a_step_and_a_score_agree(options):
    model = make(**options)
    ids = tf.constant([[5, 6, 1, 5, 3], [7, 5, 3, 0, 0]])
    scores = model.token_log_probabilities(ids, tf.constant([5, 3])).numpy()
    state, token = model.start(2), tf.fill([2], 2)
    step = tf.function(model.step, jit_compile=True, autograph=False)
    for t in range(5):
        found, state = step(token, state)
        np.testing.assert_allclose(tf.reduce_sum(tf.exp(found), axis=-1), [1, 1], rtol=1e-5)
        token = ids[:, t]
        own = tf.where([True, t < 3], tf.gather(found, token, batch_dims=1), 0.0)
        np.testing.assert_allclose(scores[:, t], own, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("options", [*map(slow, OPTIONS[1:3]), OPTIONS[3]])
def test_fit(options):
    keras.utils.set_random_seed(0)
    model = make(**{**options, "dropout": 0.0})
    model.compile(keras.optimizers.Adam(0.03), SequenceCrossentropy())
    before = model.perplexity(TEXT).perplexity
    fit_passes(model, *model.examples(TEXT), passes=60)
    found = model.perplexity(TEXT)
    assert found.perplexity < 2.5 < before
    loss = model.evaluate(*model.examples(TEXT), verbose=0)
    loss = loss["loss"] if isinstance(loss, dict) else loss
    assert np.exp(loss) == pytest.approx(found.perplexity, rel=1e-3)
    [[text]] = model.generate(["a"], Greedy())
    assert text == "a dog"


def test_dropout_is_for_training():
    model, contexts = make(dropout=0.5), np.array([[5, 6, 7]], np.int32)
    np.testing.assert_array_equal(model(contexts), model(contexts))
    assert not np.array_equal(model(contexts, training=True), model(contexts, training=True))


@pytest.mark.parametrize("options", [*map(slow, OPTIONS[:2]), OPTIONS[2], *map(slow, OPTIONS[3:])])
def test_saving(options, tmp_path):
    model = make(**options)
    expected = model.score(TEXT)
    model.save(tmp_path / "model.keras")
    other = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(other.score(TEXT), expected, rtol=1e-6)
    assert other.get_config() == model.get_config()


@pytest.mark.slow
@pytest.mark.filterwarnings("error::UserWarning")
def test_training_goes_on_after_loading(tmp_path):
    model = make()
    model.compile(keras.optimizers.Adam(0.03), SequenceCrossentropy(), metrics=["accuracy"])
    examples = model.examples(TEXT)
    model.fit(*examples, verbose=0)
    model.save(tmp_path / "model.keras")
    other = keras.saving.load_model(tmp_path / "model.keras")
    for one in (model, other):
        one.fit(*examples, shuffle=False, verbose=0)
    np.testing.assert_allclose(other.score(TEXT), model.score(TEXT), rtol=1e-5)
    assert "accuracy" in other.evaluate(*examples, return_dict=True, verbose=0)


@pytest.mark.slow
def test_export():
    check_saved_model_in_fresh_process(make(), np.array([[5, 6, 7], [2, 2, 5]], np.int32))


def test_mixed_precision():
    model = make(dtype="mixed_bfloat16", tie_softmax=True)
    assert model(np.array([[5, 6, 7]])).dtype == tf.float32
    found = model.step(tf.constant([5]), model.start(1))[0]
    assert found.dtype == tf.float32
    np.testing.assert_allclose(tf.reduce_sum(tf.exp(found)), 1.0, rtol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        ["farmers grow hay", "cows eat hay", "farmers eat steak", "cows grow steak"],
        ["0 0 yes", "0 1 no", "1 0 no", "1 1 yes"],
    ],
    ids=["farmers and cows", "whether two bits are equal"],
)
def test_what_two_words_say_only_together(text):
    """No sum of what each says tells the third: a hidden layer can learn it.

    Neubig 2017, Neural machine translation and sequence-to-sequence models, section 5.
    """
    keras.utils.set_random_seed(1)
    model = FeedForwardLanguageModel(
        WordTokenizer.train(text), order=3, embedding_dim=4, hidden_units=[8]
    )
    model.compile(keras.optimizers.Adam(0.05), SequenceCrossentropy())
    fit_passes(model, *model.examples(text), passes=150)
    for sentence in text:
        *_, last, _ = model.token_scores([sentence])[0]
        assert np.exp(last) > 0.9


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"order": 1}, "`order`.*1"),
        ({"hidden_units": []}, "`hidden_units`.*at least one"),
        ({"hidden_units": [0]}, "`hidden_units`.*0"),
        ({"embedding_dim": 0}, "`embedding_dim`.*0"),
        ({"vocabulary_size": 9}, "`vocabulary_size`.*11, got 9"),
        ({"dropout": 1.0}, r"`dropout`.*\[0, 1\).*1.0"),
    ],
)
def test_bad_arguments(options, match):
    with pytest.raises(ValueError, match=match):
        make(**options)


def test_bad_tokenizer_and_texts():
    with pytest.raises(ValueError, match="`tokenizer`.*'words'"):
        FeedForwardLanguageModel("words")
    with pytest.raises(ValueError, match="`texts` must have at least one"):
        make().examples([])


def test_contexts_of_any_shape():
    model = make(direct=True)
    contexts = np.array([[[2, 2, 5], [5, 6, 7]]], np.int32)
    spec = tf.TensorSpec([None, None, 3], tf.int32)
    found = tf.function(model.features, input_signature=[spec])(contexts)
    assert_close(found, model.features(contexts))
