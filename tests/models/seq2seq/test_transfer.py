"""Weights go from a model to one with another vocabulary, piece by piece."""

import keras
import numpy as np
import pytest

from keras_seqzoo.models import (
    RecurrentEncoderDecoderBackbone,
    RecurrentSeq2SeqLM,
    RecurrentSeq2SeqLMPreprocessor,
    transfer_weights,
)
from keras_seqzoo.tokenizers import WordTokenizer
from keras_seqzoo.training import make_translation_model, transfer_translation_model
from tests.made_up import tiny_model
from tests.training.interrupts import assert_equal

OLD, NEW = ["a", "red", "dog", "runs"], ["dog", "blue", "a", "[BOS]"]
SPECIAL = [0, 1, 2, 3, 4]
# The ids of "dog" and "a" in each vocabulary.
KEPT = {"old": [*SPECIAL, 7, 5], "new": [*SPECIAL, 5, 7]}


def make_model(words, source_words=None, tied=True, units=5):
    keras.utils.set_random_seed(len(words))
    tokenizer = WordTokenizer(words)
    source = None
    if source_words is not None:
        source = WordTokenizer(source_words, config_file="encoder_tokenizer.json")
    backbone = RecurrentEncoderDecoderBackbone(
        (source or tokenizer).vocabulary_size(),
        tokenizer.vocabulary_size(),
        embedding_dim=4,
        encoder_units=3,
        decoder_units=units,
        share_embeddings=source is None,
    )
    preprocessor = RecurrentSeq2SeqLMPreprocessor(tokenizer, source)
    model = RecurrentSeq2SeqLM(backbone, preprocessor, tie_softmax=tied)
    random = np.random.default_rng(len(words))
    model.set_weights([random.normal(size=weight.shape) for weight in model.get_weights()])
    return model


def rows_of(model):
    """The rows of each vocabulary's variables, `(vocabulary, ...)`, by name."""
    output = model.output_layer
    rows = {
        "source": model.backbone.encoder.embedding.embeddings,
        "target": model.backbone.token_embedding.embeddings,
        "bias": output.bias,
    }
    found = {name: keras.ops.convert_to_numpy(variable) for name, variable in rows.items()}
    return (
        found
        if model.tie_softmax
        else {**found, "kernel": keras.ops.convert_to_numpy(output.kernel).T}
    )


@pytest.mark.parametrize("tied", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_rows_of_shared_pieces_are_equal_bit_for_bit(tied):
    start, model = make_model(OLD, tied=tied), make_model([*NEW, "cat"], tied=tied)
    drawn = rows_of(model)
    kept = transfer_weights(start, model)
    assert kept == (7, 7)
    new = [6, 8, 9]  # "blue", the word that spells a special token, and "cat"
    for name, rows in rows_of(model).items():
        np.testing.assert_array_equal(rows[KEPT["new"]], rows_of(start)[name][KEPT["old"]])
        np.testing.assert_array_equal(rows[new], drawn[name][new])
    assert_equal(model.encoder.stack.get_weights(), start.encoder.stack.get_weights())


@pytest.mark.slow
def test_each_side_has_its_own_pieces():
    start = make_model(OLD, source_words=["x", "y"])
    model = make_model(NEW, source_words=["y", "z", "w"])
    drawn = rows_of(model)
    assert transfer_weights(start, model) == (6, 7)
    rows = rows_of(model)
    np.testing.assert_array_equal(
        rows["source"][[*SPECIAL, 5]], rows_of(start)["source"][[*SPECIAL, 6]]
    )
    np.testing.assert_array_equal(rows["source"][6:], drawn["source"][6:])
    np.testing.assert_array_equal(
        rows["target"][KEPT["new"]], rows_of(start)["target"][KEPT["old"]]
    )


@pytest.mark.slow
def test_the_same_vocabulary_gives_the_same_model():
    start, model = make_model(OLD), make_model(OLD)
    model.set_weights([0 * weight for weight in model.get_weights()])
    transfer_weights(start, model)
    assert_equal(model.get_weights(), start.get_weights())


@pytest.mark.slow
def test_other_models_are_refused():
    with pytest.raises(ValueError, match="`model` must have the architecture of `start`"):
        transfer_weights(make_model(OLD), make_model(NEW, units=6))
    with pytest.raises(ValueError, match="`model` must have the architecture of `start`"):
        transfer_weights(make_model(OLD), make_model(NEW, tied=False))
    with pytest.raises(ValueError, match="`start` must have a preprocessor, got None"):
        transfer_weights(RecurrentSeq2SeqLM(make_model(OLD).backbone), make_model(NEW))


@pytest.mark.slow
@pytest.mark.parametrize("separate", [False, True])
def test_a_model_of_new_texts_starts_from_another(separate):
    keras.utils.set_random_seed(0)
    start = tiny_model(separate_vocabularies=separate, attention="bahdanau")
    source, target = (["a green bird", "a bird sees a dog"] * 3, ["ein vogel", "dog hund"] * 3)
    model, kept = transfer_translation_model(
        start, source, target, vocabulary_size=280, languages=["de"]
    )
    own, before = model.preprocessor, start.preprocessor
    assert model.languages == ("de",) and own.encoder_sequence_length == 24
    assert (own.encoder_tokenizer is own.tokenizer) != separate
    shared = set(own.tokenizer.get_vocabulary()) & set(before.tokenizer.get_vocabulary())
    assert kept.target == len(shared) >= 261
    for piece in shared:
        ids = [one.tokenizer.token_to_id(piece) for one in (own, before)]
        rows = [rows_of(one)["target"][id] for one, id in zip((model, start), ids, strict=True)]
        np.testing.assert_array_equal(*rows)
    config = start.backbone.get_config()
    assert {**model.backbone.get_config(), "name": ""} == {
        **config,
        "name": "",
        "encoder_vocabulary_size": own.encoder_tokenizer.vocabulary_size(),
        "decoder_vocabulary_size": own.tokenizer.vocabulary_size(),
    }
    with pytest.raises(TypeError, match="embedding_dim"):
        transfer_translation_model(start, source, target, embedding_dim=3)


@pytest.mark.parametrize("languages", [None, pytest.param(["de"], marks=pytest.mark.slow)])
def test_a_lexicon_is_estimated_from_the_new_texts(languages):
    keras.utils.set_random_seed(0)
    start = tiny_model(source_output="lexicon-bias")
    source, target = (["a green bird", "a bird sees a dog"] * 3, ["ein vogel", "dog hund"] * 3)
    pair_languages = languages and languages * len(source)
    options = {"vocabulary_size": 280, "languages": languages}
    model, kept = transfer_translation_model(start, source, target, pair_languages, **options)
    options["source_output"] = "lexicon-bias"
    fresh = make_translation_model(source, target, pair_languages, **options)
    found, expected = (one.backbone.decoder.source_distribution for one in (model, fresh))
    assert found.selectors == expected.selectors and kept.target > 261
    assert_equal(found.get_weights(), expected.get_weights())
    recurrent = start.backbone.encoder.stack.get_weights()
    assert_equal(model.backbone.encoder.stack.get_weights(), recurrent)
