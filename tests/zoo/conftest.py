"""A tiny trained model, made once for the tests of the zoo."""

import pytest
import tensorflow as tf

SOURCES = ["the red cat sleeps on the mat", "a small dog runs in the park"] * 4
TARGETS = ["el gato rojo duerme", "un perro corre en el parque"] * 4


def make_model(dtype=None, tokenizer=None, dropout=0.0):
    from keras_seqzoo.models import (
        RecurrentEncoderDecoderBackbone,
        RecurrentSeq2SeqLM,
        RecurrentSeq2SeqLMPreprocessor,
    )
    from keras_seqzoo.tokenizers import BytePairTokenizer

    tokenizer = tokenizer or BytePairTokenizer.train(SOURCES + TARGETS, 290)
    preprocessor = RecurrentSeq2SeqLMPreprocessor(
        tokenizer, encoder_sequence_length=16, decoder_sequence_length=14
    )
    backbone = RecurrentEncoderDecoderBackbone(
        290,
        290,
        embedding_dim=4,
        encoder_units=4,
        decoder_units=6,
        dropout=dropout,
        dtype=dtype,
    )
    return RecurrentSeq2SeqLM(backbone, preprocessor)


@pytest.fixture(scope="session")
def model():
    """A model after one step, so that its optimizer has a state."""
    model = make_model()
    model.optimizer.apply(
        [tf.ones_like(weight) for weight in model.trainable_variables], model.trainable_variables
    )
    return model


@pytest.fixture(scope="session")
def preset(model, tmp_path_factory):
    """The model's preset folder; tests that change it copy it first."""
    from keras_seqzoo.zoo import save_preset

    folder = tmp_path_factory.mktemp("zoo") / "gru_tiny_en_es"
    return save_preset(model, folder, metadata={"description": "A tiny one."})
