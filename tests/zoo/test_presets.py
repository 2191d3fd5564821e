"""The presets that are in the repository, every one of them."""

import re
import socket

import h5py
import keras_hub
import pytest

from keras_seqzoo import list_presets
from keras_seqzoo.decoding import Sampling
from keras_seqzoo.models import (
    RecurrentLanguageModel,
    RecurrentSeq2SeqLM,
    RecurrentTagger,
    RecurrentTextClassifier,
)
from keras_seqzoo.models.word_vectors import WordVectors
from keras_seqzoo.preset_folders import preset_folders, presets_folder
from keras_seqzoo.tokenizers import TextTokenizer
from tests.tiers import mostly_slow, slow

# The translators, and the languages from which one is chosen.
TRANSLATORS = {
    "gru_attention_multi30k_en_de": [],
    "gru_attention_multi30k_en_fr": [],
    "gru_attention_tatoeba_en_fr_es_de_cs": ["fr", "es", "de", "cs"],
}
LANGUAGE_MODELS = {"lstm_char_shakespeare": "The king is", "lstm_bpe_imdb": "The film is"}
CLASSIFIERS = {"bilstm_imdb_sentiment"}
TAGGERS = {
    "bilstm_crf_ewt_upos": "PROPN VERB ADP PROPN PUNCT",
    "bilstm_crf_wnut17_ner": "B-person O O B-location O",
}
VECTORS = {"skipgram_imdb_100d"}
# Of each kind: its names, the class, the command that trains one, and what its card's scores are.
KINDS = (
    (set(TRANSLATORS), RecurrentSeq2SeqLM, "translate", "BLEU"),
    (set(LANGUAGE_MODELS), RecurrentLanguageModel, "lm", "Perplexity"),
    (CLASSIFIERS, RecurrentTextClassifier, "classify", "Accuracy"),
    (set(TAGGERS), RecurrentTagger, "tag", "Accuracy"),
    (VECTORS, None, "vectors", "Analogies"),
)
SHIPPED = set().union(*(kind[0] for kind in KINDS))
NAMES = sorted(SHIPPED | set(preset_folders()))
SENTENCE = "A small brown dog is running through the tall grass."


@pytest.fixture
def offline(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("Loading a preset must not use the network.")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def kind_of(name):
    [kind] = [kind for kind in KINDS if name in kind[0]]
    return kind


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
    _, task, *_ = kind_of(name)
    assert task is None or name in task.presets


@pytest.mark.parametrize("name", mostly_slow(sorted(TRANSLATORS), "gru_attention_multi30k_en_fr"))
def test_translates_offline(name, offline):
    model = RecurrentSeq2SeqLM.from_preset(name)
    languages = TRANSLATORS[name]
    found = model.translate([SENTENCE] * max(len(languages), 1), language=languages or None)
    texts = {best.text for best, *_ in found}
    assert len(texts - {SENTENCE}) == len(found)
    for text in texts:
        assert len(text.split()) >= 4
        assert "\u2047" not in text  # the unknown token


@pytest.mark.parametrize("name", ["lstm_char_shakespeare", slow("lstm_bpe_imdb")])
def test_writes_offline(name, offline):
    model = RecurrentLanguageModel.from_preset(name)
    begin = LANGUAGE_MODELS[name]
    [[text]] = model.generate([begin], strategy=Sampling(temperature=0.5, seed=2), max_length=80)
    assert text.startswith(begin)
    assert len(set(text.split())) >= 8
    likely, other = model.score([f"{begin} dead.", " ".join([*begin.split()[::-1], "dead ."])])
    assert likely[0] > other[0] + 5


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lstm_char_shakespeare", "lstm_bpe_imdb"])
def test_keras_hub_loads_a_language_model(name, offline):
    model = keras_hub.models.CausalLM.from_preset(str(preset_folders()[name]))
    assert isinstance(model, RecurrentLanguageModel)
    begin = LANGUAGE_MODELS[name]
    assert model.generate(begin, max_length=20).startswith(begin)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(TRANSLATORS))
def test_keras_hub_loads_a_translator(name, offline):
    model = keras_hub.models.Seq2SeqLM.from_preset(str(preset_folders()[name]))
    assert isinstance(model, RecurrentSeq2SeqLM)
    language = {"language": TRANSLATORS[name][0]} if TRANSLATORS[name] else {}
    assert model.generate({"encoder_text": SENTENCE, **language})


@pytest.mark.parametrize("name", sorted(CLASSIFIERS))
def test_classifies_offline(name, offline):
    texts = ["A moving film, wonderfully acted.", "Dull and badly acted: a waste of time.", ""]
    found = RecurrentTextClassifier.from_preset(name).classify(texts)
    assert [one.labels for one in found[:2]] == [["positive"], ["negative"]]
    assert found[2].probabilities["positive"] == pytest.approx(0.5, abs=1e-3)  # the prior


@pytest.mark.parametrize("name", sorted(CLASSIFIERS))
def test_keras_hub_loads_a_classifier(name, offline):
    model = keras_hub.models.TextClassifier.from_preset(str(preset_folders()[name]))
    assert isinstance(model, RecurrentTextClassifier)
    [found] = model.classify(["A moving film, wonderfully acted."])
    assert found.labels == ["positive"]


@pytest.mark.parametrize("name", mostly_slow(sorted(TAGGERS), "bilstm_crf_ewt_upos"))
def test_tags_offline(name, offline):
    model = RecurrentTagger.from_preset(name)
    [tags] = model.tag([["Maria", "lives", "in", "London", "."]])
    assert tags == TAGGERS[name].split()


@pytest.mark.parametrize("name", sorted(VECTORS))
def test_vectors_offline(name, offline):
    vectors = WordVectors.from_preset(name)
    assert {"movie", "films"} & {word for word, _ in vectors.most_similar("film", 5)}
    tokenizer = TextTokenizer.from_preset(name)
    assert tokenizer.get_vocabulary()[5:] == vectors.words


@pytest.mark.parametrize("name", NAMES)
def test_size_and_files(name):
    files = [path for path in preset_folders()[name].rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= 40e6
    assert {path.suffix for path in files} - {".spm", ".txt"} == {".h5", ".json", ".md"}
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
    *_, command, measure = kind_of(name)
    assert f"seqzoo train {command} " in card
    assert measure in card


@pytest.mark.parametrize("name", sorted({*TRANSLATORS, *LANGUAGE_MODELS, *CLASSIFIERS, *TAGGERS}))
def test_keras_hub_loads_a_tokenizer(name, offline):
    found = keras_hub.tokenizers.Tokenizer.from_preset(name)
    own = TextTokenizer.from_preset(name)
    assert type(found) is type(own)
    assert found.get_vocabulary() == own.get_vocabulary()


@pytest.mark.slow
def test_a_preset_of_another_kind_is_refused(offline):
    with pytest.raises(ValueError, match="must hold a RecurrentSeq2SeqLM or its backbone, got 'ls"):
        RecurrentSeq2SeqLM.from_preset("lstm_bpe_imdb")
