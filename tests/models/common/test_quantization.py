import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.layers.large_softmax import SampledSoftmax
from keras_seqzoo.models import FeatureTextClassifier, FeedForwardLanguageModel
from keras_seqzoo.models.word_vectors import WordVectors
from keras_seqzoo.serving import export
from keras_seqzoo.tokenizers import WordTokenizer
from keras_seqzoo.zoo import average_presets, save_preset
from tests.layer_checks import dtype_policy
from tests.models import small
from tests.models.classifier import test_recurrent as classifier
from tests.models.language_model import test_recurrent as language_model
from tests.models.tagger import test_task as tagger
from tests.serving.fresh_server import outputs_of
from tests.tiers import mostly_slow

pytestmark = pytest.mark.usefixtures("garbage_stays")

IDS = np.array([[2, 5, 6, 7], [2, 8, 5, 6]], "int32")


def quantize(model, **how):
    with warnings.catch_warnings():  # Keras names each layer that it leaves as it is
        warnings.filterwarnings("ignore", ".*does not have a `quantize` method")
        model.quantize(**how)
    return model


def of_ids(model):
    return np.array(model({"token_ids": IDS, "padding_mask": IDS != 0}))


def of_pairs(model):
    return np.array(model(small.inputs()))


def of_words(model):
    return np.array(model(model.preprocessor(tagger.SENTENCES)))


def of_texts(model):
    return np.array(model(model.preprocessor(classifier.TEXTS)))


def feed_forward():
    tokenizer = WordTokenizer.train(language_model.TEXT)
    options = {"order": 3, "embedding_dim": 8, "hidden_units": [8]}
    return FeedForwardLanguageModel(tokenizer, **options)


MODELS = {
    "tied": (lambda: language_model.make(units=16, embedding_dim=8), of_ids),
    "own softmax": (lambda: language_model.make(tie_softmax=False, units=16), of_ids),
    "attention": (lambda: small.model(attention="bahdanau", cell="elman"), of_pairs),
    "classifier": (lambda: classifier.make(pooling="attention", hidden_units=8), of_texts),
    "tagger": (tagger.make, of_words),
    "feed-forward": (feed_forward, lambda model: np.array(model(IDS[:, :2]))),
    "features": (
        lambda: FeatureTextClassifier(["no", "yes"], ["good"], ["bad"]),
        lambda model: np.array(model(tf.constant(classifier.TEXTS))),
    ),
}


@pytest.mark.parametrize(("make", "outputs"), mostly_slow(MODELS, "tied", "features"))
def test_files_and_presets_hold_what_is_quantized(make, outputs, tmp_path):
    keras.utils.set_random_seed(0)
    model = make()
    before = outputs(model)
    quantize(model, mode="int8")
    expected = outputs(model)
    assert 0 < np.abs(expected - before).max() < 0.05 * np.abs(before).max()
    model.save(tmp_path / "model.keras")
    loaded = [keras.saving.load_model(tmp_path / "model.keras")]
    if hasattr(model, "save_to_preset"):
        loaded[0].save_to_preset(tmp_path / "preset")  # what was loaded is saved again
        loaded.append(type(model).from_preset(tmp_path / "preset"))
    for other in loaded:
        np.testing.assert_array_equal(outputs(other), expected)
        modes = [[layer.quantization_mode for layer in m._flatten_layers()] for m in (model, other)]
        assert modes[0] == modes[1] and "int8" in modes[0]


def test_a_softmax_that_is_not_quantized_is_read_as_it_is(tmp_path):
    softmax = SampledSoftmax(len(small.tokenizer().get_vocabulary()), samples=4)
    softmax.build((None, 8))
    before = np.array(softmax(np.ones((2, 8), "float32")))
    hidden = keras.Input((8,))
    quantize(keras.Model(hidden, softmax(hidden)), mode="int8")
    np.testing.assert_array_equal(softmax(np.ones((2, 8), "float32")), before)


def test_quantizers_of_ones_own_are_kept(tmp_path):
    config = keras.quantizers.Int8QuantizationConfig(activation_quantizer=None)
    model = quantize(language_model.make(units=16, embedding_dim=8), config=config)
    model.save_to_preset(tmp_path / "preset")
    loaded = type(model).from_preset(tmp_path / "preset")
    np.testing.assert_array_equal(of_ids(loaded), of_ids(model))


def test_layers_that_are_not_found_are_named():
    model = quantize(feed_forward(), mode="int8")
    config = {**model.get_config(), "name": "other"}  # paths begin with it
    message = f"`quantization` must .* layers of 'other', got {model.name}/embedding, "
    with pytest.raises(ValueError, match=message):
        type(model).from_config(config)


@pytest.mark.slow
def test_mixed_precision(tmp_path):
    with dtype_policy("mixed_bfloat16"):
        model = language_model.make(units=16, embedding_dim=8)
    before = of_ids(model)
    quantize(model, mode="int8")
    assert 0 < np.abs(of_ids(model) - before).max() < 0.05 * np.abs(before).max()
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.backbone.token_embedding.compute_dtype == "bfloat16"
    np.testing.assert_array_equal(of_ids(loaded), of_ids(model))
    save_preset(model, tmp_path / "preset", dtype="float32")
    loaded = type(model).from_preset(tmp_path / "preset")
    own, other = (m.backbone.token_embedding for m in (model, loaded))
    assert other.quantization_mode == "int8" and other.compute_dtype == "float32"
    for weight, wanted in zip(other.weights, own.weights, strict=True):
        np.testing.assert_array_equal(weight, wanted)
    # bfloat16 rounds by up to 2^-9 in each of several operations.
    np.testing.assert_allclose(of_ids(loaded), of_ids(model), atol=0.02 * np.abs(before).max())


@pytest.mark.slow
def test_all_that_was_traced_before_is_traced_anew():
    model = language_model.make(units=16)
    texts = language_model.TEXT[:2]
    model.compile(sampler="greedy")
    calls = [
        lambda: model.score(texts)[0][0],
        lambda: model.evaluate(texts, verbose=0),
        lambda: model.predict(texts, verbose=0)[0, 0, 0],
    ]
    before = [call() for call in calls]
    model.generate(["the"])
    graph = model.generate_function
    quantize(model, mode="int8")
    after = [call() for call in calls]
    np.testing.assert_allclose(after, before, rtol=0.02)
    assert not np.array_equal(after, before)
    model.generate(["the"])
    assert model.generate_function is not graph


@pytest.mark.slow
def test_a_low_rank_update_is_seen_by_what_was_traced_before():
    model = language_model.make(units=16)
    texts = language_model.TEXT[:2]
    calls = [
        lambda: model.score(texts)[0][0],
        lambda: model.evaluate(texts, verbose=0),
        lambda: model.predict(texts, verbose=0).sum(),
    ]
    before = [call() for call in calls]
    model.backbone.enable_lora(2)
    np.testing.assert_allclose([call() for call in calls], before, rtol=1e-5)
    updated = model.backbone.token_embedding.lora_embeddings_b
    updated.assign(np.ones(updated.shape))
    for call, old in zip(calls, before, strict=True):
        assert abs(call() - old) > 1e-4 * abs(old)


def test_quantize_after_the_preprocessor_was_called():
    model = language_model.make(units=16)
    model.preprocessor(["the cat"])
    quantize(model, mode="int8")
    assert model.backbone.token_embedding.quantization_mode == "int8"


def test_half_precision_presets_keep_the_scales(tmp_path):
    """A row of zeros has a scale that float16 cannot hold."""
    model = language_model.make(units=16)
    embedding = model.backbone.token_embedding
    rows = embedding.embeddings.numpy()
    rows[0] = 0
    embedding.embeddings.assign(rows)
    quantize(model, mode="int8")
    assert embedding.embeddings_scale.numpy().max() > 65504
    save_preset(model, tmp_path / "preset")
    loaded = type(model).from_preset(tmp_path / "preset")
    other = loaded.backbone.token_embedding
    np.testing.assert_array_equal(other.embeddings_scale, embedding.embeddings_scale)
    np.testing.assert_allclose(of_ids(loaded), of_ids(model), atol=1e-3)


def test_quantized_presets_have_no_mean(tmp_path):
    model = quantize(language_model.make(units=16), mode="int8")
    model.save_to_preset(tmp_path / "one")
    with pytest.raises(ValueError, match="`presets` must not be quantized"):
        average_presets([tmp_path / "one", tmp_path / "one"], tmp_path / "mean")


def test_quantized_embeddings_are_not_filled():
    vectors = WordVectors(["cat"], np.ones((1, 4)))
    tokenizer = WordTokenizer.train(["cat"])
    embedding = keras.layers.Embedding(tokenizer.vocabulary_size(), 4)
    embedding.build()
    embedding.quantize("int8")
    with pytest.raises(ValueError, match="`embedding` must have float weights"):
        vectors.fill(embedding, tokenizer)


@pytest.mark.slow
def test_exported_models_answer_as_quantized_ones(tmp_path):
    """In a process with TensorFlow alone."""
    keras.utils.set_random_seed(3)
    model = language_model.make(units=16, embedding_dim=8)
    texts = language_model.TEXT
    floats = [score for score, _ in model.score(texts)]
    quantize(model, mode="int8")
    path = export(model, tmp_path / "model")
    answer = outputs_of(path, texts, "score")
    expected = [score for score, _ in model.score(texts)]
    np.testing.assert_allclose(answer["log_probability"], expected, rtol=1e-5)
    assert 0 < np.abs(np.subtract(floats, expected)).max() < 0.1
