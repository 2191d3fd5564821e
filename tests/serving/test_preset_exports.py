"""The shipped presets, exported and served without Keras, on real sentences."""

import pytest

from keras_seqzoo.data import load_multi30k
from keras_seqzoo.models import RecurrentSeq2SeqLM
from keras_seqzoo.serving import export
from tests.serving.fresh_server import answers_of, hexadecimal

NUMBER, BATCH = 1000, 100


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("gru_attention_multi30k_en_fr", None),
        ("gru_attention_multi30k_en_de", None),
        ("gru_attention_tatoeba_en_fr_es_de_cs", "es"),
    ],
)
def test_sentences_are_served_as_the_model_translates_them(
    name, language, data_directory, tmp_path
):
    sentences = load_multi30k("val", directory=data_directory)[0][:NUMBER]
    assert len(sentences) == NUMBER
    model = RecurrentSeq2SeqLM.from_preset(name)
    path = export(model, tmp_path)
    texts = hexadecimal(sentences)
    batches = [{"text": texts[begin : begin + BATCH]} for begin in range(0, NUMBER, BATCH)]
    if language is not None:
        for batch in batches:
            batch["language"] = hexadecimal([language] * BATCH)
    calls = [["serving_default", batch] for batch in batches]
    [answer] = answers_of([[path, calls, "v1"]])
    expected = [best.text for best, *_ in model.translate(sentences, language=language)]
    assert [text for part in answer["outputs"] for text in part["translation"]] == expected
