import pytest

from keras_seqzoo.cli.options import DEFAULT_PRESET
from keras_seqzoo.models import Lexicon, word_alignment
from tests.made_up import parallel_text, write_parallel_text


@pytest.fixture
def files(tmp_path):
    """Options for two files, with a pair that has a blank side."""
    paths = write_parallel_text(tmp_path, "some", 20)
    for path, text in zip(paths, ("dog\n", "\n"), strict=True):
        path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")
    return ["--source", paths[0], "--target", paths[1]]


def test_the_file_is_the_models(seqzoo, model, files, tmp_path):
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
        (["--preset", "gru_plain"], "lexicon needs a model with attention, gru_plain has none"),
        (["--out", "{folder}"], "got the folder"),
        (["--out", "{folder}/old.tsv"], "got the existing file {folder}/old.tsv"),
        (["--out", "{folder}/no/x.tsv"], "no such folder"),
        (["--minimum-count", "0"], "'--minimum-count'"),
        (["--minimum-count", "999"], "were linked 999 times"),
    ],
)
def test_bad_input_leaves_no_file(seqzoo, files, tmp_path, options, message):
    (tmp_path / "old.tsv").write_text("old")
    before = sorted(tmp_path.iterdir())
    given = {"--preset": DEFAULT_PRESET, "--out": tmp_path / "new.tsv"}
    given[options[0]] = options[1].format(folder=tmp_path)
    result = seqzoo("lexicon", *files, *(part for option in given.items() for part in option))
    assert (result.status, result.output) == (2, "")
    [line] = result.errors.splitlines()
    assert message.format(folder=tmp_path) in line
    assert (tmp_path / "old.tsv").read_text() == "old" and sorted(tmp_path.iterdir()) == before
