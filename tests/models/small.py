"""Small models of made-up text, and the sentences they read."""

import functools

import keras
import numpy as np

from keras_seqzoo.models import (
    RecurrentEncoderDecoderBackbone,
    RecurrentSeq2SeqLM,
    RecurrentSeq2SeqLMPreprocessor,
)
from keras_seqzoo.tokenizers import BytePairTokenizer
from tests.seeds import made_once

SENTENCES = [
    "a bee hums",
    "nine old cars stop",
    "the moon is far",
    "no rain",
    "she paints a door in blue",
]
VOCABULARY = 292
SOURCE = np.array([[5, 6, 7, 8, 3], [9, 10, 3, 0, 0], [11, 3, 0, 0, 0]], "int32")
TARGET = np.array([[2, 12, 13, 14], [2, 15, 16, 17], [2, 18, 19, 20]], "int32")


@functools.cache
def tokenizer(config_file="tokenizer.json"):
    return BytePairTokenizer.train(SENTENCES * 3, VOCABULARY, config_file=config_file)


def backbone(**options):
    defaults = {"embedding_dim": 4, "encoder_units": 3, "decoder_units": 6}
    sizes = {"encoder_vocabulary_size": VOCABULARY, "decoder_vocabulary_size": VOCABULARY}
    return RecurrentEncoderDecoderBackbone(**{**sizes, **defaults, **options})


def preprocessor(length=16, **options):
    options = {"encoder_sequence_length": length, "decoder_sequence_length": length, **options}
    return RecurrentSeq2SeqLMPreprocessor(tokenizer(), **options)


def model(tie_softmax=True, length=16, **options):
    return RecurrentSeq2SeqLM(backbone(**options), preprocessor(length), tie_softmax)


@made_once
def shared_model():
    """One model for the tests that neither train nor compile it."""
    keras.utils.set_random_seed(2)
    result = model(attention_units=5)
    # Outputs that vary from row to row: random weights of unit size.
    random = np.random.default_rng(0)
    result.set_weights([0.7 * random.normal(size=w.shape) for w in result.get_weights()])
    return result


def inputs(source=SOURCE, target=TARGET):
    return {
        "encoder_token_ids": source,
        "encoder_padding_mask": source != 0,
        "decoder_token_ids": target,
        "decoder_padding_mask": target != 0,
    }
