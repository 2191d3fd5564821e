import math

import pytest

from keras_seqzoo.cli.presets import DEFAULT_PRESET
from tests.made_up import parallel_text, write_parallel_text


def test_scores_are_the_models(seqzoo, model, tmp_path):
    source, target = write_parallel_text(tmp_path, "some", 5)
    result = seqzoo("score", "--preset", DEFAULT_PRESET, "--source", source, "--target", target)
    scores = model.score(*parallel_text(5))
    assert result.status == 0
    assert result.output == "".join(f"{score:.4f}\t{tokens}\n" for score, tokens in scores)
    total, tokens = (sum(column) for column in zip(*scores, strict=True))
    assert result.errors == f"perplexity {math.exp(-total / tokens):.4g} of {tokens} tokens\n"


@pytest.mark.parametrize(
    "source, target, message",
    [
        ("a dog\n", "a\nb\n", "got 1 in"),
        ("", "", "--source must be a file with at least one line"),
        ("a dog\n\n", "a\nb\n", "line 2 must not be blank"),
    ],
)
def test_bad_input(seqzoo, tmp_path, source, target, message):
    paths = [tmp_path / name for name in ("source", "target")]
    for path, text in zip(paths, (source, target), strict=True):
        path.write_text(text, encoding="utf-8")
    arguments = ("--source", paths[0], "--target", paths[1])
    result = seqzoo("score", "--preset", DEFAULT_PRESET, *arguments)
    assert (result.status, result.output) == (2, "")
    [line] = result.errors.splitlines()
    assert message in line


@pytest.mark.parametrize("command", ["score", "evaluate", "align"])
def test_trees_are_for_models_of_trees(seqzoo, tmp_path, command):
    row = "1\tdogs\tdog\tNOUN\tN\t_\t0\troot\t_\t_\n\n"
    (tmp_path / "a.conllu").write_text(row * 2, encoding="utf-8")
    (tmp_path / "b").write_text("a\nb\n", encoding="utf-8")
    files = ("--source", tmp_path / "a.conllu", "--target", tmp_path / "b")
    result = seqzoo(command, "--preset", DEFAULT_PRESET, *files)
    assert (result.status, result.output) == (2, "")
    assert f"{tmp_path}/a.conllu must be lines of text for a model that" in result.errors
