import pytest
import tensorflow as tf

from keras_seqzoo.decoding import BeamSearch

PRESET = ("--preset", "gru_attention_multi30k_en_fr")


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


BAD = {
    "a file": (["--out", "{file}"], "{file}"),
    "below a file": (["--out", "{file}/x"], "{file}/x"),
    "width 0": (["--out", "{new}", "--beam", "0"], "--beam must be "),
    "n-best": (["--out", "{new}", "--n-best", "9"], "--n-best must be at most --beam (5), got 9."),
    "no folder": ([], "--out"),
    "preset": (["--out", "{new}", "--preset", "gru_plane"], "'gru_plain'?"),
}


@pytest.mark.parametrize("arguments, message", BAD.values(), ids=BAD)
def test_bad_input(seqzoo, tmp_path, arguments, message):
    places = {"file": tmp_path / "file", "new": tmp_path / "new"}
    places["file"].write_text("x")
    arguments = [argument.format(**places) for argument in arguments]
    result = seqzoo("export", *PRESET, *arguments)
    assert (result.status, result.output) == (2, "")
    [line] = result.errors.splitlines()
    assert line.startswith("seqzoo: error: ") and message.format(**places) in line
    assert "Errno" not in line
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert places["file"].read_text() == "x"
