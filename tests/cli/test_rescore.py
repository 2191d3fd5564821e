import gzip

import pytest

from keras_seqzoo.cli.presets import DEFAULT_PRESET
from keras_seqzoo.decoding import PowerLengthPenalty, WordReward, WuLengthPenalty
from keras_seqzoo.models import RecurrentSeq2SeqLM, rescore
from keras_seqzoo.zoo import save_preset
from tests.made_up import tiny_model

SOURCES = ["a red dog runs", "", "a cat", "red cat", "a dog sees"]
# Not in the order of the source; line 4 has none, and blank line 2 what is written for it.
ROWS = [
    (3, 1, "ein hund"),
    (1, 1, "ein rot hund rennt"),
    (1, 2, "katze"),
    (2, 1, ""),
    (5, 1, "ein hund sieht"),
    (1, 1, "hund rennt ein"),
    (3, 2, "eine katze"),
    (3, 3, "ein katze né"),
]
LINES = "".join(f"{number}\t{rank}\t{text}\n" for number, rank, text in ROWS)
CANDIDATES = [[text for number, _, text in ROWS if number == line] for line in range(1, 6)]


def as_file(rows):
    return "".join("\t".join(str(column) for column in row) + "\n" for row in rows)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "source"
    path.write_text("".join(f"{line}\n" for line in SOURCES), encoding="utf-8")
    return path


@pytest.fixture
def run(seqzoo, source):
    def run_on(*options, stdin=LINES):
        arguments = ("--preset", DEFAULT_PRESET, "--source", source, *options)
        return seqzoo("rescore", *arguments, stdin=stdin.encode("utf-8"))

    return run_on


def ranking(models, *options):
    asked = [texts if line else [] for line, texts in zip(SOURCES, CANDIDATES, strict=True)]
    return rescore(SOURCES, asked, models, *options)


def best(ranked):
    rows = [texts[own[0][1]] if own else "" for texts, own in zip(CANDIDATES, ranked, strict=True)]
    return "".join(f"{row}\n" for row in rows)


def test_the_best_of_each_line(run, model):
    expected = best(ranking([model]))
    assert run() == run("--candidates", "-") == (0, expected, "")
    assert expected.count("\n") == 5 and [expected.split("\n")[i] for i in (1, 3)] == ["", ""]


def test_candidates_in_a_file(run, tmp_path, model):
    expected = best(ranking([model]))
    text = as_file((*row, "-1.25") for row in ROWS)
    path = tmp_path / "candidates"
    path.write_bytes(text.replace("\n", "\r\n").encode("utf-8"))
    assert run("--candidates", path, stdin="") == (0, expected, "")
    (tmp_path / "candidates.gz").write_bytes(gzip.compress(text.encode("utf-8")))
    assert run("--candidates", tmp_path / "candidates.gz", stdin="").output == expected


def test_n_best_is_ranked_again(run, model):
    result = run("--n-best", 2, "--scores")
    expected = [
        (number, rank, CANDIDATES[number - 1][index], f"{score:.4f}")
        for number, own in enumerate(ranking([model]), 1)
        for rank, (score, index) in enumerate(own[:2], 1)
    ]
    expected.insert(2, (2, 1, "", "0.0000"))
    assert [row[0] for row in expected] == [1, 1, 2, 3, 3, 5]
    assert (result.status, result.output) == (0, as_file(expected))
    assert run("--n-best", 2, "--scores", stdin=result.output) == result


def test_scores_alone(run, model):
    rows = [row.split("\t") for row in run("--scores").output.splitlines()]
    ranked = ranking([model])
    assert [row[0] for row in rows] == best(ranked).splitlines()
    assert rows[1][1] == "0.0000" and rows[3][1] == ""
    assert [rows[i][1] for i in (0, 2, 4)] == [f"{ranked[i][0][0]:.4f}" for i in (0, 2, 4)]


@pytest.mark.parametrize(
    "options, score",
    [
        (("--length-penalty", 0), PowerLengthPenalty(0.0)),
        (("--length-form", "wu"), WuLengthPenalty(1.0)),
        (("--length-form", "reward", "--length-penalty", -0.5), WordReward(-0.5)),
    ],
)
def test_length_forms(run, model, options, score):
    result = run("--n-best", 9, "--scores", *options)
    expected = [
        f"{number}\t{rank}\t{CANDIDATES[number - 1][index]}\t{value:.4f}"
        for number, own in enumerate(ranking([model], None, score), 1)
        for rank, (value, index) in enumerate(own, 1)
    ]
    rows = result.output.splitlines()
    assert result.status == 0
    assert [row for row in rows if not row.startswith("2\t")] == expected


@pytest.mark.slow
def test_several_models_of_any_vocabulary(run, model, tmp_path):
    other = tiny_model(vocabulary_size=284, attention=None, attention_units=None)
    save_preset(other, tmp_path / "other")
    other = RecurrentSeq2SeqLM.from_preset(str(tmp_path / "other"))
    options = ("--preset", tmp_path / "other", "--weight", 0.25, "--weight", 2, "--scores")
    rows = [row.split("\t") for row in run(*options).output.splitlines()]
    ranked = ranking([model, other], [0.25, 2])
    assert [row[0] for row in rows] == best(ranked).splitlines()
    assert rows[0][1] == f"{ranked[0][0][0]:.4f}"


@pytest.mark.slow
def test_what_translate_prints(run, seqzoo, source, model):
    printed = seqzoo(
        "translate", "--beam", 3, "--n-best", 3, "--scores", stdin=source.read_bytes()
    ).output
    result = run("--n-best", 3, stdin=printed)
    assert result.status == 0

    def columns(output):  # not by `splitlines`: an untrained model writes any character
        rows = [row.split("\t") for row in output.split("\n")[:-1]]
        return sorted((number, text) for number, _, text, *_ in rows)

    assert columns(result.output) == columns(printed)


def test_no_candidates(run, seqzoo, tmp_path):
    assert run(stdin="") == (0, "\n" * 5, "")
    assert run("--n-best", 2, stdin="") == (0, "", "")
    (tmp_path / "empty").write_bytes(b"")
    arguments = ("--preset", DEFAULT_PRESET, "--source", tmp_path / "empty")
    assert seqzoo("rescore", *arguments) == (0, "", "")


def test_long_sources_are_cut_with_a_warning(run, source):
    source.write_text("a dog\n" + "red " * 300 + "\n", encoding="utf-8")
    result = run(stdin="1\t1\thund\n2\t1\trot\n")
    assert (result.status, result.output) == (0, "hund\nrot\n")
    assert "line 2 must have at most" in result.errors and "it was cut" in result.errors


BAD_LINES = {
    "no columns": (
        "ein hund",
        "line 2 must be number, rank, text and optionally a score, separated by",
    ),
    "one column": ("", "got 1 column"),
    "no text": ("3\t1", "got 2 columns"),
    "too many": ("3\t1\tein\thund\t-1", "got 5 columns"),
    "no number": ("x\t1\tein", "line 2: the first column must be a line number of"),
    "number 0": ("0\t1\tein", "got '0'"),
    "number below 0": ("-1\t1\tein", "got '-1'"),
    "number of no line": ("6\t1\tein", "got '6'"),
    "number of many digits": ("9" * 5000 + "\t1\tein", "got '9999999999"),
    "no rank": ("1\tbest\tein", "line 2: the second column must be a rank, from 1, got 'best'"),
    "rank 0": ("1\t0\tein", "must be a rank, from 1, got '0'"),
    "no score": ("1\t1\tein\thund", "line 2: the fourth column must be a score, got 'hund'"),
    "text for a blank line": ("2\t1\tein", "is blank, got 'ein'."),
}


@pytest.mark.parametrize("line, message", BAD_LINES.values(), ids=BAD_LINES)
def test_bad_lines_are_named(run, tmp_path, line, message):
    text = f"1\t1\tein hund\n{line}\n"
    path = tmp_path / "candidates"
    path.write_text(text, encoding="utf-8")
    for result, place in (
        (run(stdin=text), "standard input"),
        (run("--candidates", path, stdin=""), str(path)),
    ):
        assert (result.status, result.output) == (2, "")
        [error] = result.errors.splitlines()
        assert error.startswith(f"seqzoo: error: {place}, line 2") and message in error


BAD = {
    "weights": (("--weight", 1, "--weight", 2), "once for each --preset (1), got 2"),
    "weight below 0": (("--weight", -1), "--weight must be "),
    "weight is no number": (("--weight", "nan"), "weight"),
    "reward without a penalty": (
        ("--length-form", "reward"),
        "--length-penalty must be given with",
    ),
    "penalty below 0": (("--length-penalty", -1), "--length-penalty must be "),
    "unknown form": (("--length-form", "long"), "--length-form must be "),
    "n-best 0": (("--n-best", 0), "--n-best must be "),
    "unknown preset": (("--preset", "nowhere"), "got 'nowhere'"),
    "no such file": (("--candidates", "no/file"), "--candidates no/file: no such file"),
    "no such source": (("--source", "no/file"), "--source no/file: no such file"),
}


@pytest.mark.parametrize("options, message", BAD.values(), ids=BAD)
def test_bad_options(run, options, message):
    result = run(*options)
    assert (result.status, result.output) == (2, "")
    [line] = result.errors.splitlines()
    assert line.startswith("seqzoo: error: ") and message in line


def test_candidates_that_are_no_text(seqzoo, source):
    arguments = ("--preset", DEFAULT_PRESET, "--source", source)
    result = seqzoo("rescore", *arguments, stdin=b"1\t1\tein\n\xff\n")
    assert result.status == 2 and "standard input, line 2 must be UTF-8" in result.errors


def test_what_is_needed(seqzoo, run, source):
    result = seqzoo("rescore", "--preset", DEFAULT_PRESET)
    assert result.status == 2 and "'--source'" in result.errors
    assert seqzoo("rescore", "--source", source, stdin=LINES.encode()) == run()


def test_help(seqzoo):
    result = seqzoo("rescore", "--help")
    assert result.status == 0 and "Usage: seqzoo rescore" in result.output


@pytest.mark.slow
def test_weights_are_tuned(run, source, tmp_path):
    save_preset(tiny_model(vocabulary_size=284), tmp_path / "other")
    references = tmp_path / "references"
    references.write_text("ein hund\n\nkatze\nkatze\nein hund sieht\n")
    other = ("--preset", tmp_path / "other")
    both = (*other, "--tune", references)
    result = run(*both)
    assert result.status == 0 and result.output.count("--weight ") == 2
    assert result.errors.startswith("BLEU ") and "with equal ones" in result.errors
    assert run(*other, *result.output.split()).status == 0
    assert run(*both, "--quiet") == (0, result.output, "")
    for options, message in (
        (("--tune", references), "--tune must be used with at least two --preset"),
        ((*both, "--n-best", 2), "--n-best cannot be used with --tune"),
        ((*other, "--tune", tmp_path / "none"), "no such file"),
    ):
        refused = run(*options)
        assert refused.status == 2 and message in refused.errors
