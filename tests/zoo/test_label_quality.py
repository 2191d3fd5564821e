"""The presets that label, on real validation data: as good as their cards say, nearly."""

import pytest

from keras_seqzoo.data import read_tagged_sentences
from keras_seqzoo.metrics import entity_scores
from keras_seqzoo.models import RecurrentTagger


@pytest.fixture
def tagged(data_directory):
    """Give the first sentences of a file and their tags."""

    def read(*parts, sentences):
        words, tags = read_tagged_sentences(data_directory.joinpath(*parts))
        return words[:sentences], tags[:sentences]

    return read


def test_parts_of_speech(tagged):
    words, tags = tagged("ud_ewt", "en_ewt-ud-dev.conllu.gz", sentences=400)
    assert RecurrentTagger.from_preset("bilstm_crf_ewt_upos").accuracy(words, tags) > 0.94


def test_entities(tagged):
    words, tags = tagged("ner", "wnut17", "wnut17.dev.conll.gz", sentences=1009)
    found = RecurrentTagger.from_preset("bilstm_crf_wnut17_ner").tag(words)
    assert entity_scores(tags, found).overall.f1 > 0.4
