"""The presets that are in the repository, every one of them."""

import re
import socket

import h5py
import keras_hub
import pytest

from keras_seqzoo import list_presets
from keras_seqzoo.decoding import Sampling
from keras_seqzoo.models import RecurrentLanguageModel, RecurrentSeq2SeqLM
from keras_seqzoo.zoo.names import preset_folders, presets_folder

TRANSLATORS = {"gru_attention_multi30k_en_de", "gru_attention_multi30k_en_fr"}
LANGUAGE_MODELS = {"lstm_char_shakespeare"}
SHIPPED = TRANSLATORS | LANGUAGE_MODELS
NAMES = sorted(SHIPPED | set(preset_folders()))
SENTENCE = "A small brown dog is running through the tall grass."


@pytest.fixture
def offline(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("Loading a preset must not use the network.")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def test_all_are_listed():
    assert set(list_presets()) >= SHIPPED


def test_the_index_names_all():
    index = (presets_folder() / "README.md").read_text(encoding="utf-8")
    assert all(name in index for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_metadata(name):
    metadata = list_presets()[name]
    assert metadata["description"]
    assert "\n" not in metadata["description"]
    task = RecurrentSeq2SeqLM if name in TRANSLATORS else RecurrentLanguageModel
    assert name in task.presets


@pytest.mark.parametrize("name", sorted(TRANSLATORS))
def test_translates_offline(name, offline):
    model = RecurrentSeq2SeqLM.from_preset(name)
    [[best]] = model.translate([SENTENCE])
    assert len(best.text.split()) >= 4
    assert best.text != SENTENCE
    assert "\u2047" not in best.text  # the unknown token


@pytest.mark.parametrize("name", sorted(LANGUAGE_MODELS))
def test_writes_offline(name, offline):
    model = RecurrentLanguageModel.from_preset(name)
    [[text]] = model.generate(["KING"], strategy=Sampling(temperature=0.5, seed=1), max_length=80)
    assert text.startswith("KING")
    assert len(set(text.split())) >= 8
    likely, other = model.score(["The king is dead.", "eTh ingk si dade."])
    assert likely[0] > other[0] + 20


@pytest.mark.parametrize("name", sorted(LANGUAGE_MODELS))
def test_keras_hub_loads_a_language_model(name, offline):
    model = keras_hub.models.CausalLM.from_preset(str(preset_folders()[name]))
    assert isinstance(model, RecurrentLanguageModel)
    assert model.generate("KING", max_length=20).startswith("KING")


@pytest.mark.parametrize("name", sorted(TRANSLATORS))
def test_keras_hub_loads_a_translator(name, offline):
    model = keras_hub.models.Seq2SeqLM.from_preset(str(preset_folders()[name]))
    assert isinstance(model, RecurrentSeq2SeqLM)
    assert model.generate(SENTENCE)


@pytest.mark.parametrize("name", NAMES)
def test_size_and_files(name):
    files = [path for path in preset_folders()[name].rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= 40e6
    assert {path.suffix for path in files} - {".spm"} == {".h5", ".json", ".md"}
    for path in files:
        if path.suffix == ".h5":
            with h5py.File(path) as weights:
                assert "optimizer" not in weights


@pytest.mark.parametrize("name", NAMES)
def test_model_card(name):
    card = (preset_folders()[name] / "README.md").read_text(encoding="utf-8")
    for section in ("Data", "Licence", "Training", "Scores"):
        text = re.search(rf"^##+ {section}\n(.*?)(?=^##+ |\Z)", card, re.MULTILINE | re.DOTALL)
        assert text, f"the model card of {name} has no section {section}"
        assert len(text[1].split()) >= 5
    command, measure = ("translate", "BLEU") if name in TRANSLATORS else ("lm", "Perplexity")
    assert f"seqzoo train {command} " in card
    assert measure in card
