import json
import shutil

import keras_hub
import pytest

import keras_seqzoo
from keras_seqzoo import models, preset_folders, tokenizers
from keras_seqzoo.models import RecurrentEncoderDecoderBackbone, RecurrentSeq2SeqLM
from keras_seqzoo.zoo import list_presets, preset_path, register_presets
from tests.tiers import slow

NAME = "gru_tiny_en_es"


@pytest.fixture
def zoo(preset, tmp_path, monkeypatch):
    """A zoo with one preset, and a folder and a file that are none."""
    folder = tmp_path / "saved_models"
    shutil.copytree(preset, folder / NAME)
    (folder / "empty").mkdir()
    (folder / "README.md").write_text("An index.")
    monkeypatch.setattr(preset_folders, "presets_folder", lambda: folder)
    return folder


@pytest.fixture
def registered(zoo):
    from keras_hub.src.utils import preset_utils

    register_presets()
    yield zoo
    preset_utils.BUILTIN_PRESETS.pop(NAME)
    preset_utils.BUILTIN_PRESETS_FOR_BACKBONE[RecurrentEncoderDecoderBackbone].pop(NAME)


def test_list_presets(zoo):
    assert list(list_presets()) == [NAME]
    assert list_presets()[NAME]["description"] == "A tiny one."


def test_list_presets_without_metadata_and_without_a_zoo(zoo):
    (zoo / NAME / "metadata.json").unlink()
    assert list_presets() == {NAME: {"description": ""}}
    shutil.rmtree(zoo)
    assert list_presets() == {}


def test_preset_path(zoo, preset):
    assert preset_path(NAME) == zoo / NAME
    assert preset_path(preset) == preset
    assert preset_path(str(preset)) == preset


def test_unknown_names_give_near_ones(zoo, tmp_path):
    with pytest.raises(ValueError, match=f"got 'gru_tinny_en'. Did you mean '{NAME}'"):
        preset_path("gru_tinny_en")
    with pytest.raises(ValueError, match=f"`preset` must be one of {NAME}, or .* got 'qqq'.$"):
        preset_path("qqq")
    (tmp_path / "en_fr" / "1").mkdir(parents=True)
    (tmp_path / "en_fr" / "1" / "saved_model.pb").touch()
    with pytest.raises(ValueError, match="en_fr', which is an exported model, for a server"):
        preset_path(tmp_path / "en_fr")
    own = tmp_path / "my-classifier"
    shutil.copytree(zoo / NAME, own)
    with pytest.raises(ValueError, match=f"Did you mean '{own}'"):
        preset_path(tmp_path / "my-clasifier")
    with pytest.raises(ValueError, match="got ''.$"):
        preset_path("")
    with pytest.raises(ValueError, match="`preset` must be a folder with a config.json"):
        preset_path(zoo / "empty")
    with pytest.raises(TypeError, match="`preset` must be a name or a path, got 3"):
        preset_path(3)


@pytest.mark.parametrize(
    "cls",
    [
        RecurrentSeq2SeqLM,
        slow(RecurrentEncoderDecoderBackbone),
        keras_hub.models.Seq2SeqLM,
        slow(keras_hub.models.Backbone),
    ],
)
def test_from_preset_by_name(registered, cls):
    assert NAME in cls.presets
    assert cls.presets[NAME]["metadata"]["description"] == "A tiny one."
    assert isinstance(cls.from_preset(NAME), (RecurrentSeq2SeqLM, RecurrentEncoderDecoderBackbone))


def test_parts_by_name(registered):
    tokenizer = keras_seqzoo.tokenizers.BytePairTokenizer.from_preset(NAME)
    assert tokenizer.vocabulary_size() == 290
    preprocessor = keras_seqzoo.models.RecurrentSeq2SeqLMPreprocessor.from_preset(NAME)
    assert preprocessor.encoder_sequence_length == 16
    assert preprocessor.decoder_sequence_length == 14


@pytest.mark.parametrize("cls", [RecurrentSeq2SeqLM, slow(RecurrentEncoderDecoderBackbone)])
def test_our_classes_need_no_registry_of_keras_hub(zoo, preset, cls):
    loaded = cls.from_preset(NAME)
    assert loaded.count_params() > 0
    assert cls.from_preset(preset, load_weights=False).count_params() == loaded.count_params()


def test_registration_without_keras_hubs_function(zoo, monkeypatch):
    from keras_hub.src.utils import preset_utils

    monkeypatch.delattr(preset_utils, "register_presets")
    before = dict(preset_utils.BUILTIN_PRESETS)
    register_presets()
    assert before == preset_utils.BUILTIN_PRESETS


def test_a_damaged_preset_does_not_stop_the_others(registered, caplog):
    broken = registered / "broken"
    broken.mkdir()
    (broken / "config.json").write_text("{")
    register_presets()
    assert "The preset 'broken' is damaged" in caplog.text
    assert NAME in RecurrentSeq2SeqLM.presets
    assert "broken" not in RecurrentSeq2SeqLM.presets


@pytest.mark.parametrize("cls", [RecurrentSeq2SeqLM, slow(RecurrentEncoderDecoderBackbone)])
def test_our_classes_name_near_presets(zoo, cls):
    with pytest.raises(ValueError, match=f"Did you mean '{NAME}'"):
        cls.from_preset("gru_tinny_en")


def test_a_preset_of_another_kind_of_model(zoo):
    config = json.loads((zoo / NAME / "config.json").read_text())
    config["registered_name"] = "keras_hub>BertBackbone"
    (zoo / NAME / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match="BertBackbone"):
        RecurrentEncoderDecoderBackbone.from_preset(NAME)


TEXTS = ["the cat sat on the mat", "a dog ran"] * 6
TOKENIZERS = {
    "byte pairs": lambda: tokenizers.BytePairTokenizer.train(TEXTS, 275),
    "characters": lambda: tokenizers.CharacterTokenizer.train(TEXTS),
    "unigrams": lambda: tokenizers.UnigramTokenizer.train(TEXTS, 275),
    "word pieces": lambda: tokenizers.WordPieceTokenizer.train(TEXTS, 40),
    "words": lambda: tokenizers.WordTokenizer.train(TEXTS),
}
BACKBONES = {
    "convolutional": lambda: models.ConvolutionalBackbone(9, 2, filters=2, widths=(2,)),
    "recurrent": lambda: models.RecurrentBackbone(9, 2, 2),
    "translating": lambda: models.RecurrentEncoderDecoderBackbone(9, 9, 2, 2, 2),
    "tagging": lambda: models.RecurrentTaggerBackbone(9, 2, units=2),
}


@pytest.mark.parametrize(
    ("kind", "backbone"),
    [*((kind, "recurrent") for kind in TOKENIZERS), *(("words", name) for name in BACKBONES)],
)
def test_keras_hub_finds_tokenizers(kind, backbone, tmp_path):
    tokenizer = TOKENIZERS[kind]()
    BACKBONES[backbone]().save_to_preset(tmp_path)
    tokenizer.save_to_preset(tmp_path)
    loaded = keras_hub.tokenizers.Tokenizer.from_preset(str(tmp_path), sequence_length=5)
    assert type(loaded) is type(tokenizer)
    assert loaded.get_vocabulary() == tokenizer.get_vocabulary()
    assert loaded("the cat").shape == (5,)


def test_keras_hub_finds_parts_by_name(registered):
    tokenizer = keras_hub.tokenizers.Tokenizer.from_preset(NAME)
    assert isinstance(tokenizer, tokenizers.BytePairTokenizer)
    assert isinstance(
        keras_hub.models.Seq2SeqLMPreprocessor.from_preset(NAME),
        models.RecurrentSeq2SeqLMPreprocessor,
    )
