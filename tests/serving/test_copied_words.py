import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.decoding import BeamSearch
from keras_seqzoo.models import (
    Ensemble,
    RecurrentEncoderDecoderBackbone,
    RecurrentSeq2SeqLM,
    RecurrentSeq2SeqLMPreprocessor,
    ShallowFusion,
)
from keras_seqzoo.serving import export
from keras_seqzoo.serving.translation import TranslationSignatures
from keras_seqzoo.tokenizers import BytePairTokenizer, WordTokenizer
from tests.serving.fresh_server import answers_of, hexadecimal

TEXTS = [
    "Mia sees  Ben.",
    "Ada, who sees ⅷ x\u00a0y",  # its normal form has other words
    "",
    "Zoë",
    "sees " * 9 + "Tom Kim",
    "[UNK] \u2047 Eva sees Lea",
    "Who, Sees WHO sees",
]
STRATEGY = BeamSearch(4)


def make_model(kind, languages=(), normalization=("nfkc", "lowercase")):
    options = {"control_tokens": [f"<2{language}>" for language in languages]}
    if kind is WordTokenizer:
        options |= {"normalization": normalization, "split_punctuation": True}
        tokenizer = WordTokenizer(["sees", "who", ",", "."], **options)
    else:
        tokenizer = BytePairTokenizer.train(TEXTS, 300, **options)
    backbone = RecurrentEncoderDecoderBackbone(
        *[tokenizer.vocabulary_size()] * 2,
        embedding_dim=4,
        encoder_units=4,
        decoder_units=6,
        share_embeddings=True,
        source_output="copy",
    )
    model = RecurrentSeq2SeqLM(
        backbone,
        RecurrentSeq2SeqLMPreprocessor(
            tokenizer,
            encoder_sequence_length=8,
            decoder_sequence_length=6,
            languages=languages,
        ),
    )
    generator = np.random.default_rng(5)
    for variable in model.trainable_variables:
        variable.assign(generator.normal(size=variable.shape))
    return model


@pytest.mark.slow
@pytest.mark.parametrize("languages", [(), ("fr", "it")])
def test_served_translations_have_the_words_that_translate_copies(languages):
    model = make_model(WordTokenizer, languages)
    signatures = TranslationSignatures(model, strategy=STRATEGY)
    language = ["it"] * len(TEXTS) if languages else None
    inputs = {"language": tf.constant(language)} if languages else {}
    expected = model.translate(TEXTS, STRATEGY, language=language)
    found = tf.function(signatures.translate)(tf.constant(TEXTS), **inputs)
    assert [text.decode() for text in found["translation"].numpy()] == [
        own[0].text for own in expected
    ]
    found = tf.function(signatures.translate_n_best)(tf.constant(TEXTS), **inputs)
    written = [[text.decode() for text in row] for row in found["translations"].numpy()]
    assert [row[: len(own)] for row, own in zip(written, expected, strict=True)] == [
        [one.text for one in own] for own in expected
    ]
    words = {word for row in written for text in row for word in text.split()}
    assert words & {"Mia", "Ben", "Ada", "Zoë", "Eva", "Lea", "x", "y", "viii"}
    assert "Tom" not in words  # it was not read
    inputs = {name: values[:1] for name, values in inputs.items()}
    blank = tf.function(signatures.translate)(tf.constant([""]), **inputs)
    assert blank["translation"].numpy().tolist() == [b""]


@pytest.mark.slow
def test_an_ensemble_copies_as_its_models_do():
    model = make_model(WordTokenizer)
    both = Ensemble([model, make_model(WordTokenizer)])
    expected = [best.text for best, *_ in model.translate(TEXTS, STRATEGY)]
    assert {"Mia", "Ben"} & set(expected[0].split())
    found = [best for best, *_ in both.translate(TEXTS, STRATEGY)]
    assert [best.text for best in found] == expected and found[0].alignment is None
    signatures = TranslationSignatures(both, strategy=STRATEGY)
    served = tf.function(signatures.translate)(tf.constant(TEXTS))["translation"].numpy()
    assert [text.decode() for text in served] == expected
    assert ShallowFusion(model, None, weight=0.0).copies_words


@pytest.mark.slow
def test_subwords_have_nothing_to_copy():
    model = make_model(BytePairTokenizer)
    signatures = TranslationSignatures(model, strategy=STRATEGY)
    found = signatures.translate(tf.constant(TEXTS))["translation"].numpy()
    assert [text.decode() for text in found] == [
        own[0].text for own in model.translate(TEXTS, STRATEGY)
    ]


@pytest.mark.slow
def test_in_a_fresh_process(tmp_path):
    model = make_model(WordTokenizer, normalization=())  # which needs TensorFlow Text
    path = export(model, tmp_path / "exported", strategy=STRATEGY)
    [answer] = answers_of([(path, [("serving_default", {"text": hexadecimal(TEXTS)})], "v2")])
    assert answer["outputs"][0]["translation"] == [
        own[0].text for own in model.translate(TEXTS, STRATEGY)
    ]
