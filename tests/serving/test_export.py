import functools
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
from keras_seqzoo.serving import export
from keras_seqzoo.tokenizers import BytePairTokenizer, UnigramTokenizer
from tests.seeds import seed_all
from tests.serving.fresh_server import answers_of, hexadecimal
from tests.tiers import mostly_slow

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


MODELS = {
    "joint": make_model,
    "separate": functools.partial(
        make_model, separate=True, cell="lstm", input_feeding=True, decoder_layers=2
    ),
    "mixed": functools.partial(
        make_model, dtype="mixed_bfloat16", attention=None, context="every_step"
    ),
    "greedy": functools.partial(make_model, attention="bahdanau", share_embeddings=True),
    "coverage": functools.partial(
        make_model,
        attention="bahdanau",
        attend="between",
        attention_terms=["position", "fertility"],
        attention_losses=["coverage"],
    ),
    "monotonic": functools.partial(
        make_model, attention_weighting="monotonic", context_feeding=True, readout="concat"
    ),
}
OPTIONS = {
    "separate": {"strategy": BeamSearch(width=4, n_best=2), "n_best": 3, "max_length": 7},
    "greedy": {"strategy": Greedy()},
}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A function of a name: an export, and what a process that has TensorFlow alone makes of it."""
    return functools.cache(functools.partial(serve, tmp_path_factory.mktemp("served")))


def serve(folder, name):
    seed_all()
    model = MODELS[name]()
    if name == "joint":
        model.compile(sampler=BeamSearch(width=3, length_penalty=0.6))
    path = export(model, folder / name, warmup=(), **OPTIONS.get(name, {}))
    ids = model.preprocessor.encode_source(tf.constant(SENTENCES)).to_list()
    rows = [ids[1], [], ids[0][:1], ids[2] + [9] * 30 + [3]]
    lengths = [len(row) for row in rows]
    # What a server pads with is not read.
    padded = tf.ragged.constant(rows, dtype=tf.int32).to_tensor(7).numpy().tolist()
    wrong = [padded[0], [5, 300, *padded[0][2:]], padded[0], [3, 0, -5, *padded[0][3:]]]
    calls = [
        ("serving_default", {"text": hexadecimal(SENTENCES)}),
        ("serving_default", {"text": hexadecimal([])}),
        ("serving_default", {"text": hexadecimal(["", " "])}),
        ("serving_default", {"text": hexadecimal([b"the \xff\xfe owl", b"\xf0\x9f", b"\x80"])}),
        ("n_best", {"text": hexadecimal([SENTENCES[5], "", SENTENCES[0]])}),
        ("token_ids", {"token_ids": padded, "lengths": lengths}),
        ("token_ids", {"token_ids": wrong, "lengths": [lengths[0], 2, -5, 3]}),
        ("token_ids", {"token_ids": wrong, "lengths": [lengths[0], 1, 99, 1]}),
        ("token_ids", {"token_ids": [[]], "lengths": [0]}),
        ("token_ids", {"token_ids": [], "lengths": []}),
        ("n_best", {"text": hexadecimal([])}),
        *(("serving_default", {"text": hexadecimal([text])}) for text in SENTENCES[::7]),
    ]
    [answer] = answers_of([(path, calls, "v1" if name == VERSION_1 else "v2")])
    return types.SimpleNamespace(model=model, path=path, rows=rows, answer=answer)


STRATEGIES = {
    "joint": (BeamSearch(width=3, length_penalty=0.6), None, 3),
    "separate": (BeamSearch(width=4), 7, 3),
    "mixed": (BeamSearch(width=5, max_source_ratio=3.0), None, 5),
    "greedy": (Greedy(), None, 1),
    "coverage": (BeamSearch(width=5, max_source_ratio=3.0), None, 5),
    "monotonic": (BeamSearch(width=5, max_source_ratio=3.0), None, 5),
}
VERSION_1 = "separate"  # goes through the loader of TensorFlow 1, the others through that of 2
names = pytest.mark.parametrize("name", mostly_slow(list(STRATEGIES)))


@names
def test_serves_what_the_model_translates(served, name):
    case, (strategy, max_length, _) = served(name), STRATEGIES[name]
    expected = expected_of(case.model, SENTENCES, strategy, max_length=max_length)
    assert len({translation.text for translation in expected}) > 10
    outputs = case.answer["outputs"][0]
    assert_same(outputs["translation"], [translation.text for translation in expected], name)
    assert outputs["translation"][len(SOURCE) : len(SOURCE) + 2] == ["", ""]
    lengths = [len(ids) for ids in case.model.preprocessor.encode_source(SENTENCES, 9999).to_list()]
    assert outputs["truncated"] == [length > 20 for length in lengths]
    assert outputs["truncated"][-1] and not outputs["truncated"][len(SOURCE)]
    tolerance = 5e-2 if name == "mixed" else 1e-5
    np.testing.assert_allclose(
        outputs["score"], [translation.score for translation in expected], tolerance, tolerance
    )


@names
def test_the_batch_changes_nothing(served, name):
    outputs = served(name).answer["outputs"]
    alone = [output["translation"][0] for output in outputs[11:]]
    assert_same(alone, outputs[0]["translation"][::7], name)


@names
def test_odd_batches(served, name):
    _, empty, blank, invalid = served(name).answer["outputs"][:4]
    assert empty == {"translation": [], "score": [], "truncated": []}
    assert blank == {"translation": ["", ""], "score": [0.0, 0.0], "truncated": [False, False]}
    for nothing in served(name).answer["outputs"][9:11]:
        assert not any(nothing.values())
    model, (strategy, max_length, _) = served(name).model, STRATEGIES[name]
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
    expected = served(name).model.translate(texts, strategy, max_length=max_length)
    outputs = served(name).answer["outputs"][4]
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
    case, (strategy, max_length, _) = served(name), STRATEGIES[name]
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
    assert outputs["truncated"] == [False, False, False, True]
    assert outputs["error"] == [""] * 4


@names
def test_wrong_token_ids_fail_their_row(served, name):
    case, outputs = served(name), served(name).answer["outputs"]
    last = case.model.preprocessor.encoder_tokenizer.vocabulary_size() - 1
    right, wrong, mixed, nothing = outputs[5:9]
    id_error = f"`token_ids` must be from 1 to {last}, got"
    length_error = "`lengths` must be from 0 to the length of `token_ids`, got"
    assert wrong["error"] == [
        "",
        f"{id_error} 300 as number 2.",
        f"{length_error} -5.",
        f"{id_error} 0 as number 2.",
    ]
    assert wrong["lengths"][1:] == [0] * 3 and wrong["score"][1:] == [0.0] * 3
    assert not np.any(wrong["token_ids"][1:]) and not any(wrong["truncated"])
    # A wrong id after the end is not read.
    assert mixed["error"] == ["", "", f"{length_error} 99.", ""]
    for found in (wrong, mixed):
        if name != "mixed":
            assert found["token_ids"][0] == right["token_ids"][0]
        assert found["lengths"][0] > 0
    assert nothing["error"] == [""] and nothing["lengths"] == [0]


@names
def test_needs_core_ops_and_sentence_piece_alone(served, name):
    answer = served(name).answer
    assert answer["not_core"] == CORE_TEXT_OPS
    assert "While" in answer["operations"] or "StatelessWhile" in answer["operations"]
    unwanted = ("cudnn", "pyfunc", "eagerpy", "xla")
    assert not [op for op in answer["operations"] if any(x in op.lower() for x in unwanted)]


@names
def test_signatures_and_size(served, name):
    path, model = pathlib.Path(served(name).path), served(name).model
    loaded = tf.saved_model.load(path)
    assert set(loaded.signatures) == {"serving_default", "n_best", "token_ids"}
    default = loaded.signatures["serving_default"]
    assert default.structured_input_signature[1] == {
        "text": tf.TensorSpec([None], tf.string, name="text")
    }
    assert {key: (x.dtype, x.shape.as_list()) for key, x in default.structured_outputs.items()} == {
        "translation": (tf.string, [None]),
        "score": (tf.float32, [None]),
        "truncated": (tf.bool, [None]),
    }
    n = STRATEGIES[name][2]
    outputs = loaded.signatures["n_best"].structured_outputs
    assert {key: (x.dtype, x.shape.as_list()) for key, x in outputs.items()} == {
        "translations": (tf.string, [None, n]),
        "scores": (tf.float32, [None, n]),
        "log_probabilities": (tf.float32, [None, n]),
        "truncated": (tf.bool, [None]),
    }
    outputs = loaded.signatures["token_ids"].structured_outputs
    assert {key: (x.dtype, x.shape.as_list()) for key, x in outputs.items()} == {
        "token_ids": (tf.int32, [None, STRATEGIES[name][1] or 12]),
        "lengths": (tf.int32, [None]),
        "score": (tf.float32, [None]),
        "truncated": (tf.bool, [None]),
        "error": (tf.string, [None]),
    }
    weights = sum(variable.shape.num_elements() * 4 for variable in model.trainable_variables)
    stored = sum(file.stat().st_size for file in (path / "variables").iterdir())
    assert weights < stored < weights + 20_000
    assert (path / "saved_model.pb").stat().st_size < 2_000_000


@pytest.mark.slow
def test_the_best_of_the_samples_is_served(tmp_path):
    model = make_model()
    path = export(model, tmp_path, strategy=Sampling(4, seed=1), max_length=6)
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
    path = export(model, tmp_path, strategy=strategy, n_best=2, max_length=6)
    signatures = tf.saved_model.load(path).signatures
    text = tf.constant(SENTENCES[:3])
    found = signatures["n_best"](text=text)
    assert {found[key].shape[1] for key in ("translations", "scores")} == {2}
    best = signatures["serving_default"](text=text)["score"]
    np.testing.assert_allclose(best, found["scores"][:, 0], rtol=1e-5)


def test_errors(tmp_path):
    model = make_model(attention=None)
    file = tmp_path / "file"
    file.write_text("text")
    for place in (file, file / "below"):
        with pytest.raises(OSError, match="`directory` must be a folder"):
            export(model, place, signatures=["token_ids"])
    folder = tmp_path / "models"
    kinds = "a translation model, a language model, a text classifier, a tagger, word vectors"
    with pytest.raises(TypeError, match=f"`model` must be one of {kinds}, got Sequential"):
        export(keras.Sequential(), folder)
    with pytest.raises(TypeError, match="`strategy`"):
        export(model, folder, strategy="greedy")
    with pytest.raises(ValueError, match="`n_best` must be at most `width`"):
        export(model, folder, strategy=BeamSearch(width=2), n_best=3)
    with pytest.raises(ValueError, match="`n_best` must be 1"):
        export(model, folder, strategy=Greedy(), n_best=2)
    with pytest.raises(ValueError, match="`n_best` must be at most the 3 samples"):
        export(model, folder, strategy=Sampling(3), n_best=4)
    with pytest.raises(ValueError, match="`max_input_length` must be at most 20, the `encoder_"):
        export(model, folder, max_input_length=21)
    for n_best in (0, 1.5):
        with pytest.raises(ValueError, match="`n_best`"):
            export(model, folder, n_best=n_best)
    with pytest.raises(ValueError, match="`max_length`"):
        export(model, folder, max_length=0)
    with pytest.raises(ValueError, match="`preprocessor`|a preprocessor"):
        export(RecurrentSeq2SeqLM(model.backbone), folder)
    assert not folder.exists()
