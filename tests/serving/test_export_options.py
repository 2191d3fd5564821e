"""Options of an export, and what it refuses."""

import json
import os
from pathlib import Path

import pytest
import tensorflow as tf

from keras_seqzoo.decoding import Greedy, LexicallyConstrainedBeamSearch
from keras_seqzoo.models import NGramLanguageModel
from keras_seqzoo.models.word_vectors import WordVectors
from keras_seqzoo.serving import export
from keras_seqzoo.serving.server_ops import TEXT_OPS, check_operations, has_op, operations
from keras_seqzoo.serving.translation import TranslationSignatures
from keras_seqzoo.tokenizers import BytePairTokenizer, WordPieceTokenizer
from tests.serving.test_export import SOURCE, make_model
from tests.serving.test_export_families import classifier, tagger


@pytest.fixture(scope="module")
def model():
    return NGramLanguageModel.train(["the cat sat", "a dog"], 2)


def test_only_the_signatures_asked_for(model, tmp_path):
    path = export(model, tmp_path, signatures=["score", "score"], warmup=[3])
    assert set(tf.saved_model.load(path).signatures) == {"score"}
    files = os.listdir(f"{path}/assets.extra")
    assert sorted(files) == ["signature.json", "tf_serving_warmup_requests"]
    description = json.loads(Path(path, "assets.extra/signature.json").read_text("utf-8"))
    assert description["model"] == "language model"
    assert description["limits"] == {"n_best": 1, "max_length": 64, "max_input_length": 256}
    score = description["signatures"].pop("score")
    assert description["signatures"] == {}
    assert score["inputs"] == {"text": {"dtype": "string", "shape": [None], "meaning": "sentences"}}
    assert score["outputs"]["tokens"]["dtype"] == "int32"
    [(log_probability, tokens)] = model.score([""])
    assert score["empty_text"] == {
        "log_probability": pytest.approx(log_probability),
        "tokens": tokens,
        "truncated": False,
    }


def test_no_warm_up_and_a_card(model, tmp_path):
    card = tmp_path / "card.md"
    card.write_bytes("# A model \u2014 and more\n".encode())
    steps = []
    options = {"signatures": ["score"], "warmup": [], "card": card, "keep": 1}
    path = export(model, tmp_path / "served", on_step=steps.append, **options)
    assert steps == ["tracing score", "saving", "checking the operations"]
    assert sorted(os.listdir(f"{path}/assets.extra")) == ["README.md", "signature.json"]
    assert Path(path, "assets.extra/README.md").read_bytes() == card.read_bytes()
    assert os.listdir(tmp_path / "served") == ["1"]


REFUSED = {
    "strategy": (classifier, {"strategy": Greedy()}, "`strategy` must not be given for a text cl"),
    "n_best": (tagger, {"n_best": 2}, "`n_best` must not be given for a tagger, got 2"),
    "max_length": (tagger, {"max_length": 2}, "`max_length` must not be given for a tagger"),
    "length": (classifier, {"max_input_length": 7}, "`max_input_length` must be at most 6, the `s"),
    "zero": (tagger, {"max_input_length": 0}, "`max_input_length` must be an int of at least 1"),
    "warmup": (tagger, {"warmup": [0]}, "`warmup` must be an int of at least 1, got 0"),
    "many": (
        tagger,
        {"warmup": [1] * 1001},
        "at most 1000 requests to each signature, got 1001 and 0",
    ),
    "keep": (tagger, {"keep": 0}, "`keep` must be an int of at least 1, got 0"),
    "name": (tagger, {"signatures": ["score"]}, "`signatures` must be among serving_default, got"),
    "none": (tagger, {"signatures": []}, "`signatures` must be one or more of serving_default"),
    "word": (lambda: WordVectors(["a"], [[1.0]]), {}, "`model` must have at least two words, got"),
}


@pytest.mark.parametrize("make, options, message", REFUSED.values(), ids=REFUSED)
def test_options_that_are_refused(tmp_path, make, options, message):
    with pytest.raises(ValueError, match=message):
        export(make(), tmp_path / "new", **options)
    assert list(tmp_path.iterdir()) == []


def test_a_card_that_is_missing(model, tmp_path):
    with pytest.raises(FileNotFoundError):
        export(model, tmp_path / "new", card=tmp_path / "none.md")
    assert list(tmp_path.iterdir()) == []


def test_ops_that_a_server_does_not_have_are_refused(model, tmp_path, monkeypatch):
    def token_log_probabilities(token_ids, lengths, own=model.token_log_probabilities):
        def double(tensor):
            return 2 * tensor

        score = own(token_ids, lengths)

        @tf.function  # so that the op is in the library of functions
        def inner():
            found = tf.numpy_function(double, [score], tf.float32)
            return tf.ensure_shape(found, score.shape)

        return inner()

    monkeypatch.setattr(model, "token_log_probabilities", token_log_probabilities)
    with pytest.raises(ValueError, match="`model` must use ops that TensorFlow .* got PyFunc"):
        export(model, tmp_path, signatures=["score"])
    assert list(tmp_path.iterdir()) == []


def test_which_ops_a_server_has():
    present = ("MatMul", "StatelessWhile", "SentencepieceOp", "TFText>ByteSplitWithOffsets")
    assert all(has_op(name) for name in present)
    absent = ("PyFunc", "EagerPyFunc", "TFText>Utf8Binarize", "SomethingElse")
    devices = ("CudnnRNNV3", "NcclReduce", "TPUDummyInput", "XlaConcatND")
    assert not any(has_op(name) for name in absent + devices)
    texts = SOURCE * 2
    for tokenizer in (BytePairTokenizer, WordPieceTokenizer):
        trained = tokenizer.train(texts, 300, normalization=["nfkc", "accents", "lowercase"])
        assert trained.text_ops and trained.text_ops <= TEXT_OPS


def test_operations_of_functions_are_found(tmp_path):
    module = tf.Module()
    module.run = tf.function(
        lambda x: tf.while_loop(lambda x: x < 9.0, lambda x: tf.tan(x) + 9, [x]),
        input_signature=[tf.TensorSpec([], tf.float32)],
    )
    tf.saved_model.save(module, str(tmp_path))
    found = operations(str(tmp_path))
    assert {"Tan", "StatelessWhile"} <= found and not [op for op in found if "__inference" in op]
    check_operations(str(tmp_path))


@pytest.mark.slow
def test_blank_phrases_cost_nothing():
    """As many as a line of tabs has would take gigabytes if the search compared them."""
    model = make_model()
    signatures = TranslationSignatures(model, strategy=LexicallyConstrainedBeamSearch(8))
    texts = tf.constant(SOURCE[:2])
    blank = tf.constant(["\t" * 20_000, "chante.\t" + " \t" * 20_000])
    found = signatures.translate(texts, blank)
    expected = signatures.translate(texts, tf.constant(["", "chante."]))
    assert found["translation"].numpy().tolist() == expected["translation"].numpy().tolist()


@pytest.mark.slow
def test_phrases_of_each_row(tmp_path):
    model = make_model()
    strategy = LexicallyConstrainedBeamSearch(8)
    options = {"strategy": strategy, "max_length": 12}
    path = export(model, tmp_path, **options, signatures=["serving_default", "n_best"])
    served = tf.saved_model.load(path)
    texts = [*SOURCE[:4], "", SOURCE[4]]
    phrases = ["chante.", "", "voisin\tle", "une " * 40, "chante.", "\t \tchante.\t"]
    given = {"text": tf.constant(texts), "required_phrases": tf.constant(phrases)}
    found = served.signatures["serving_default"](**given)
    asked = [[part for part in own.split("\t") if part.strip()] for own in phrases]
    rows = [0, 1, 2, 5]
    expected = model.translate(
        [texts[row] for row in rows],
        strategy,
        max_length=12,
        required_phrases=[asked[row] for row in rows],
    )
    translations = [text.decode() for text in found["translation"].numpy()]
    assert [translations[row] for row in rows] == [best.text for best, *_ in expected]
    # Phrases of more tokens than a translation can have are answered, not searched for.
    assert translations[3:5] == ["", ""]
    assert found["score"].numpy()[3:5].tolist() == [-float("inf"), 0.0]
    many = served.signatures["n_best"](**given)
    assert (many["scores"].numpy()[3] == -float("inf")).all() and not many["scores"].numpy()[
        4
    ].any()
    for nothing in (tf.constant([], tf.string), tf.constant(["", ""])):
        found = served.signatures["serving_default"](text=nothing, required_phrases=nothing)
        assert found["score"].numpy().tolist() == [0.0] * len(nothing)
