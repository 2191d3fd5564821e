import re

import pytest
import sacrebleu

from keras_seqzoo.cli.presets import DEFAULT_PRESET
from keras_seqzoo.decoding import BeamSearch
from keras_seqzoo.metrics.translation_scores import explain_no_bleu
from tests.made_up import parallel_text, write_parallel_text


def test_scores_and_signatures(seqzoo, model, tmp_path):
    source, reference = write_parallel_text(tmp_path, "test", 5)
    arguments = ("evaluate", "--preset", DEFAULT_PRESET, "--beam", 2)
    arguments += ("--source", source, "--target", reference)
    texts, references = parallel_text(5)
    translations = [
        best.text for [best] in model.translate(texts, BeamSearch(2, max_source_ratio=3.0))
    ]
    for options, lowercase in [((), False), (("--lowercase",), True), (("-lc",), True)]:
        bleu = sacrebleu.metrics.BLEU(lowercase=lowercase)
        chrf = sacrebleu.metrics.CHRF(lowercase=lowercase)
        expected = "".join(
            f"{name} {metric.corpus_score(translations, [references]).score:.2f} "
            f"{metric.get_signature()}\n"
            for name, metric in [("BLEU", bleu), ("chrF", chrf)]
        )
        assert f"case:{'lc' if lowercase else 'mixed'}" in expected
        result = seqzoo(*arguments, *options)
        assert (result.status, result.output) == (0, expected) and "BLEU 0.00" in expected
        [line] = result.errors.splitlines()
        assert line == f"seqzoo: warning: {explain_no_bleu('13a')}"
    _, output, errors = seqzoo(*arguments, "--bleu-tokenizer", "char")
    bleu = sacrebleu.metrics.BLEU(tokenize="char")
    score = bleu.corpus_score(translations, [references]).score
    assert score > 0 and errors == ""
    assert output.startswith(f"BLEU {score:.2f} {bleu.get_signature()}\n") and "tok:char" in output


def test_a_baseline(seqzoo, tmp_path):
    source, reference = write_parallel_text(tmp_path, "test", 5)
    arguments = ("evaluate", "--preset", DEFAULT_PRESET, "--beam", 1)
    arguments += ("--source", source, "--target", reference, "--bleu-tokenizer", "char")
    plain, compared = seqzoo(*arguments), seqzoo(*arguments, "--baseline", reference)
    assert compared.status == 0 and compared.output.startswith(plain.output)
    bleu, chrf = compared.output.splitlines()[2:]
    assert re.fullmatch(r"BLEU [\d.]+ ± [\d.]+, baseline 100.00, p 0.\d{4}", bleu)
    assert bleu.split()[1] == plain.output.split()[1] and chrf.startswith("chrF ")
    (tmp_path / "short").write_text("a\n", encoding="utf-8")
    result = seqzoo(*arguments, "--baseline", tmp_path / "short")
    assert result.status == 2 and f"and 1 in {tmp_path}/short" in result.errors
    assert "--source and --baseline must have the same number of lines" in result.errors


def test_an_unknown_tokenizer_is_refused(seqzoo):
    result = seqzoo("evaluate", "--preset", "gru_plain", "--bleu-tokenizer", "13b")
    assert (result.status, result.output) == (2, "")
    [line] = result.errors.splitlines()
    assert "--bleu-tokenizer must be one of " in line and "13a" in line


@pytest.mark.parametrize(
    "change, message",
    [
        ({"source": "missing"}, "--source {folder}/missing: no such file"),
        ({"target": "folder"}, "the path must be a file, got the folder {folder}/folder"),
        ({"target": "short"}, "got 2 in {folder}/source and 1 in {folder}/short"),
        ({"source": "latin"}, "{folder}/latin, line 2 must be UTF-8, got byte 0xe9"),
        ({"source": "empty", "target": "empty"}, "--source must be a file with at least one line"),
        ({"source": "broken.gz"}, "not a whole gzip file: {folder}/broken.gz"),
        ({"source": "packed"}, "{folder}/packed must be UTF-8, got gzip data. Decompress it, or"),
        ({"preset": "gru_plein"}, "'gru_plain'?"),
    ],
    ids=["missing", "folder", "unequal", "latin-1", "empty", "gzip", "name", "preset"],
)
def test_bad_input(seqzoo, tmp_path, change, message):
    for name, content in {
        "source": b"a\nb\n",
        "target": b"a\nb\n",
        "short": b"a\n",
        "latin": b"a\ncaf\xe9\n",
        "empty": b"",
        "broken.gz": b"\x1f\x8b\x08",
        "packed": b"\x1f\x8b\x08",
    }.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder").mkdir()
    options = {"source": "source", "target": "reference", **change}
    preset = options.pop("preset", DEFAULT_PRESET)
    files = [part for name, file in options.items() for part in (f"--{name}", tmp_path / file)]
    result = seqzoo("evaluate", "--preset", preset, *files)
    assert (result.status, result.output) == (2, "")
    [line] = result.errors.splitlines()
    assert line.startswith("seqzoo: error: ") and message.format(folder=tmp_path) in line


def test_options_that_are_needed(seqzoo):
    result = seqzoo("evaluate", "--preset", "gru_plain")
    assert result.status == 2 and len(result.errors.splitlines()) == 1
    assert "--source" in result.errors
