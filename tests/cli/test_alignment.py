"""`seqzoo align` and `seqzoo lexicon`."""

import pytest

from keras_seqzoo.cli import alignment
from keras_seqzoo.cli.presets import DEFAULT_PRESET
from keras_seqzoo.models import Lexicon, RecurrentSeq2SeqLM, symmetrize, word_alignment
from keras_seqzoo.zoo import save_preset
from tests.made_up import parallel_text, tiny_model, write_parallel_text


def test_alignments_are_the_models(seqzoo, model, tmp_path, monkeypatch):
    monkeypatch.setattr(alignment, "CHUNK", 2)
    source, target = write_parallel_text(tmp_path, "some", 5)
    result = seqzoo("align", "--preset", DEFAULT_PRESET, "--source", source, "--target", target)
    expected = [word_alignment(one).pharaoh() for one in model.align(*parallel_text(5))]
    assert result == (0, "".join(f"{line}\n" for line in expected), "")


@pytest.fixture(scope="module")
def reverse(tmp_path_factory):
    """The folder of a preset of the other direction, and the model."""
    folder, made = tmp_path_factory.mktemp("presets") / "reverse", tiny_model()
    save_preset(made, folder)
    return folder, made


@pytest.mark.slow
@pytest.mark.parametrize("method", [None, "intersection", "grow-diag-final-and"])
def test_alignments_of_both_directions(seqzoo, model, reverse, tmp_path, method):
    source, target = write_parallel_text(tmp_path, "some", 5)
    for path in (source, target):
        path.write_text("\n" + path.read_text())
    folder, other = reverse
    options = ["--source", source, "--target", target, "--reverse-preset", folder]
    options += [] if method is None else ["--symmetrize", method]
    texts = parallel_text(5)
    both = [model.align(*texts), other.align(*texts[::-1])]
    expected = [""]
    for pair in zip(*both, strict=True):
        links = (word_alignment(one).links() for one in pair)
        found = symmetrize(*links, method or "grow-diag-final")
        expected.append(" ".join(f"{one}-{other}" for one, other in found))
    assert seqzoo("align", "--quiet", *options) == (
        0,
        "".join(f"{line}\n" for line in expected),
        "",
    )


def test_directions_that_do_not_fit(seqzoo, reverse, tmp_path, monkeypatch):
    source, target = write_parallel_text(tmp_path, "some", 5)
    files = ["--source", source, "--target", target]
    for options, message in (
        (["--symmetrize", "union"], "--symmetrize can only be used with --reverse-preset."),
        (["--reverse-preset", "gru_plain"], "--reverse-preset must be a model with attention for"),
        (["--reverse-preset", "nothing"], "nothing"),
        (["--reverse-preset", reverse[0], "--symmetrize", "both"], "--symmetrize"),
    ):
        result = seqzoo("align", *files, *options)
        assert (result.status, result.output) == (2, "")
        assert message in result.errors.splitlines()[-1]
    monkeypatch.setattr(reverse[1].preprocessor.tokenizer, "split_text", lambda text: [])
    loaded = RecurrentSeq2SeqLM.from_preset
    monkeypatch.setattr(
        RecurrentSeq2SeqLM,
        "from_preset",
        lambda path: reverse[1] if path.endswith("reverse") else loaded(path),
    )
    result = seqzoo("align", *files, "--reverse-preset", reverse[0])
    assert (result.status, result.output) == (2, "")
    assert "must split texts into the words of --preset, got 0 and" in result.errors
    assert "in line 1." in result.errors


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
    assert "line 2 must have at most" in result.errors


@pytest.mark.parametrize(
    "source, target, preset, message",
    [
        (
            "a\n",
            "b\n",
            "gru_plain",
            "--preset must be a model with attention for align, got gru_plain.",
        ),
        ("a dog\n", "a\nb\n", DEFAULT_PRESET, "got 1 in"),
        ("", "", DEFAULT_PRESET, "--source must be a file with at least one line"),
    ],
)
def test_bad_input(seqzoo, tmp_path, source, target, preset, message):
    result = run(seqzoo, tmp_path, source, target, preset=preset)
    assert (result.status, result.output) == (2, "")
    [line] = result.errors.splitlines()
    assert message in line


@pytest.fixture
def files(tmp_path):
    """Options for two files, with a pair that has a blank side."""
    paths = write_parallel_text(tmp_path, "some", 20)
    for path, text in zip(paths, ("dog\n", "\n"), strict=True):
        path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")
    return ["--source", paths[0], "--target", paths[1]]


def test_the_lexicon_is_the_models(seqzoo, model, files, tmp_path):
    alignments = [word_alignment(one) for one in model.align(*parallel_text(20))]
    for options, count in ((), 1), (("--minimum-count", 2), 2):
        out = tmp_path / f"words-{count}.tsv"
        result = seqzoo("lexicon", "--preset", DEFAULT_PRESET, *files, "--out", out, *options)
        assert result == (0, "", "")
        expected = Lexicon.from_alignments(alignments, count)
        assert Lexicon.load(out).probabilities == expected.probabilities
        assert len(expected) > 0


@pytest.mark.parametrize(
    "options, message",
    [
        (["--preset", "gru_plain"], "--preset must be a model with attention for lexicon, got"),
        (["--out", "{folder}"], "got the folder"),
        (["--out", "{folder}/old.tsv"], "got the existing file {folder}/old.tsv"),
        (["--out", "{folder}/no/x.tsv"], "no such folder"),
        (["--minimum-count", "0"], "--minimum-count must be "),
        (["--minimum-count", "999"], "are linked, got 999."),
    ],
)
def test_bad_input_of_a_lexicon_leaves_no_file(seqzoo, files, tmp_path, options, message):
    (tmp_path / "old.tsv").write_text("old")
    before = sorted(tmp_path.iterdir())
    given = {"--preset": DEFAULT_PRESET, "--out": tmp_path / "new.tsv"}
    given[options[0]] = options[1].format(folder=tmp_path)
    result = seqzoo("lexicon", *files, *(part for option in given.items() for part in option))
    assert (result.status, result.output) == (2, "")
    [line] = result.errors.splitlines()
    assert message.format(folder=tmp_path) in line
    assert (tmp_path / "old.tsv").read_text() == "old" and sorted(tmp_path.iterdir()) == before
