import importlib

import pytest

from keras_seqzoo.cli.options import DEFAULT_PRESET
from keras_seqzoo.models import word_alignment
from tests.made_up import parallel_text, write_parallel_text

align = importlib.import_module("keras_seqzoo.cli.align")


def test_alignments_are_the_models(seqzoo, model, tmp_path, monkeypatch):
    monkeypatch.setattr(align, "CHUNK", 2)
    source, target = write_parallel_text(tmp_path, "some", 5)
    result = seqzoo("align", "--preset", DEFAULT_PRESET, "--source", source, "--target", target)
    expected = [word_alignment(one).pharaoh() for one in model.align(*parallel_text(5))]
    assert result == (0, "".join(f"{line}\n" for line in expected), "")


def run(seqzoo, tmp_path, source, target, *options, preset=DEFAULT_PRESET):
    paths = [tmp_path / name for name in ("source", "target")]
    for path, text in zip(paths, (source, target), strict=True):
        path.write_text(text, encoding="utf-8")
    arguments = ("--preset", preset, "--source", paths[0], "--target", paths[1])
    return seqzoo("align", *arguments, *options)


def test_blank_where_a_side_is(seqzoo, tmp_path):
    result = run(seqzoo, tmp_path, "a dog\n \na cat\n\n", "ein hund\nx\n\n\n", "--batch-size", 1)
    assert (result.status, result.errors) == (0, "")
    first, *others = result.output.split("\n")
    assert [link.split("-")[1] for link in first.split()] == ["0", "1"]
    assert others == ["", "", "", ""]


def test_a_cut_source_is_told(seqzoo, tmp_path):
    result = run(seqzoo, tmp_path, "a dog\n" + "red " * 40, "x\nrot")
    assert result.status == 0 and len(result.output.splitlines()) == 2
    assert "line 2 is too long" in result.errors


@pytest.mark.parametrize(
    "source, target, preset, message",
    [
        ("a\n", "b\n", "gru_plain", "align needs a model with attention, gru_plain has none"),
        ("a dog\n", "a\nb\n", DEFAULT_PRESET, "got 1 in"),
        ("", "", DEFAULT_PRESET, "need at least one line"),
    ],
)
def test_bad_input(seqzoo, tmp_path, source, target, preset, message):
    result = run(seqzoo, tmp_path, source, target, preset=preset)
    assert (result.status, result.output) == (2, "")
    [line] = result.errors.splitlines()
    assert message in line
