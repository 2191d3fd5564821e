"""The presets that label, on real data: nearly as good as their cards say."""

import json

import pytest

from keras_seqzoo.data import read_lines, read_tagged_sentences
from keras_seqzoo.metrics import entity_scores
from keras_seqzoo.models import RecurrentTagger, RecurrentTextClassifier


@pytest.mark.slow
def test_parts_of_speech(data_directory):
    words, tags = read_tagged_sentences(data_directory / "ud_ewt" / "en_ewt-ud-dev.conllu.gz")
    tagger = RecurrentTagger.from_preset("bilstm_crf_ewt_upos")
    assert tagger.accuracy(words[:400], tags[:400]) > 0.94


@pytest.mark.slow
def test_entities(data_directory):
    words, tags = read_tagged_sentences(data_directory / "ner" / "wnut17" / "wnut17.test.conll.gz")
    found = RecurrentTagger.from_preset("bilstm_crf_wnut17_ner").tag(words)
    # The validation sentences were learned from; on these its card has 0.393.
    assert entity_scores(tags, found).overall.f1 > 0.38


@pytest.mark.slow
def test_sentiment(data_directory):
    lines = read_lines(data_directory / "imdb" / "train.jsonl.gz")
    # The last of each class, which the preset did not learn from.
    rows = [json.loads(line) for line in lines[12300:12500] + lines[24800:]]
    texts = [" ".join(row["text"].replace("<br />", " ").split()) for row in rows]
    labels = [("negative", "positive")[row["label"]] for row in rows]
    assert {labels.count(label) for label in labels} == {200}
    classifier = RecurrentTextClassifier.from_preset("bilstm_imdb_sentiment")
    assert classifier.accuracy(texts, labels) > 0.87
