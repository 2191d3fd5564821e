import json
import os

import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.decoding import (
    BeamSearch,
    DiverseBeamSearch,
    ForbiddenTokens,
    Greedy,
    LexicallyConstrainedBeamSearch,
    NoRepeatedNGrams,
    Sampling,
    WuLengthPenalty,
)
from keras_seqzoo.models import Ensemble, NGramLanguageModel
from keras_seqzoo.models.word_vectors import WordVectors
from tests.cli.conftest import DEFAULT_PRESET

PRESET = ("--preset", DEFAULT_PRESET)


@pytest.fixture
def exported(seqzoo, tmp_path, monkeypatch):
    """Run a command line without the export itself; return what it would export and how."""

    def run(*arguments):
        def export(model, directory, **options):
            calls.append((model, options))
            return directory

        calls = []
        monkeypatch.setattr("keras_seqzoo.cli.export.export_model", export)
        result = seqzoo("export", *arguments, "--out", tmp_path / "served")
        assert result == (0, f"{tmp_path}/served\n", ""), result
        return calls[0]

    return run


def same(strategy, other):
    return type(strategy) is type(other) and repr(strategy.get_config()) == repr(other.get_config())


@pytest.mark.slow
def test_versions_that_translate_like_the_model(seqzoo, model, tmp_path):
    options = ("--beam", 3, "--n-best", 2, "--max-length", 6)
    result = seqzoo("export", *PRESET, "--out", tmp_path / "served", *options)
    assert result == (0, f"{tmp_path}/served/1\n", "")
    served = tf.saved_model.load(str(tmp_path / "served" / "1"))
    texts = ["a red dog", "", "cat"]
    outputs = served.signatures["serving_default"](text=tf.constant(texts))
    expected = model.translate(texts, BeamSearch(3, max_source_ratio=3.0), max_length=6)
    assert [text.decode() for text in outputs["translation"].numpy()] == [
        best.text for [best] in expected
    ]
    assert served.signatures["n_best"](text=tf.constant(texts))["scores"].shape == (3, 2)


RATIO = {"max_source_ratio": 3.0}
STRATEGIES = {
    "nothing": ((), BeamSearch(5, **RATIO)),
    "greedy": (("--beam", 1), Greedy(**RATIO)),
    "beam": (
        ("--beam", 4, "--length-form", "wu", "--length-penalty", 0.7, "--no-repeat-ngram", 2),
        BeamSearch(4, WuLengthPenalty(0.7), constraints=[NoRepeatedNGrams(2)], **RATIO),
    ),
    "samples": (
        ("--samples", 3, "--temperature", 0.5, "--seed", 7),
        Sampling(3, temperature=0.5, seed=7, **RATIO),
    ),
    "groups": (
        ("--beam", 6, "--groups", 3, "--max-source-ratio", 2),
        DiverseBeamSearch(6, 3, length_penalty=1.0, max_source_ratio=2.0),
    ),
    "phrases": (
        ("--required-phrases", "--beam", 12),
        LexicallyConstrainedBeamSearch(12, **RATIO),
    ),
}


@pytest.mark.parametrize("arguments, strategy", STRATEGIES.values(), ids=STRATEGIES)
def test_options_of_a_search(exported, model, arguments, strategy):
    found, options = exported(*PRESET, *arguments)
    assert found is model
    if isinstance(strategy, DiverseBeamSearch):
        assert isinstance(options["strategy"], DiverseBeamSearch)
        assert options["strategy"].groups == 3 and options["strategy"].max_source_ratio == 2.0
    else:
        assert same(options["strategy"], strategy)
    assert options["n_best"] is None and options["card"] is None
    assert options["signatures"] is None and options["warmup"] == (1,)
    assert options["compiled_shapes"] is None


def test_options_of_an_export(exported, zoo, tmp_path):
    (tmp_path / "card.md").write_text("# A card")
    numbers = ("--max-length", 9, "--max-input-length", 7, "--n-best", 2, "--keep", 3)
    lists = ("--signature", "n_best", "--signature", "token_ids", "--warmup", 1, "--warmup", 8)
    lists += ("--xla", "1x32", "--xla", "32x256")
    found, options = exported(*PRESET, *numbers, *lists, "--card", tmp_path / "card.md")
    del options["strategy"], options["on_step"]
    assert options == {
        "n_best": 2,
        "max_length": 9,
        "max_input_length": 7,
        "signatures": ["n_best", "token_ids"],
        "warmup": [1, 8],
        "compiled_shapes": [(1, 32), (32, 256)],
        "keep": 3,
        "card": str(tmp_path / "card.md"),
    }
    found, _ = exported(*PRESET, "--preset", zoo / DEFAULT_PRESET)
    assert isinstance(found, Ensemble) and len(found.models) == 2


def test_weights_in_bfloat16(exported, seqzoo, zoo, vectors, tmp_path):
    found, _ = exported("--preset", zoo / DEFAULT_PRESET, "--dtype", "bfloat16")
    assert {weight.dtype for weight in found.backbone.weights} == {"bfloat16"}
    out = ("--out", tmp_path / "other")
    result = seqzoo("export", "--preset", vectors, "--dtype", "float32", *out)
    assert result == (2, "", "seqzoo: error: --dtype can only be used with a neural model.\n")


def test_language_models(exported, tmp_path):
    path = tmp_path / "model.arpa"
    NGramLanguageModel.train(["the cat sat", "a dog"], order=2).save_arpa(path)
    for arguments, strategy in (
        ((), Sampling(1)),
        (("--samples", 3, "--top-k", 2), Sampling(3, top_k=2)),
        (("--beam", 3), BeamSearch(3)),
        (("--n-best", 2), BeamSearch(5, n_best=2)),
        (("--temperature", 0.5), Sampling(1, temperature=0.5)),
    ):
        model, options = exported("--preset", path, *arguments)
        config = {**strategy.get_config(), "constraints": [ForbiddenTokens([1])]}
        assert same(options["strategy"], type(strategy)(**config))
        assert isinstance(model, NGramLanguageModel)


@pytest.fixture
def vectors(tmp_path):
    words = ["king", "queen", "man", "woman"]
    WordVectors(words, [[3, 1], [3, 2], [1, 1], [1, 2]]).save_to_preset(tmp_path / "vectors")
    return tmp_path / "vectors"


def test_word_vectors_with_their_card(seqzoo, vectors, tmp_path):
    (vectors / "README.md").write_text("# Four words\n")
    out = tmp_path / "served"
    options = ("--n-best", 2, "--signature", "similar", "--warmup", 2, "--keep", 1)
    for version in (1, 2):
        result = seqzoo("export", "--preset", vectors, "--out", out, *options)
        assert result == (0, f"{out}/{version}\n", "")
    assert os.listdir(out) == ["2"]
    assert (out / "2/assets.extra/README.md").read_text() == "# Four words\n"
    description = json.loads((out / "2/assets.extra/signature.json").read_text())
    assert set(description["signatures"]) == {"similar"}
    served = tf.saved_model.load(str(out / "2")).signatures
    found = served["similar"](text=tf.constant(["king", "prince"]))
    assert found["words"].numpy().tolist() == [[b"queen", b"man"], [b"", b""]]
    np.testing.assert_allclose(found["similarities"], [[0.965, 0.894], [0, 0]], atol=1e-3)


BAD = {
    "a file": (["--out", "{file}"], "--out must be a folder, got a file: {file}."),
    "below a file": (["--out", "{file}/x"], "--out must be a folder, got a file: {file}."),
    "an address": (["--out", "gs://b/owl"], "--out must be a local folder, got 'gs://b/owl'. Exp"),
    "width 0": (["--out", "{new}", "--beam", "0"], "--beam must be "),
    "n-best": (["--out", "{new}", "--n-best", "9"], "--n-best must be at most --beam (5), got 9."),
    "no folder": ([], "--out"),
    "preset": (["--out", "{new}", "--preset", "gru_plane"], "'gru_plain'?"),
    "length": (
        ["--out", "{new}", "--max-input-length", "99"],
        "--max-input-length must be at most 24, the `encoder_sequence_length` of the preproc",
    ),
    "minimum": (
        ["--out", "{new}", "--min-length", "9", "--max-length", "5"],
        "--max-length must be at least the 9 of MinimumLength, got 5.",
    ),
    "signature": (
        ["--out", "{new}", "--signature", "score"],
        "--signature must be among serving_default, n_best, token_ids, got 'score'.",
    ),
    "warm-up": (["--out", "{new}", "--warmup", "0"], "--warmup must be at least 1, got 0."),
    "shape": (
        ["--out", "{new}", "--xla", "32*256"],
        "--xla must be ROWSxTOKENS, such as 32x256, got '32*256'.",
    ),
    "compiled": (
        ["--out", "{new}", "--xla", "1x32", "--required-phrases"],
        "--xla must not be given for a LexicallyConstrainedBeamSearch, got [(1, 32)].",
    ),
    "keep": (["--out", "{new}", "--keep", "0"], "--keep must be at least 1, got 0."),
    "card": (["--out", "{new}", "--card", "{new}.md"], "{new}.md: No such file"),
    "samples": (
        ["--out", "{new}", "--samples", "2", "--beam", "3"],
        "--samples cannot be used with --beam.",
    ),
    "partner": (["--out", "{new}", "--top-k", "2"], "--top-k can only be used with --samples."),
    "groups": (
        ["--out", "{new}", "--groups", "5", "--required-phrases"],
        "--groups cannot be used with --required-phrases.",
    ),
    "attention": (
        ["--out", "{new}", "--preset", "gru_plain", "--coverage-penalty", "0.1"],
        "--preset must be",
    ),
}


@pytest.mark.parametrize("arguments, message", BAD.values(), ids=BAD)
def test_bad_input(seqzoo, tmp_path, arguments, message):
    places = {"file": tmp_path / "file", "new": tmp_path / "new"}
    places["file"].write_text("x")
    arguments = [argument.format(**places) for argument in arguments]
    preset = () if "--preset" in arguments else PRESET
    result = seqzoo("export", *preset, *arguments)
    assert (result.status, result.output) == (2, "")
    [line] = result.errors.splitlines()
    assert line.startswith("seqzoo: error: ") and message.format(**places) in line
    assert "Errno" not in line
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert places["file"].read_text() == "x"


VECTOR_ERRORS = {
    "beam": (("--beam", 3), "--beam can only be used with a translation or language model."),
    "top-k": (("--top-k", 3), "--top-k can only be used with a translation or language model."),
    "length": (("--max-length", 3), "--max-length must not be given for word vectors, got 3."),
    "input": (("--max-input-length", 3), "--max-input-length must not be given for word vectors"),
    "n-best": (("--n-best", 4), "--n-best must be at most 3, the number of other words, got 4."),
    "two": (("--preset", "other"), "--preset can only be given several times for translation mod"),
}


@pytest.mark.parametrize("arguments, message", VECTOR_ERRORS.values(), ids=VECTOR_ERRORS)
def test_options_without_a_meaning(seqzoo, vectors, tmp_path, arguments, message):
    result = seqzoo("export", "--preset", vectors, "--out", tmp_path / "new", *arguments)
    assert (result.status, result.output) == (2, "")
    assert message in result.errors and not (tmp_path / "new").exists()
