import functools
from pathlib import Path

import keras
import numpy as np
import pytest

from keras_seqzoo import decoding
from keras_seqzoo.cli import lines
from keras_seqzoo.cli.presets import DEFAULT_PRESET
from keras_seqzoo.decoding import (
    EndThreshold,
    MinimumLength,
    NoRepeatedNGrams,
    RepetitionPenalty,
    WordReward,
    WuLengthPenalty,
    minimum_bayes_risk,
)
from keras_seqzoo.models import (
    Ensemble,
    Lexicon,
    RecurrentSeq2SeqLM,
    Translation,
    word_alignment,
)
from keras_seqzoo.tokenizers import WordTokenizer
from tests.tiers import slow

# The strategies with the limit that the command line sets.
BeamSearch, DiverseBeamSearch, Greedy, LexicallyConstrainedBeamSearch, Sampling = (
    functools.partial(strategy, max_source_ratio=3.0)
    for strategy in (
        decoding.BeamSearch,
        decoding.DiverseBeamSearch,
        decoding.Greedy,
        decoding.LexicallyConstrainedBeamSearch,
        decoding.Sampling,
    )
)
TEXTS = ["a red dog runs", "a cat", "red cat sees a dog"]


def best(model, texts, strategy):
    return [translations[0].text for translations in model.translate(texts, strategy)]


def as_output(texts):
    return "".join(f"{lines.as_column(text)}\n" for text in texts)


def columns(output):
    """Not by `splitlines`: an untrained model writes any character."""
    return [row.split("\t") for row in output.split("\n")[:-1]]


def test_arguments_equal_the_model(seqzoo, model):
    expected = as_output(best(model, TEXTS, BeamSearch(5)))
    assert seqzoo("translate", *TEXTS) == (0, expected, "")


def test_one_line_out_for_each_line_in(seqzoo, model, monkeypatch):
    monkeypatch.setattr(lines, "CHUNK", 3)
    odd = ["", "  ", "x", "😀", "a\u2028b\x85c", "né", ""]
    texts = [*TEXTS, *odd, "dog"]
    result = seqzoo(
        "translate", "--beam", 1, "--batch-size", 2, stdin="\n".join(texts).encode("utf-8")
    )
    assert (result.status, result.errors) == (0, "")
    rows = result.output.split("\n")
    assert rows.pop() == "" and len(rows) == len(texts)
    assert rows == as_output(best(model, texts, Greedy())).split("\n")[:-1]
    assert [rows[index] for index in (3, 4, 9)] == ["", "", ""]


def test_windows_line_ends(seqzoo):
    result = seqzoo("translate", "--beam", 1, stdin=b"a dog\r\n\r\na cat\r\n")
    assert result.output == seqzoo("translate", "--beam", 1, "a dog", "", "a cat").output


def test_no_input_gives_no_output(seqzoo):
    assert seqzoo("translate", stdin=b"") == (0, "", "")
    assert seqzoo("translate", stdin=b"\n\n") == (0, "\n\n", "")


def test_n_best_and_scores(seqzoo, model):
    result = seqzoo("translate", "--beam", 4, "--n-best", 3, "--scores", "a dog", "", "a cat")
    rows = columns(result.output)
    assert [row[:2] for row in rows] == [
        *(["1", str(rank)] for rank in (1, 2, 3)),
        ["2", "1"],
        *(["3", str(rank)] for rank in (1, 2, 3)),
    ]
    expected = model.translate(["a dog"], BeamSearch(4, n_best=3))[0]
    assert [row[2] for row in rows[:3]] == [lines.as_column(e.text, "\t") for e in expected]
    assert [row[3] for row in rows[:3]] == [f"{e.score:.4f}" for e in expected]
    assert rows[3][2:] == ["", "0.0000"]


@pytest.mark.slow
def test_scores_alone(seqzoo, model):
    result = seqzoo("translate", "--length-penalty", 0, "--scores", "a dog")
    [[expected]] = model.translate(["a dog"], BeamSearch(5, length_penalty=0.0))
    text, score = result.output[:-1].split("\t")
    assert text == lines.as_column(expected.text, "\t")
    assert float(score) == pytest.approx(expected.log_probability, abs=1e-4)


def test_max_length(seqzoo, model):
    [[expected]] = model.translate(["a dog"], Greedy(), max_length=2)
    result = seqzoo("translate", "--beam", 1, "--max-length", 2, "a dog")
    assert result.output == as_output([expected.text])


def test_the_name_of_a_file_is_a_text_with_a_warning(seqzoo, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("some.en").write_text("a dog runs\n")
    result = seqzoo("translate", "some.en")
    assert result.status == 0 and len(result.output.splitlines()) == 1
    [warning] = result.errors.splitlines()
    assert warning.startswith("seqzoo: warning: TEXT 'some.en' is the name of a file but is read")
    assert warning.endswith("give its lines by `< some.en`")


def test_long_lines_are_cut_with_a_warning(seqzoo):
    texts = f"a dog\n{'red ' * 2500}\n\n".encode()
    result = seqzoo("translate", "--beam", 1, stdin=texts)
    assert result.status == 0 and len(result.output.split("\n")) == 4
    [warning] = result.errors.splitlines()
    assert warning.startswith("seqzoo: warning: line 2 must have at most 24 tokens, got ")
    assert warning.endswith("; it was cut")
    result = seqzoo("translate", "--no-truncate", "--beam", 1, stdin=texts)
    assert (result.status, result.output) == (2, "")
    assert "error: line 2 must have at most 24 tokens, got " in result.errors


def test_text_before_a_bad_line_is_written(seqzoo, monkeypatch):
    monkeypatch.setattr(lines, "CHUNK", 2)
    result = seqzoo("translate", "--beam", 1, stdin=b"a dog\na cat\n\xff\n")
    assert result.status == 2 and len(result.output.split("\n")) == 3
    assert "standard input, line 3 must be UTF-8, got byte 0xff at position 1" in result.errors


def test_attention_plot(seqzoo, tmp_path):
    path = tmp_path / "attention.png"
    path.write_bytes(b"an old one")
    refused = seqzoo("translate", "--attention-plot", path, "a dog")
    assert refused.status == 2 and f"got the existing file {path}" in refused.errors
    assert path.read_bytes() == b"an old one"
    path.unlink()
    result = seqzoo("translate", "--attention-plot", path, "", "a red $dog$ 犬")
    assert result.status == 0 and result.errors == ""
    assert result.output.startswith("\n") and result.output.count("\n") == 2
    assert path.read_bytes().startswith(b"\x89PNG")
    assert [file.name for file in tmp_path.iterdir()] == ["attention.png"]


def test_progress_goes_to_standard_error(seqzoo, monkeypatch):
    monkeypatch.setattr("keras_seqzoo.cli.progress.line.ASKED_INTERVAL", 0.0)
    result = seqzoo("translate", "--progress", "--beam", 1, "--batch-size", 1, "a dog", "a cat")
    assert result.status == 0 and result.output.count("\n") == 2
    assert [line.split("  ")[0] for line in result.errors.splitlines()] == [
        "translated 1/2",
        "translated 2/2",
    ]
    assert seqzoo("translate", "--quiet", "--beam", 1, "a dog").errors == ""


BAD = {
    "unknown preset": (["--preset", f"{DEFAULT_PRESET[:-1]}x", "x"], f"'{DEFAULT_PRESET}'?"),
    "empty preset": (["--preset", "", "x"], "got ''"),
    "preset is a file": (["--preset", "{file}", "x"], "got the file '{file}'"),
    "preset is another folder": (
        ["--preset", "{folder}", "x"],
        "--preset must be a folder with a config.json",
    ),
    "width 0": (["--beam", "0", "x"], "--beam must be "),
    "width of letters": (["--beam", "wide", "x"], "--beam must be "),
    "n-best wider than the beam": (
        ["--n-best", "6", "x"],
        "--n-best must be at most --beam (5), got 6",
    ),
    "n-best 0": (["--n-best", "0", "x"], "--n-best must be "),
    "length penalty": (["--length-penalty", "-1", "x"], "--length-penalty must be "),
    "no number as length penalty": (["--length-penalty", "nan", "x"], "penalty"),
    "batch size": (["--batch-size", "0", "x"], "--batch-size must be "),
    "max length": (["--max-length", "0", "x"], "--max-length must be "),
    "unknown option": (["--wide", "x"], "--wide"),
    "argument is not UTF-8": (["a\udcff"], "TEXT 1 must be UTF-8"),
    "plot without a format": (["--attention-plot", "{folder}/x", "x"], "must end in"),
    "plot of a strange format": (["--attention-plot", "{folder}/x.txt", "x"], "must end in"),
    "plot in no folder": (["--attention-plot", "{folder}/no/x.png", "x"], "no such folder"),
    "plot on a folder": (["--attention-plot", "{folder}.png", "x"], "got the folder"),
    "plot of two": (["--attention-plot", "{folder}/x.png", "x", "y"], "one sentence, got 2."),
    "plot of none": (["--attention-plot", "{folder}/x.png", ""], "one sentence, got 0"),
    "plot without attention": (
        ["--preset", "gru_plain", "--attention-plot", "{folder}/x.png", "x"],
        "--preset must be a model with attention for --attention-plot, got gru_plain.",
    ),
}


@pytest.mark.parametrize("arguments, message", BAD.values(), ids=BAD)
def test_bad_input(seqzoo, tmp_path, arguments, message):
    places = {"file": tmp_path / "file", "folder": tmp_path / "folder"}
    places["file"].write_text("x")
    places["folder"].mkdir()
    (tmp_path / "folder.png").mkdir()
    result = seqzoo("translate", *(argument.format(**places) for argument in arguments))
    assert (result.status, result.output) == (2, "")
    [line] = result.errors.splitlines()
    assert line.startswith("seqzoo: error: ") and message.format(**places) in line
    assert not list(places["folder"].iterdir())


def test_a_damaged_preset_is_an_error(seqzoo, zoo, tmp_path):
    for name in ("config.json", "task.json"):
        (tmp_path / name).write_text("{")
    result = seqzoo("translate", "--preset", tmp_path, "x")
    assert (result.status, result.output) == (2, "")
    [line] = result.errors.splitlines()
    assert f"{tmp_path}/task.json must be a JSON object, got a damaged file" in line
    (tmp_path / "metadata.json").write_text("[]")
    for command in ("show", "similar", "translate"):
        (tmp_path / "config.json").write_text("[]")
        named = ("--preset", tmp_path, "x") if command != "show" else (tmp_path,)
        result = seqzoo(command, *named)
        assert (result.status, result.output) == (2, "")
        assert "json must be a JSON object, got " in result.errors


@pytest.mark.parametrize(
    "options, strategy",
    [
        (("--coverage-penalty", 0.3), BeamSearch(5, coverage_penalty=0.3)),
        (("--coverage-penalty", 0.3, "--beam", 1), BeamSearch(1, coverage_penalty=0.3)),
        (("--min-length", 4), BeamSearch(5, constraints=[MinimumLength(4)])),
        (("--max-source-ratio", 0.4), BeamSearch(5, max_source_ratio=0.4)),
        (("--no-repeat-ngram", 2), BeamSearch(5, constraints=[NoRepeatedNGrams(2)])),
        (
            ("--repetition-penalty", 1.5, "--beam", 1),
            Greedy(constraints=[RepetitionPenalty(1.5)]),
        ),
        (("--min-source-ratio", 1.5), BeamSearch(5, constraints=[MinimumLength(0, 1.5)])),
        (
            ("--min-source-ratio", 1.5, "--min-length", 12, "--max-source-ratio", 1.5),
            BeamSearch(5, constraints=[MinimumLength(12, 1.5)], max_source_ratio=1.5),
        ),
        (("--end-threshold", 1.2), BeamSearch(5, constraints=[EndThreshold(1.2)])),
        (
            ("--end-threshold", 2, "--no-repeat-ngram", 1, "--min-length", 3),
            BeamSearch(5, constraints=[MinimumLength(3), NoRepeatedNGrams(1), EndThreshold(2.0)]),
        ),
        (("--length-form", "wu"), BeamSearch(5, WuLengthPenalty())),
        (("--length-form", "wu", "--length-penalty", 0.2), BeamSearch(5, WuLengthPenalty(0.2))),
        (("--length-form", "power", "--length-penalty", 2), BeamSearch(5, 2.0)),
        (("--length-form", "reward", "--length-penalty", 3), BeamSearch(5, WordReward(3.0))),
        (("--length-form", "reward", "--length-penalty", -9), BeamSearch(5, WordReward(-9.0))),
        (("--groups", 2, "--beam", 4), DiverseBeamSearch(4, 2)),
        (
            ("--groups", 5, "--diversity", 4, "--length-form", "wu", "--coverage-penalty", 0.2),
            DiverseBeamSearch(5, 5, 4.0, WuLengthPenalty(), coverage_penalty=0.2),
        ),
        (("--groups", 1), DiverseBeamSearch(5, 1)),
        (("--stop", "top", "--beam", 3), BeamSearch(3, stop="top")),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_search_options(seqzoo, monkeypatch, options, strategy):
    """The options make the strategy; that it is used, the tests above and below show."""
    used = []

    def translate(model, texts, strategy, **options):
        used.append(strategy)
        return [[Translation("une", -1.0, -1.0, (), (), None)] for _ in texts]

    monkeypatch.setattr(RecurrentSeq2SeqLM, "translate", translate)
    assert seqzoo("translate", *options, "a cat") == (0, "une\n", "")
    [found] = used
    assert type(found) is type(strategy)
    assert keras.saving.serialize_keras_object(found) == keras.saving.serialize_keras_object(
        strategy
    )


def test_samples(seqzoo, model):
    options = ("--samples", 3, "--seed", 4, "--top-k", 5, "--temperature", 0.7)
    result = seqzoo("translate", *options, "--scores", "a dog")
    [expected] = model.translate(["a dog"], Sampling(3, 0.7, top_k=5, seed=4))
    assert result.output == "".join(
        f"1\t{rank}\t{lines.as_column(e.text, chr(9))}\t{e.score:.4f}\n"
        for rank, e in enumerate(expected, 1)
    )


@pytest.mark.slow
def test_groups_give_as_many_as_are_asked_for(seqzoo, model):
    options = ("--beam", 6, "--groups", 3, "--diversity", 2, "--n-best", 4, "--scores")
    result = seqzoo("translate", *options, "a dog", "")
    [expected] = model.translate(["a dog"], DiverseBeamSearch(6, 3, 2.0, n_best=6))
    assert (
        result.output
        == "".join(
            f"1\t{rank}\t{lines.as_column(e.text, chr(9))}\t{e.score:.4f}\n"
            for rank, e in enumerate(expected[:4], 1)
        )
        + "2\t1\t\t0.0000\n"
    )


@pytest.mark.parametrize(
    "options, strategy, utility",
    [
        (("--samples", 6, "--seed", 1), Sampling(6, seed=1), "chrf"),
        slow(("--n-best", 4), BeamSearch(5, n_best=4), "bleu"),
        slow(
            ("--groups", 3, "--beam", 6, "--n-best", 4), DiverseBeamSearch(6, 3, n_best=6), "chrf"
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_minimum_bayes_risk(seqzoo, model, options, strategy, utility):
    options = ("--minimum-bayes-risk", utility, "--scores", "--word-alignment", *options)
    rows = columns(seqzoo("translate", *options, *TEXTS, "").output)
    number = options[options.index("--samples" if "--samples" in options else "--n-best") + 1]
    found = model.translate(TEXTS, strategy, alignments=True)
    assert len(rows) == len(TEXTS) + 1 and rows[-1][0] == rows[-1][2] == ""
    for row, translations in zip(rows, found, strict=False):
        texts = [translation.text for translation in translations[:number]]
        (expected, index), *_ = minimum_bayes_risk(texts, utility)
        links = word_alignment(translations[index]).pharaoh()
        assert row == [lines.as_column(texts[index], "\t"), f"{expected:.4f}", links]


@pytest.mark.slow
def test_minimum_bayes_risk_alone_prints_texts(seqzoo, model):
    [samples] = model.translate(["a dog"], Sampling(5, seed=2))
    (_, index), *_ = minimum_bayes_risk([sample.text for sample in samples])
    options = ("--samples", 5, "--seed", 2, "--minimum-bayes-risk", "chrf")
    assert seqzoo("translate", *options, "a dog").output == as_output([samples[index].text])


@pytest.mark.slow
def test_several_presets_are_an_ensemble(seqzoo, model, zoo):
    presets = ("--preset", DEFAULT_PRESET, "--preset", "gru_plain")
    both = Ensemble([model, RecurrentSeq2SeqLM.from_preset(str(zoo / "gru_plain"))])
    expected = as_output(best(both, TEXTS, BeamSearch(5)))
    assert seqzoo("translate", *presets, *TEXTS) == (0, expected, "")


@pytest.mark.parametrize(
    "options, message",
    [
        (("--temperature", 0.5), "--temperature can only be used with --samples"),
        (("--samples", 2, "--n-best", 2), "--samples cannot be used with --n-best"),
        (("--samples", 2, "--temperature", 0), "--temperature must be a number above 0"),
        (("--samples", 2, "--top-p", 2), "--top-p must be in (0, 1]"),
        (("--samples", 2, "--beam", 4), "--samples cannot be used with --beam"),
        (("--samples", 2, "--groups", 2, "--length-form", "wu"), "with --groups, --length-form"),
        (("--samples", 2, "--coverage-penalty", 0.1), "with --coverage-penalty"),
        (("--samples", 2, "--length-penalty", 0.1), "with --length-penalty"),
        (("--seed", 0), "--seed can only be used with --samples"),
        (("--diversity", 1), "--diversity can only be used with --groups"),
        (("--groups", 2), "--beam must be a multiple of --groups (2), got 5."),
        (("--groups", 0), "--groups must be "),
        (
            ("--groups", 2, "--beam", 4, "--n-best", 5),
            "--n-best must be at most --beam (4), got 5.",
        ),
        (("--groups", 5, "--diversity", -1), "--diversity must be "),
        (("--groups", 5, "--diversity", "inf"), "--diversity must be "),
        (("--length-form", "long"), "--length-form must be "),
        (("--length-form", "reward"), "--length-penalty must be given with --length-form reward"),
        (
            ("--length-form", "wu", "--length-penalty", -1),
            "--length-penalty must be at least 0, except with --length-form reward, got -1.",
        ),
        (("--length-form", "reward", "--length-penalty", "nan"), "--length-penalty must be "),
        (("--end-threshold", -1), "--end-threshold must be "),
        (("--end-threshold", "nan"), "--end-threshold must be "),
        (("--min-source-ratio", -0.1), "--min-source-ratio must be "),
        (
            ("--min-source-ratio", 2, "--max-source-ratio", 1.5),
            "--min-source-ratio must be at most --max-source-ratio (1.5), got 2.",
        ),
        (
            ("--min-length", 4, "--max-length", 4),
            "--min-length must be below --max-length (4), got 4.",
        ),
        (("--min-length", 24), "--min-length must be below --max-length (24), got 24."),
        (
            ("--minimum-bayes-risk", "chrf"),
            "--minimum-bayes-risk can only be used with --samples or --n-best",
        ),
        (("--minimum-bayes-risk", "chrf", "--samples", 1), "above 1"),
        (("--minimum-bayes-risk", "ter", "--samples", 3), "--minimum-bayes-risk must be "),
        (("--phrase", "cat", "--groups", 5), "--groups cannot be used with --phrase or --phrases"),
        (("--phrase", "cat", "--samples", 5), "with --phrase"),
        (("--phrases", "no-such-file"), "no-such-file"),
        slow(("--phrase", "red cat and red dog", "--max-length", 2), "cannot be met"),
        (("--lexicon", "words.tsv"), "--lexicon can only be used with --replace-unknown"),
        (("--replace-unknown", "--lexicon", "no-such-file"), "no-such-file"),
        (
            ("--preset", "gru_plain", "--replace-unknown"),
            "with attention for --replace-unknown, got gru_plain",
        ),
        (("--max-source-ratio", 0), "--max-source-ratio must be a number above 0"),
        (
            ("--preset", "gru_plain", "--coverage-penalty", 1),
            "with attention for --coverage-penalty, got",
        ),
    ],
)
def test_bad_search_options(seqzoo, options, message):
    result = seqzoo("translate", *options, "a dog")
    assert (result.status, result.output) == (2, "")
    [line] = result.errors.splitlines()
    assert message in line


@pytest.mark.slow
def test_phrases(seqzoo, model, tmp_path):
    search = LexicallyConstrainedBeamSearch(8)
    found = model.translate(["a dog", "a cat"], search, required_phrases=[["red"], ["red"]])
    expected = as_output([best.text for best, *_ in found])
    options = ("--beam", 8, "--phrase", "red")
    assert seqzoo("translate", *options, "a dog", "a cat") == (0, expected, "")
    assert all("red" in line for line in expected.split("\n")[:-1])

    required = tmp_path / "required.txt"
    required.write_text("cat\tdog\r\n\r\n", encoding="utf-8")
    result = seqzoo("translate", *options, "--phrases", required, "a dog", "", "a cat")
    assert result.status == 2
    assert (
        f"--phrases must have one line for each line of input, got 2 in {required}."
        in result.errors
    )
    result = seqzoo("translate", *options, "--phrases", required, "a dog", "a cat")
    found = model.translate(
        ["a dog", "a cat"], search, required_phrases=[["red", "cat", "dog"], ["red"]]
    )
    assert result.output == as_output([best.text for best, *_ in found])
    result = seqzoo("translate", *options, "--phrases", required, "a dog")
    assert (
        result.status == 2
        and f"each of the 1 lines of input, got 2 in {required}." in result.errors
    )


def test_replace_unknown(seqzoo, model, tmp_path, monkeypatch):
    lexicon = tmp_path / "words.tsv"
    Lexicon({"dog": {"chien": 1.0}}).save(lexicon)
    options = ("--replace-unknown", "--lexicon", lexicon)
    expected = as_output(best(model, ["a red dog"], BeamSearch(5)))  # without unknown words
    assert seqzoo("translate", *options, "a red dog") == (0, expected, "")

    def with_an_unknown_word(self, texts, *args, alignments, **kwargs):
        assert alignments
        weights = np.array([[0.1, 0.8, 0.1], [0.0, 0.0, 1.0]], np.float32)
        words = ["a", texts[0].split()[-1]]
        both = WordTokenizer(words), WordTokenizer(["b"])
        tokens = [*words, "[EOS]"], ["[UNK]", "[EOS]"]
        return [[Translation("[UNK]", -1.0, -1.0, *tokens, weights, both)]]

    monkeypatch.setattr(RecurrentSeq2SeqLM, "translate", with_an_unknown_word)
    assert seqzoo("translate", *options, "a dog").output == "chien\n"
    assert seqzoo("translate", *options, "a zebu").output == "zebu\n"
    lexicon.write_text("dog\tchien\n", encoding="utf-8")
    result = seqzoo("translate", *options, "a red dog")
    assert result.status == 2 and f"{lexicon}, line 1" in result.errors


@pytest.mark.slow
def test_word_alignment(seqzoo, model):
    result = seqzoo("translate", "--beam", 2, "--word-alignment", "a red dog", "")
    [[best]] = model.translate(["a red dog"], BeamSearch(2), alignments=True)
    links = word_alignment(best).pharaoh()
    assert result.output == f"{lines.as_column(best.text, chr(9))}\t{links}\n\t\n"
    result = seqzoo("translate", "--preset", "gru_plain", "--word-alignment", "a dog")
    assert (
        result.status == 2 and "with attention for --word-alignment, got gru_plain" in result.errors
    )


def test_help_has_sections(seqzoo):
    output = seqzoo("translate", "--help").output
    titles = [row for row in output.splitlines() if row.endswith(":") and row[0] != " "]
    assert titles == [
        "Arguments:",
        "Options:",
        "Output:",
        "Beam search:",
        "Sampling:",
        "Length and repetition:",
        "Server:",
    ]
