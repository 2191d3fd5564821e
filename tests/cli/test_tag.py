"""`seqzoo train tag`, `tag`, `evaluate` and `export` of a tagger."""

import numpy as np
import pytest

from keras_seqzoo.data import ConlluSentence, read_conllu, write_columns, write_conllu
from tests.serving.fresh_server import outputs_of
from tests.training.test_tagger import TAGS, WORDS

TINY = ("--units", 8, "--embedding-dim", 6, "--batch-size", 5)
TINY += ("--learning-rate", 0.05, "--warmup-steps", 2, "--ema-momentum", 0.5, "--dropout", 0)
TINY += ("--minimum-count", 1, "--unknown-rate", 0)


def conllu(words, tags):
    rows = [
        [str(number), word, "_", tag, *["_"] * 6]
        for number, (word, tag) in enumerate(zip(words, tags, strict=True), 1)
    ]
    return ConlluSentence([f"# text = {' '.join(words)}"], rows)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tag")
    write_conllu(folder / "train.conllu", map(conllu, WORDS * 4, TAGS * 4))
    write_conllu(folder / "test.conllu", map(conllu, WORDS, TAGS))
    write_columns(folder / "test.conll", WORDS, TAGS)
    (folder / "broken.conllu").write_text("1\tDogs\n\n")
    return folder


@pytest.fixture(scope="module")
def tagger(folder):
    from keras_seqzoo.training import make_tagger
    from keras_seqzoo.zoo import save_preset

    model = make_tagger(WORDS, TAGS, embedding_dim=4, units=4, minimum_count=1)
    return save_preset(model, folder / "tagger")


@pytest.mark.slow
def test_there_and_back(seqzoo, folder, tmp_path):
    files = ("--train", folder / "train.conllu", "--valid", folder / "test.conll")
    out = tmp_path / "new"
    result = seqzoo("train", "tag", *files, *TINY, "--piece-units", 6, "--epochs", 8, "--out", out)
    assert result.status == 0, result.errors
    assert "best validation accuracy 1;" in result.errors.splitlines()[-1]
    text = "\n".join(" ".join(row) for row in WORDS).encode()
    found = seqzoo("tag", "--preset", out, stdin=text + b"\n\n").output.split("\n")
    expected = [
        " ".join(f"{word}/{tag}" for word, tag in zip(row, tags, strict=True))
        for row, tags in zip(WORDS, TAGS, strict=True)
    ]
    assert found == [*expected, "", ""]
    found = seqzoo("tag", "--preset", out, "--format", "columns", "dogs", "the dog").output
    assert found == "dogs\tN\n\nthe\tD\ndog\tN\n\n"
    found = seqzoo("tag", "--preset", out, "--format", "conllu", "the\rdog").output
    assert "# text = the dog\n" in found
    (tmp_path / "found.conllu").write_text(found)
    [sentence] = read_conllu(tmp_path / "found.conllu")
    assert sentence.upos == ["D", "N"] and sentence.text == "the dog"
    options = ("--conllu", folder / "test.conllu", "--column", "xpos")
    (tmp_path / "all.conllu").write_text(seqzoo("tag", "--preset", out, *options).output)
    tagged = read_conllu(tmp_path / "all.conllu")
    assert [row.xpos for row in tagged] == TAGS == [row.upos for row in tagged]
    result = seqzoo("evaluate", "--preset", out, "--test", folder / "test.conllu")
    assert result.output.splitlines()[-1].split() == ["accuracy", "1.0000", "17"]
    version = seqzoo("export", "--preset", out, "--out", tmp_path / "served").output.strip()
    found = outputs_of(version, ["the dog", "", "dogs"])
    assert found["tokens"] == [["the", "dog"], ["", ""], ["dogs", ""]]
    assert found["tags"] == [["D", "N"], ["", ""], ["N", ""]]
    assert np.shape(found["probabilities"]) == (3, 2)


@pytest.mark.slow
def test_entities(seqzoo, folder, tmp_path):
    marks = [["B-x" if tag == "N" else "O" for tag in row] for row in TAGS]
    write_columns(tmp_path / "ner.conll", WORDS, marks)
    files = ("--train", tmp_path / "ner.conll", "--valid", tmp_path / "ner.conll")
    options = ("--measure", "f1", "--epochs", 1, "--no-crf", "--pieces", "none")
    result = seqzoo("train", "tag", *files, *TINY, *options, "--out", tmp_path / "new")
    assert result.status == 0 and "best validation f1" in result.errors
    test = ("--test", tmp_path / "ner.conll", "--entities")
    result = seqzoo("evaluate", "--preset", tmp_path / "new", *test)
    assert result.output.startswith("entity ") and "\nclass " in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tag", "--preset", "gru_plain", "a"), "--preset must be a tagger"),
        (("tag", "--preset", "tagger", "--conllu", "test.conllu", "a"), "TEXT cannot be used with"),
        (
            ("tag", "--preset", "tagger", "--column", "xpos", "a"),
            "--column can only be used with --conllu",
        ),
        (
            ("train", "tag", "--train", "a", "--valid", "a", "--out", "b")
            + ("--pieces", "none", "--piece-units", 6),
            "--piece-units must not be given with the --pieces 'none', got 6",
        ),
        (
            ("train", "tag", "--train", "a", "--valid", "a", "--out", "b")
            + ("--start", "tagger", "--units", 6),
            "--units cannot be used with --start",
        ),
        (
            ("train", "tag", "--train", "a", "--valid", "a", "--out", "b", "--freeze-embeddings"),
            "--freeze-embeddings cannot be used without --vectors or --start.",
        ),
        (
            ("train", "tag", "--train", "test.conll", "--valid", "test.conll", "--out", "new")
            + ("--start", "gru_plain"),
            "--start must be a tagger, got gru_plain",
        ),
        (
            ("train", "tag", "--train", "a", "--valid", "a", "--out", "b", "--column", "xpos"),
            "--column can only be used with a CoNLL-U file (.conllu)",
        ),
        (
            ("evaluate", "--preset", "tagger", "--test", "test.conll", "--column", "xpos"),
            "--column can only be used with a CoNLL-U file (.conllu)",
        ),
        (
            ("evaluate", "--preset", "tagger", "--test", "test.conll", "--max-length", 9),
            "--max-length can only be used with a translation model",
        ),
        (
            ("tag", "--preset", "tagger", "--conllu", "broken.conllu"),
            "broken.conllu, line 1: must have ten",
        ),
        (("evaluate", "--preset", "tagger"), "--test must be given"),
        (
            ("evaluate", "--preset", "tagger", "--test", "none.conll"),
            "--test none.conll: no such file",
        ),
        (("classify", "--preset", "tagger", "a"), "--preset must be a text classifier"),
        (
            ("train", "tag", "--train", "broken.conllu", "--valid", "test.conllu", "--out", "new"),
            "broken.conllu, line 1: must have ten columns",
        ),
    ],
)
def test_errors(seqzoo, folder, tagger, monkeypatch, arguments, message):
    monkeypatch.chdir(folder)
    result = seqzoo(*arguments)
    assert (result.status, result.output) == (2, "")
    [line] = result.errors.splitlines()
    assert message in line
    assert not (folder / "new" / "config.json").exists()
