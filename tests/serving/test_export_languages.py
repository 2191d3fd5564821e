"""Exports of models with several target languages take one for each row."""

import json
import pathlib

import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.decoding import BeamSearch
from keras_seqzoo.serving import export
from tests.models.seq2seq.test_languages import TOKENS, shared_model

pytestmark = pytest.mark.slow
SEARCH = BeamSearch(2, n_best=2, max_source_ratio=3.0)
TEXTS = ["no rain", "a bee hums", "", "the moon is far"]
LANGUAGES = ["de", "fr", "fr", "de"]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return export(
        shared_model(), tmp_path_factory.mktemp("served") / "both", strategy=SEARCH, warmup=[1, 3]
    )


@pytest.fixture(scope="module")
def served(path):
    return tf.saved_model.load(path)  # held: its functions do not hold its tables


def run(served, signature, **inputs):
    outputs = served.signatures[signature](**{k: tf.constant(v) for k, v in inputs.items()})
    return {name: value.numpy() for name, value in outputs.items()}


def test_rows_are_those_of_the_model(served):
    expected = shared_model().translate(TEXTS, SEARCH, language=LANGUAGES)
    found = run(served, "serving_default", text=TEXTS, language=LANGUAGES)
    assert found["translation"].tolist() == [best.text.encode() for best, *_ in expected]
    scores = [best.score for best, *_ in expected]
    np.testing.assert_allclose(found["score"], scores, rtol=1e-4, atol=1e-5)
    assert found["error"].tolist() == [b""] * 4
    both = run(served, "n_best", text=TEXTS, language=LANGUAGES)
    assert both["translations"][0].tolist() == [one.text.encode() for one in expected[0]]


def test_an_unknown_language_is_an_error_of_its_row(served):
    languages = ["de", "xx", "fr", ""]
    found = run(served, "serving_default", text=TEXTS, language=languages)
    whole = run(served, "serving_default", text=TEXTS, language=LANGUAGES)
    message = b"`language` must be one of fr, de, got "
    assert found["error"].tolist() == [b"", message + b"xx.", b"", message + b"."]
    assert found["translation"].tolist() == [whole["translation"][0], b"", b"", b""]
    # Fewer rows are searched, and a matmul of other size may round differently.
    np.testing.assert_allclose(found["score"][0], whole["score"][0], rtol=1e-5)
    assert found["score"][1:].tolist() == [0.0, 0.0, 0.0]


def test_ids_begin_with_the_token_of_the_language(served):
    model = shared_model()
    ids = model.preprocessor.encode_source(["no rain"], language="de")
    assert ids[0, 0].numpy() == TOKENS["de"]
    found = run(
        served, "token_ids", token_ids=ids.to_tensor(), lengths=tf.cast(ids.row_lengths(), tf.int32)
    )
    [[best, *_]] = model.translate(["no rain"], SEARCH, language="de")
    own = found["token_ids"][0, : found["lengths"][0]]
    assert model.preprocessor.tokenizer.detokenize(own) == best.text


def test_the_description_has_the_languages(path):
    extra = pathlib.Path(path, "assets.extra")
    described = json.loads((extra / "signature.json").read_text(encoding="utf-8"))
    assert described["languages"] == ["fr", "de"]
    signature = described["signatures"]["serving_default"]
    assert signature["inputs"]["language"] == {
        "dtype": "string",
        "shape": [None],
        "meaning": "the target language of each sentence, one of fr, de",
    }
    assert signature["empty_text"]["error"] == signature["empty_text"]["translation"] == ""
    ids = described["signatures"]["token_ids"]["inputs"]
    assert "language" not in ids and "that of the target language" in ids["token_ids"]["meaning"]


def test_a_limit_keeps_the_language(tmp_path):
    with pytest.raises(ValueError, match="`max_input_length` must be at least 2"):
        export(shared_model(), tmp_path / "both", max_input_length=1)
