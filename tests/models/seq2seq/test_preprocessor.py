import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.data import translation_batches
from keras_seqzoo.models import (
    RecurrentLanguageModelPreprocessor,
    RecurrentSeq2SeqLMPreprocessor,
)
from keras_seqzoo.tokenizers import BytePairTokenizer
from tests.layer_checks import config_equal
from tests.models.small import SENTENCES, preprocessor, tokenizer

PAD, BOS, EOS = 0, 2, 3
TEXTS = {"encoder_text": ["no rain", "a bee hums"], "decoder_text": ["moon", "no rain in blue"]}


def ids(text):
    return tokenizer()(text).numpy().tolist()


def padded(row, length):
    return (row + [PAD] * length)[:length]


def test_numbers():
    x, y, weights = preprocessor(length=20)(TEXTS)
    for row in range(2):
        source = ids(TEXTS["encoder_text"][row]) + [EOS]
        target = [BOS, *ids(TEXTS["decoder_text"][row]), EOS]
        assert len(source) < 20 and len(target) < 20
        assert x["encoder_token_ids"][row].numpy().tolist() == padded(source, 20)
        assert x["decoder_token_ids"][row].numpy().tolist() == padded(target[:-1], 20)
        assert y[row].numpy().tolist() == padded(target[1:], 20)
        np.testing.assert_array_equal(x["encoder_padding_mask"][row], np.arange(20) < len(source))
        for mask in (x["decoder_padding_mask"], weights):
            np.testing.assert_array_equal(mask[row], np.arange(20) < len(target) - 1)
    assert x["encoder_token_ids"].dtype == y.dtype == tf.int32


def test_strings_and_batches_of_ids_become_the_same_inputs():
    layer = preprocessor(length=20)
    encoders = layer.encode_source, layer.encode_target
    options = {"batch_size": 2, "boundaries": [20], "shuffle": False}
    [(x, y, weights)] = translation_batches(*TEXTS.values(), *encoders, **options)
    expected, labels, present = layer(TEXTS)
    sizes = {"encoder": x["encoder_token_ids"].shape[1], "decoder": y.shape[1]}
    for name, value in expected.items():
        length = sizes[name.partition("_")[0]]
        np.testing.assert_array_equal(x[name], value[:, :length], name)
        assert not value[:, length:].numpy().any()
    np.testing.assert_array_equal(y, labels[:, : sizes["decoder"]])
    np.testing.assert_array_equal(weights, present[:, : sizes["decoder"]])


def test_what_is_too_long_is_cut():
    x, y, weights = preprocessor(length=4)(TEXTS)
    source, target = ids("a bee hums"), ids("no rain in blue")
    assert x["encoder_token_ids"][1].numpy().tolist() == [*source[:3], EOS]  # [EOS] stays
    assert x["decoder_token_ids"][1].numpy().tolist() == [BOS, *target[:3]]
    assert y[1].numpy().tolist() == target[:4] and bool(tf.reduce_all(weights[1]))
    x, y, _ = preprocessor(length=4)(TEXTS, encoder_sequence_length=9, decoder_sequence_length=7)
    assert x["encoder_token_ids"].shape == (2, 9) and y.shape == (2, 7)


def test_in_a_dataset():
    dataset = tf.data.Dataset.from_tensor_slices(TEXTS).batch(2).map(preprocessor(length=12))
    [(x, y, weights)] = dataset
    expected = preprocessor(length=12)(TEXTS)
    tf.nest.map_structure(np.testing.assert_array_equal, (x, y, weights), expected)


@pytest.mark.slow
def test_segmentations_are_drawn_where_that_is_asked_for():
    drawing = BytePairTokenizer.train(SENTENCES, 300, dropout=0.5)
    translation = RecurrentSeq2SeqLMPreprocessor(
        drawing, encoder_sequence_length=60, decoder_sequence_length=60
    )
    language = RecurrentLanguageModelPreprocessor(drawing, sequence_length=60)
    texts = tf.data.Dataset.from_tensors(SENTENCES[:1] * 20)
    pairs = texts.map(lambda text: {"encoder_text": text, "decoder_text": text})
    for training in (False, True):
        [(x, y, _)] = pairs.map(lambda pair, on=training: translation(pair, training=on))
        [(_, own, _)] = texts.map(lambda text, on=training: language(text, training=on))
        for ids in (x["encoder_token_ids"], y, own):
            found = len({tuple(row) for row in ids.numpy().tolist()})
            assert found > 10 if training else found == 1


def test_generation():
    layer = preprocessor(length=8)
    x = layer.generate_preprocess(["no rain", ""])
    assert x["encoder_token_ids"][1].numpy().tolist() == padded([EOS], 8)
    assert x["decoder_token_ids"].numpy().tolist() == [padded([BOS], 8)] * 2
    np.testing.assert_array_equal(x["decoder_padding_mask"], [[True] + [False] * 7] * 2)
    prompts = {"encoder_text": ["a", "b"], "decoder_text": ["moon", ""]}
    x = layer.generate_preprocess(prompts, sequence_length=10, encoder_sequence_length=3)
    assert x["encoder_token_ids"].shape == (2, 3)
    assert x["decoder_token_ids"][0].numpy().tolist() == padded([BOS, *ids("moon")], 10)
    texts = layer.generate_postprocess(
        {
            "decoder_token_ids": np.array(
                [[BOS, *padded([*ids("moon"), EOS], 9)], [BOS] + [5] * 9]
            ),
            "decoder_padding_mask": np.arange(10) < np.array([[9], [1]]),
        }
    )
    assert texts == ["moon", ""]


def test_two_tokenizers(tmp_path):
    source = tokenizer("encoder_tokenizer.json")
    layer = preprocessor(encoder_tokenizer=source, length=6)
    assert layer.encoder_tokenizer is source and layer.tokenizer is tokenizer()
    layer.save_to_preset(str(tmp_path))
    loaded = RecurrentSeq2SeqLMPreprocessor.from_config(layer.get_config())
    assert loaded.encoder_tokenizer is not loaded.tokenizer
    assert config_equal(loaded.get_config(), layer.get_config())
    for folder in ("tokenizer", "encoder_tokenizer"):
        assert (tmp_path / "assets" / folder / "vocabulary.spm").exists()


def test_a_joint_tokenizer_is_one():
    layer = preprocessor(encoder_tokenizer=tokenizer())
    assert layer.encoder_tokenizer is layer.tokenizer
    twin = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(layer))
    assert twin.encoder_tokenizer is twin.tokenizer
    assert config_equal(twin.get_config(), layer.get_config())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"encoder_sequence_length": 1}, "`encoder_sequence_length` must be an int of at least 2"),
        ({"decoder_sequence_length": 1.5}, "`decoder_sequence_length`"),
    ],
)
def test_errors_name_the_argument(options, message):
    with pytest.raises(ValueError, match=message):
        RecurrentSeq2SeqLMPreprocessor(tokenizer(), **options)


def test_two_tokenizers_of_one_name_are_an_error():
    other = type(tokenizer()).train(SENTENCES * 2, 290)
    with pytest.raises(ValueError, match="`encoder_tokenizer`.*`config_file`"):
        RecurrentSeq2SeqLMPreprocessor(tokenizer(), other)
