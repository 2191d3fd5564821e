import os
import pathlib
import types

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.decoding import BeamSearch, DiverseBeamSearch, Greedy, Sampling
from keras_seqzoo.models import (
    RecurrentEncoderDecoderBackbone,
    RecurrentSeq2SeqLM,
    RecurrentSeq2SeqLMPreprocessor,
)
from keras_seqzoo.serving import export_translation_model
from keras_seqzoo.tokenizers import BytePairTokenizer, UnigramTokenizer
from tests.serving.fresh_server import answers_of, hexadecimal

SOURCE = [
    f"{who} {does} {where}."
    for who in ("A grey owl", "My neighbour", "Nobody here", "The old tailor")
    for does in ("sings loudly", "waits", "paints the door")
    for where in ("near the harbour", "at night", "under a lamp", "without a hat")
]
TARGET = ["Une chouette grise chante.", "Mon voisin attend là-bas.", "Où est le vieux tailleur ?"]
ODD = [
    "",
    "  \t\u00a0\u3000",
    "x",
    "😀👩‍👩‍👧",
    "[EOS] [PAD] \u2581 \x10",
    "東京\n مرحبا",
    "two words " * 1000,
]
SENTENCES = SOURCE + ODD
CORE_TEXT_OPS = ["SentencepieceOp", "SentencepieceTokenizeOp"]


def make_model(separate=False, **options):
    tokenizer = BytePairTokenizer.train(SOURCE + TARGET, 300)
    encoder_tokenizer = None
    if separate:
        encoder_tokenizer = UnigramTokenizer.train(SOURCE, 290, config_file="source.json")
    preprocessor = RecurrentSeq2SeqLMPreprocessor(
        tokenizer, encoder_tokenizer, encoder_sequence_length=20, decoder_sequence_length=12
    )
    backbone = RecurrentEncoderDecoderBackbone(
        preprocessor.encoder_tokenizer.vocabulary_size(),
        tokenizer.vocabulary_size(),
        embedding_dim=6,
        encoder_units=5,
        decoder_units=8,
        **options,
    )
    model = RecurrentSeq2SeqLM(backbone, preprocessor)
    # Far from zero, so that sentences differ in their translations and their scores.
    generator = np.random.default_rng(3)
    for variable in model.trainable_variables:
        variable.assign(generator.normal(scale=0.8, size=variable.shape))
    return model


def assert_same(texts, expected, name):
    """Half precision rounds in another way in another batch, which may change a close search."""
    assert len(texts) == len(expected)
    same = sum(text == other for text, other in zip(texts, expected, strict=True))
    assert same >= (0.7 if name == "mixed" else 1.0) * len(texts)


def expected_of(model, texts, strategy, **kwargs):
    return [found[0] for found in model.translate(texts, strategy, **kwargs)]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Several exports, and what a process that has TensorFlow alone makes of them."""
    models = {
        "joint": make_model(),
        "separate": make_model(separate=True, cell="lstm", input_feeding=True, decoder_layers=2),
        "mixed": make_model(dtype="mixed_bfloat16", attention=None, context="every_step"),
        "greedy": make_model(attention="bahdanau", share_embeddings=True),
    }
    models["joint"].compile(sampler=BeamSearch(width=3, length_penalty=0.6))
    options = {
        "separate": {"strategy": BeamSearch(width=4, n_best=2), "n_best": 3, "max_length": 7},
        "greedy": {"strategy": Greedy()},
    }
    folder = tmp_path_factory.mktemp("served")
    requests, cases = [], {}
    for name, model in models.items():
        path = export_translation_model(model, folder / name, **options.get(name, {}))
        ids = model.preprocessor.encode_source(tf.constant(SENTENCES)).to_list()
        rows = [ids[1], [], ids[0][:1], ids[2] + [9] * 30 + [3]]
        padded = tf.ragged.constant(rows, dtype=tf.int32).to_tensor(0).numpy().tolist()
        calls = [
            ("serving_default", {"text": hexadecimal(SENTENCES)}),
            ("serving_default", {"text": hexadecimal([])}),
            ("serving_default", {"text": hexadecimal(["", " "])}),
            ("serving_default", {"text": hexadecimal([b"the \xff\xfe owl", b"\xf0\x9f", b"\x80"])}),
            ("n_best", {"text": hexadecimal([SENTENCES[5], "", SENTENCES[0]])}),
            ("token_ids", {"token_ids": padded}),
            *(("serving_default", {"text": hexadecimal([text])}) for text in SENTENCES[::7]),
        ]
        requests.append((path, calls, "v1" if name == VERSION_1 else "v2"))
        cases[name] = types.SimpleNamespace(model=model, path=path, rows=rows)
    for case, answer in zip(cases.values(), answers_of(requests), strict=True):
        case.answer = answer
    return cases


STRATEGIES = {
    "joint": (BeamSearch(width=3, length_penalty=0.6), None, 3),
    "separate": (BeamSearch(width=4), 7, 3),
    "mixed": (BeamSearch(width=5, max_source_ratio=3.0), None, 5),
    "greedy": (Greedy(), None, 1),
}
VERSION_1 = "separate"  # goes through the loader of TensorFlow 1, the others through that of 2
names = pytest.mark.parametrize("name", STRATEGIES)


@names
def test_serves_what_the_model_translates(served, name):
    case, (strategy, max_length, _) = served[name], STRATEGIES[name]
    expected = expected_of(case.model, SENTENCES, strategy, max_length=max_length)
    assert len({translation.text for translation in expected}) > 10
    outputs = case.answer["outputs"][0]
    assert_same(outputs["translation"], [translation.text for translation in expected], name)
    assert outputs["translation"][len(SOURCE) : len(SOURCE) + 2] == ["", ""]
    tolerance = 5e-2 if name == "mixed" else 1e-5
    np.testing.assert_allclose(
        outputs["score"], [translation.score for translation in expected], tolerance, tolerance
    )


@names
def test_the_batch_changes_nothing(served, name):
    outputs = served[name].answer["outputs"]
    alone = [output["translation"][0] for output in outputs[6:]]
    assert_same(alone, outputs[0]["translation"][::7], name)


@names
def test_odd_batches(served, name):
    _, empty, blank, invalid = served[name].answer["outputs"][:4]
    assert empty == {"translation": [], "score": []}
    assert blank == {"translation": ["", ""], "score": [0.0, 0.0]}
    model, (strategy, max_length, _) = served[name].model, STRATEGIES[name]
    readable = ["the \ufffd\ufffd owl", "\ufffd", "\ufffd"]
    expected = expected_of(model, readable, strategy, max_length=max_length)
    assert len(invalid["translation"]) == 3
    if name != "mixed":
        assert invalid["translation"][0] == expected[0].text
        assert invalid["translation"][2] == expected[2].text


@names
def test_n_best(served, name):
    strategy, max_length, n_best = STRATEGIES[name]
    if n_best > 1:
        strategy = BeamSearch(**{**strategy.get_config(), "n_best": n_best})
    texts = [SENTENCES[5], "", SENTENCES[0]]
    expected = served[name].model.translate(texts, strategy, max_length=max_length)
    outputs = served[name].answer["outputs"][4]
    assert [len(row) for row in outputs["translations"]] == [n_best] * 3
    for row in (0, 2) if name != "mixed" else ():
        for rank, translation in enumerate(expected[row]):
            assert outputs["translations"][row][rank] == translation.text
            np.testing.assert_allclose(
                (outputs["scores"][row][rank], outputs["log_probabilities"][row][rank]),
                (translation.score, translation.log_probability),
                rtol=1e-5,
            )
    assert outputs["translations"][1] == [""] * n_best
    assert outputs["scores"][1] == outputs["log_probabilities"][1] == [0.0] * n_best


@names
def test_token_ids(served, name):
    case, (strategy, max_length, _) = served[name], STRATEGIES[name]
    max_length = max_length or 12
    outputs = case.answer["outputs"][5]
    assert np.shape(outputs["token_ids"]) == (4, max_length)
    assert outputs["token_ids"][1] == [0] * max_length
    assert (outputs["lengths"][1], outputs["score"][1]) == (0, 0.0)
    rows = tf.ragged.constant([case.rows[0], case.rows[2], case.rows[3][:19] + [3]], dtype=tf.int32)
    search = tf.function(lambda *source: case.model.search(*source, strategy, max_length))
    found = search(*case.model.preprocessor.pad(rows))
    filled = [0, 2, 3]
    assert np.array(outputs["lengths"])[filled].tolist() == found.lengths[:, 0].numpy().tolist()
    np.testing.assert_array_equal(np.array(outputs["token_ids"])[filled], found.tokens[:, 0])
    np.testing.assert_allclose(np.array(outputs["score"])[filled], found.scores[:, 0], rtol=1e-5)


@names
def test_needs_core_ops_and_sentence_piece_alone(served, name):
    answer = served[name].answer
    assert answer["not_core"] == CORE_TEXT_OPS
    assert "While" in answer["operations"] or "StatelessWhile" in answer["operations"]
    unwanted = ("cudnn", "pyfunc", "eagerpy", "xla")
    assert not [op for op in answer["operations"] if any(x in op.lower() for x in unwanted)]


@names
def test_signatures_and_size(served, name):
    path, model = pathlib.Path(served[name].path), served[name].model
    loaded = tf.saved_model.load(path)
    assert set(loaded.signatures) == {"serving_default", "n_best", "token_ids"}
    default = loaded.signatures["serving_default"]
    assert default.structured_input_signature[1] == {
        "text": tf.TensorSpec([None], tf.string, name="text")
    }
    assert {key: (x.dtype, x.shape.as_list()) for key, x in default.structured_outputs.items()} == {
        "translation": (tf.string, [None]),
        "score": (tf.float32, [None]),
    }
    n = STRATEGIES[name][2]
    outputs = loaded.signatures["n_best"].structured_outputs
    assert {key: (x.dtype, x.shape.as_list()) for key, x in outputs.items()} == {
        "translations": (tf.string, [None, n]),
        "scores": (tf.float32, [None, n]),
        "log_probabilities": (tf.float32, [None, n]),
    }
    outputs = loaded.signatures["token_ids"].structured_outputs
    assert {key: (x.dtype, x.shape.as_list()) for key, x in outputs.items()} == {
        "token_ids": (tf.int32, [None, STRATEGIES[name][1] or 12]),
        "lengths": (tf.int32, [None]),
        "score": (tf.float32, [None]),
    }
    weights = sum(variable.shape.num_elements() * 4 for variable in model.trainable_variables)
    stored = sum(file.stat().st_size for file in (path / "variables").iterdir())
    assert weights < stored < weights + 20_000
    assert (path / "saved_model.pb").stat().st_size < 2_000_000


def test_versions_are_added_and_never_replaced(tmp_path, monkeypatch):
    model = make_model(attention=None)
    stubs = []

    def save(module, path, signatures):
        stubs.append(set(signatures))
        os.makedirs(path)
        pathlib.Path(path, "saved_model.pb").write_text(str(len(stubs)))
        assert sorted(p.name for p in folder.iterdir() if p.name.isdigit()) == expected

    monkeypatch.setattr(tf.saved_model, "save", save)
    folder, expected = tmp_path / "models" / "owl", []
    assert export_translation_model(model, folder) == str(folder / "1")
    (folder / "007").mkdir()
    (folder / "notes").mkdir()
    expected = ["007", "1"]
    assert export_translation_model(model, str(folder)) == str(folder / "8")
    assert (folder / "1/saved_model.pb").read_text() == "1"
    assert (folder / "8").stat().st_mode & 0o777 == (folder / "notes").stat().st_mode & 0o777

    def fail(module, path, signatures):
        os.makedirs(path)
        pathlib.Path(path, "half").write_text("half")
        raise tf.errors.ResourceExhaustedError(None, None, "no space left")

    monkeypatch.setattr(tf.saved_model, "save", fail)
    with pytest.raises(OSError, match="no space left"):
        export_translation_model(model, folder)
    assert sorted(os.listdir(folder)) == ["007", "1", "8", "notes"]


@pytest.mark.slow
def test_the_best_of_the_samples_is_served(tmp_path):
    model = make_model()
    path = export_translation_model(model, tmp_path, Sampling(4, seed=1), max_length=6)
    signatures = tf.saved_model.load(path).signatures
    text = tf.constant(SENTENCES[:3])
    best = signatures["serving_default"](text=text)
    every = signatures["n_best"](text=text)
    assert every["scores"].shape == (3, 4)
    assert (best["score"] == every["scores"][:, 0]).numpy().all()
    assert (every["scores"][:, 0] > every["scores"][:, -1]).numpy().all()


@pytest.mark.slow
@pytest.mark.parametrize("strategy", [Sampling(4, seed=1), DiverseBeamSearch(6, groups=3)])
def test_as_many_as_asked_for_are_served(tmp_path, strategy):
    model = make_model()
    path = export_translation_model(model, tmp_path, strategy, n_best=2, max_length=6)
    signatures = tf.saved_model.load(path).signatures
    text = tf.constant(SENTENCES[:3])
    found = signatures["n_best"](text=text)
    assert {values.shape[1] for values in found.values()} == {2}
    best = signatures["serving_default"](text=text)["score"]
    np.testing.assert_allclose(best, found["scores"][:, 0], rtol=1e-5)


def test_errors(tmp_path):
    model = make_model(attention=None)
    file = tmp_path / "file"
    file.write_text("text")
    for place in (file, file / "below"):
        with pytest.raises(OSError, match="`directory` must be a folder"):
            export_translation_model(model, place)
    folder = tmp_path / "models"
    with pytest.raises(TypeError, match="`model`"):
        export_translation_model(keras.Sequential(), folder)
    with pytest.raises(TypeError, match="`strategy`"):
        export_translation_model(model, folder, "greedy")
    with pytest.raises(ValueError, match="`n_best` must be at most `width`"):
        export_translation_model(model, folder, BeamSearch(width=2), n_best=3)
    with pytest.raises(ValueError, match="`n_best` must be 1"):
        export_translation_model(model, folder, Greedy(), n_best=2)
    with pytest.raises(ValueError, match="`n_best` must be at most the 3 samples"):
        export_translation_model(model, folder, Sampling(3), n_best=4)
    for n_best in (0, 1.5):
        with pytest.raises(ValueError, match="`n_best`"):
            export_translation_model(model, folder, n_best=n_best)
    with pytest.raises(ValueError, match="`max_length`"):
        export_translation_model(model, folder, max_length=0)
    with pytest.raises(ValueError, match="`preprocessor`|a preprocessor"):
        export_translation_model(RecurrentSeq2SeqLM(model.backbone), folder)
    assert not folder.exists()
