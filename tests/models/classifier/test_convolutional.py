import keras
import keras_hub
import numpy as np
import pytest

from keras_seqzoo.models import (
    ConvolutionalBackbone,
    ConvolutionalTextClassifier,
    ConvolutionalTextClassifierPreprocessor,
)
from keras_seqzoo.tokenizers import WordTokenizer
from keras_seqzoo.zoo import save_preset

# The same words in another order: only what sees two words can tell these apart.
TEXTS = [
    *("it is good not bad", "the film is good not bad at all", "not bad"),
    *("it is bad not good", "the film is bad not good at all", "not good"),
]
LABELS = ["yes"] * 3 + ["no"] * 3


def make(length=9, static_embedding=False, **options):
    tokenizer = WordTokenizer.train(TEXTS)
    backbone = ConvolutionalBackbone(
        tokenizer.vocabulary_size(),
        embedding_dim=6,
        filters=8,
        widths=[2, 3],
        static_embedding=static_embedding,
    )
    preprocessor = ConvolutionalTextClassifierPreprocessor(tokenizer, length, labels=["no", "yes"])
    return ConvolutionalTextClassifier(backbone, preprocessor=preprocessor, **options)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"pooling": "mean"}, {"pooling": "k-max", "k": 2}])
def test_learns_phrases(options, tmp_path):
    keras.utils.set_random_seed(0)
    model = make(**options)
    model.compile(keras.optimizers.Adam(0.02))
    model.fit(TEXTS * 100, LABELS * 100, batch_size=8, verbose=0)
    assert [row.labels for row in model.classify(TEXTS)] == [[label] for label in LABELS]
    expected = model.predict_probabilities([*TEXTS, "", "film"])
    np.testing.assert_allclose(expected[-2], 0.5)
    save_preset(model, tmp_path / "new", dtype="float32")
    for cls in (ConvolutionalTextClassifier, keras_hub.models.TextClassifier):
        loaded = cls.from_preset(str(tmp_path / "new"))
        assert type(loaded) is ConvolutionalTextClassifier
        found = loaded.predict_probabilities([*TEXTS, "", "film"])
        np.testing.assert_allclose(found, expected, atol=1e-6)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded.predict_probabilities(TEXTS), expected[:6], atol=1e-6)


@pytest.mark.slow
def test_a_static_embedding_is_read_and_not_trained(tmp_path):
    model = make(static_embedding=True)
    backbone = model.backbone
    learned, static = backbone.token_embedding, backbone.static_token_embedding
    assert learned.trainable and not static.trainable
    inputs = model.preprocessor(TEXTS)
    encoder, ids = backbone.encoder, inputs["token_ids"]
    both = np.concatenate([layer.get_weights()[0][ids] for layer in (learned, static)], axis=-1)
    expected = encoder.convolution(both, mask=inputs["padding_mask"])
    np.testing.assert_allclose(backbone(inputs), expected, atol=1e-6)
    model.compile(keras.optimizers.Adam(0.02))
    before = learned.get_weights()[0], static.get_weights()[0]
    model.fit(TEXTS, LABELS, batch_size=6, verbose=0)
    assert not np.array_equal(learned.get_weights()[0], before[0])
    np.testing.assert_array_equal(static.get_weights()[0], before[1])
    expected = model.predict_probabilities(TEXTS)
    save_preset(model, tmp_path / "new", dtype="float32")
    model.save(tmp_path / "model.keras")
    for loaded in (
        ConvolutionalTextClassifier.from_preset(str(tmp_path / "new")),
        keras.saving.load_model(tmp_path / "model.keras"),
    ):
        np.testing.assert_allclose(loaded.predict_probabilities(TEXTS), expected, atol=1e-6)
        assert not loaded.backbone.static_token_embedding.trainable


def test_lengths_change_nothing():
    model = make()
    alone = [model.predict_probabilities([text])[0] for text in TEXTS]
    np.testing.assert_allclose(model.predict_probabilities(TEXTS), alone, atol=1e-6)


def test_errors():
    with pytest.raises(ValueError, match="`embedding_dim` must be"):
        ConvolutionalBackbone(9, embedding_dim=0)
    with pytest.raises(ValueError, match="`filters` must be"):
        ConvolutionalBackbone(9, filters=0)
