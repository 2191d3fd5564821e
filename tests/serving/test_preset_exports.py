"""The shipped presets, exported and served without Keras, on real sentences."""

import pytest

from keras_seqzoo.data import load_multi30k
from keras_seqzoo.models import RecurrentSeq2SeqLM
from keras_seqzoo.serving import export
from tests.serving.fresh_server import answers_of, hexadecimal

NUMBER, BATCH = 1000, 100


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gru_attention_multi30k_en_fr", "gru_attention_multi30k_en_de"])
def test_sentences_are_served_as_the_model_translates_them(name, data_directory, tmp_path):
    sentences = load_multi30k("val", directory=data_directory)[0][:NUMBER]
    assert len(sentences) == NUMBER
    model = RecurrentSeq2SeqLM.from_preset(name)
    path = export(model, tmp_path)
    texts = hexadecimal(sentences)
    calls = [
        ["serving_default", {"text": texts[begin : begin + BATCH]}]
        for begin in range(0, NUMBER, BATCH)
    ]
    [answer] = answers_of([[path, calls, "v1"]])
    expected = [best.text for best, *_ in model.translate(sentences)]
    assert [text for part in answer["outputs"] for text in part["translation"]] == expected
