"""Models with several target languages: a special token of the source asks for one."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.decoding import Greedy
from keras_seqzoo.models import (
    Ensemble,
    RecurrentEncoderDecoderBackbone,
    RecurrentSeq2SeqLM,
    RecurrentSeq2SeqLMPreprocessor,
)
from keras_seqzoo.models.seq2seq.languages import check_language, language_token
from keras_seqzoo.tokenizers import BytePairTokenizer
from keras_seqzoo.zoo import save_preset
from tests.models.small import SENTENCES, VOCABULARY, preprocessor, tokenizer
from tests.seeds import made_once

LANGUAGES = ["fr", "de"]
TOKENS = {"fr": VOCABULARY, "de": VOCABULARY + 1}
EOS = 3


@functools.cache
def multilingual_tokenizer():
    tokens = [language_token(name) for name in LANGUAGES]
    return BytePairTokenizer.train(SENTENCES * 3, VOCABULARY, control_tokens=tokens)


def multilingual_preprocessor(**options):
    options = {"encoder_sequence_length": 16, "decoder_sequence_length": 16, **options}
    return RecurrentSeq2SeqLMPreprocessor(
        multilingual_tokenizer(), **{"languages": LANGUAGES, **options}
    )


def new_model(**options):
    size = multilingual_tokenizer().vocabulary_size()
    backbone = RecurrentEncoderDecoderBackbone(
        size, size, embedding_dim=8, encoder_units=8, decoder_units=16, attention_units=8
    )
    return RecurrentSeq2SeqLM(backbone, multilingual_preprocessor(**options))


@made_once
def shared_model():
    """One model for the tests that do not train it."""
    keras.utils.set_random_seed(2)
    result = new_model()
    random = np.random.default_rng(0)
    result.set_weights([0.7 * random.normal(size=w.shape) for w in result.get_weights()])
    return result


def test_the_source_begins_with_the_token_of_its_language():
    plain = tokenizer()("no rain").numpy().tolist()
    own = multilingual_preprocessor()
    encoded = own.encode_source(["no rain", "no rain"], language=["de", "fr"]).to_list()
    assert encoded == [[TOKENS["de"], *plain, EOS], [TOKENS["fr"], *plain, EOS]]
    assert own.encode_source(["no rain"] * 2, language="fr").to_list() == encoded[1:] * 2
    # Longer texts keep both the language and the end.
    [cut] = own.encode_source(["no rain"], length=4, language="de").to_list()
    assert cut == [TOKENS["de"], *plain[:2], EOS]
    texts = {"encoder_text": ["no rain"], "decoder_text": ["moon"]}
    x, _, _ = own({**texts, "language": ["de"]})
    assert x["encoder_token_ids"][0].numpy().tolist()[: len(plain) + 2] == encoded[0]
    assert x["decoder_token_ids"].numpy().max() < VOCABULARY


def test_text_that_spells_a_token_is_text():
    own = multilingual_preprocessor(encoder_sequence_length=40)
    [spelled] = own.encode_source(["<2de> no <2fr>"], language="fr").to_list()
    assert spelled[0] == TOKENS["fr"] and not set(spelled[1:]) & set(TOKENS.values())
    assert own.tokenizer.detokenize(spelled) == "<2de> no <2fr>"
    assert own.tokenizer.token_to_id("<2de>") == TOKENS["de"]


@pytest.mark.parametrize(
    ("language", "error"),
    [
        (None, "`language` must be one of fr, de, got None"),
        ("en", "`language` must be one of fr, de, got 'en'"),
        (["fr", "en"], "`language` must be one of fr, de, got 'en'"),
    ],
)
def test_unknown_languages(language, error):
    with pytest.raises(ValueError, match=error):
        shared_model().translate(["no", "rain"], language=language)
    with pytest.raises(ValueError, match=error):
        multilingual_preprocessor().encode_source(["no", "rain"], language=language)
    with pytest.raises(ValueError, match=error):
        shared_model().score(["no", "rain"], ["a", "b"], language=language)


def test_other_mistakes():
    with pytest.raises(ValueError, match="one for each of the 3 texts, got 2"):
        check_language(["fr", "de"], LANGUAGES, 3)
    with pytest.raises(ValueError, match="must be None for a model of one target language"):
        preprocessor().encode_source(["no"], language="fr")
    with pytest.raises(ValueError, match="among the `control_tokens` .* without <2fr>"):
        preprocessor(languages=["fr"])
    for name in ("", "a b", "<fr>", 3):
        with pytest.raises(ValueError, match="names without white space and angle brackets"):
            language_token(name)
    with pytest.raises(ValueError, match="`languages` must differ"):
        multilingual_preprocessor(languages=["fr", "fr"])
    with pytest.raises(ValueError, match="`encoder_sequence_length` must be an int of at least 3"):
        multilingual_preprocessor(encoder_sequence_length=2)
    with pytest.raises(ValueError, match="the same target languages"):
        other = RecurrentSeq2SeqLM(
            shared_model().backbone, multilingual_preprocessor(languages=["de", "fr"])
        )
        Ensemble([shared_model(), other])


@pytest.mark.slow
def test_a_graph_refuses_unknown_languages():
    encode = tf.function(
        lambda language: (
            multilingual_preprocessor().encode_source(["a"], language=language).to_tensor()
        )
    )
    assert encode(tf.constant("de"))[0, 0] == TOKENS["de"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be one of fr, de"):
        encode(tf.constant("en"))


@pytest.mark.slow
def test_texts_in_several_languages_are_those_of_each():
    model = shared_model()
    texts = ["no rain", "", "a bee hums", "the moon is far"]
    both = model.translate(texts, Greedy(), language=["fr", "de", "de", "fr"])
    apart = {name: model.translate(texts, Greedy(), language=name) for name in LANGUAGES}
    for row, name in enumerate(["fr", "de", "de", "fr"]):
        assert both[row][0].text == apart[name][row][0].text
    assert apart["fr"][0][0].source_tokens[0] == "<2fr>"
    assert apart["fr"][0][0].log_probability != apart["de"][0][0].log_probability
    assert both[1][0].text == ""
    [aligned] = model.align(["no rain"], ["rain"], language="de")
    assert aligned.source_tokens[0] == "<2de>" and aligned.alignment.shape[1] == len(
        aligned.source_tokens
    )
    [scored] = model.score(["no rain"], ["rain"], language="de")
    assert scored.log_probability == pytest.approx(aligned.log_probability, rel=1e-5)
    ensemble = Ensemble([model, model])
    [[best]] = ensemble.translate(["no rain"], Greedy(), language="de")
    assert best.text == apart["de"][0][0].text


@pytest.mark.slow
def test_generate_takes_a_language():
    model = new_model()
    model.set_weights(shared_model().get_weights())
    model.compile(sampler=Greedy())
    texts = {"encoder_text": ["no rain", "a bee hums"], "language": ["de", "fr"]}
    expected = [
        model.translate([text], Greedy(), max_length=15, language=name)[0][0].text
        for text, name in zip(*texts.values(), strict=True)
    ]
    assert model.generate(dict(texts)) == expected
    assert model.generate({"encoder_text": "no rain", "language": "de"}) == expected[0]
    dataset = tf.data.Dataset.from_tensor_slices(texts).batch(2)
    assert model.generate(dataset) == expected
    one = {"encoder_text": texts["encoder_text"], "language": "de"}
    for fields in (one, dict(reversed(one.items()))):
        found = model.generate(fields)
        assert found[0] == expected[0] and len(found) == 2 and fields["language"] == "de"
    with pytest.raises(ValueError, match="`language` must be one of fr, de, got None"):
        model.generate("no rain")


@pytest.mark.slow
def test_strings_and_ids_are_the_same_to_training():
    model = new_model()
    model.compile()
    texts = {
        "encoder_text": ["no rain", "a bee hums"],
        "decoder_text": ["red", "blue"],
        "language": ["fr", "de"],
    }
    ids = model.preprocessor(texts)
    assert ids[0]["encoder_token_ids"][:, 0].numpy().tolist() == [*TOKENS.values()]
    loss = model.evaluate(tf.data.Dataset.from_tensors(ids), verbose=0)
    assert model.evaluate(texts, batch_size=2, verbose=0) == pytest.approx(loss)
    swapped = {**texts, "language": ["de", "fr"]}
    assert model.evaluate(swapped, batch_size=2, verbose=0) != pytest.approx(loss)
    trained = model.fit(texts, batch_size=2, verbose=0).history["loss"]
    assert trained == pytest.approx([loss], rel=1e-4)


@pytest.mark.slow
def test_a_preset_keeps_the_languages(tmp_path):
    model = shared_model()
    save_preset(model, tmp_path / "preset", dtype="float32")
    loaded = RecurrentSeq2SeqLM.from_preset(str(tmp_path / "preset"))
    assert loaded.languages == ("fr", "de")
    assert loaded.preprocessor.tokenizer.control_tokens == ("<2fr>", "<2de>")
    texts = ["no rain", "a bee hums"]
    found = [one.translate(texts, Greedy(), language="de") for one in (model, loaded)]
    assert [best.text for [best] in found[0]] == [best.text for [best] in found[1]]
