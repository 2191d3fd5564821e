"""The presets that label, on real validation data: nearly as good as their cards say."""

from keras_seqzoo.data import read_tagged_sentences
from keras_seqzoo.models import RecurrentTagger


def test_parts_of_speech(data_directory):
    words, tags = read_tagged_sentences(data_directory / "ud_ewt" / "en_ewt-ud-dev.conllu.gz")
    tagger = RecurrentTagger.from_preset("bilstm_crf_ewt_upos")
    assert tagger.accuracy(words[:400], tags[:400]) > 0.94
