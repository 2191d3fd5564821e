"""`seqzoo train tokenizer` and `seqzoo tokenize`."""

import gzip
import json

import pytest

from keras_seqzoo.cli.presets import DEFAULT_PRESET
from keras_seqzoo.tokenizers import (
    BytePairTokenizer,
    CharacterTokenizer,
    TextTokenizer,
    UnigramTokenizer,
    WordPieceTokenizer,
    WordTokenizer,
)

TEXT = "the cat sat.\nthe dog sat on the cat\na dog\n\n"


@pytest.mark.parametrize(
    ("cls", "options"),
    [
        (WordTokenizer, ("--kind", "word")),
        (CharacterTokenizer, ("--kind", "character", "--minimum-count", 2)),
        (BytePairTokenizer, ("--kind", "bpe", "--vocabulary-size", 280, "--end-of-word")),
        (BytePairTokenizer, ("--kind", "bpe", "--vocabulary-size", 270, "--byte-level")),
        (WordPieceTokenizer, ("--kind", "wordpiece", "--keep-punctuation")),
        (UnigramTokenizer, ("--kind", "unigram", "--vocabulary-size", 275)),
    ],
)
def test_there_and_back(seqzoo, tmp_path, cls, options):
    out = tmp_path / "new" / "tokenizer"
    result = seqzoo("train", "tokenizer", *options, "--out", out, stdin=TEXT.encode())
    assert result.status == 0, result.errors
    tokenizer = TextTokenizer.from_preset(out)
    assert type(tokenizer) is cls
    assert (
        result.errors == f"{tokenizer.vocabulary_size()} tokens; {out} is the tokenizer's preset\n"
    )
    assert not list(out.parent.glob(".*"))
    lines = ["the dog sat", "", "a cat"]
    ids = seqzoo("tokenize", "--preset", out, "--ids", stdin="\n".join(lines).encode())
    assert [list(map(int, row.split())) for row in ids.output.splitlines()] == tokenizer(
        lines
    ).to_list()
    back = seqzoo("tokenize", "--preset", out, "--join", stdin=ids.output.encode())
    assert back.output.splitlines() == lines
    assert len(seqzoo("tokenize", "--preset", out, "--", "--tensorboard").output.splitlines()) == 1
    assert seqzoo("tokenize", "--preset", out, stdin=b"\xef\xbb\xbf") == (0, "", "")


@pytest.mark.parametrize("kind", ["word", "character", "bpe", "wordpiece", "unigram"])
def test_a_text_may_have_fewer_tokens_than_asked_for(seqzoo, tmp_path, kind):
    options = ("train", "tokenizer", "--kind", kind, "--out")
    result = seqzoo(*options, tmp_path / "default", stdin=TEXT.encode())
    assert result.status == 0 and "warning" not in result.errors
    result = seqzoo(*options, tmp_path / "new", "--vocabulary-size", 999, stdin=TEXT.encode())
    size = TextTokenizer.from_preset(tmp_path / "new").vocabulary_size()
    warning, _ = result.errors.splitlines()
    assert warning == (
        f"seqzoo: warning: the text has only {size} tokens, fewer than the --vocabulary-size of 999"
    )


def test_tokens(seqzoo, tmp_path):
    path = tmp_path / "text.gz"
    with gzip.open(path, "wt") as file:
        file.write(TEXT.upper())
    options = ("--kind", "word", "--split-punctuation", "--normalization", "lowercase")
    seqzoo("train", "tokenizer", *options, "--train", path, "--out", tmp_path / "words")
    result = seqzoo("tokenize", "--preset", tmp_path / "words", "The CAT, sat.", "dog")
    assert result.output == "the cat [UNK] sat .\ndog\n"
    config = json.loads((tmp_path / "words/tokenizer.json").read_text())["config"]
    assert config["normalization"] == ["lowercase"]
    seqzoo("train", "tokenizer", "--kind", "character", "--byte-level", "--out", tmp_path / "bytes")
    result = seqzoo("tokenize", "--preset", tmp_path / "bytes", "a é")
    assert result.output == "<0x61> <0x20> <0xC3> <0xA9>\n"
    CharacterTokenizer("a \t").save_to_preset(str(tmp_path / "characters"))
    assert seqzoo("tokenize", "--preset", tmp_path / "characters", "a \t").output == "a ▁ \\t\n"


def test_line_ends_and_byte_order_marks_are_no_characters(seqzoo, tmp_path):
    path, content = tmp_path / "crlf.txt", "\ufeffab\r\nc\r\n".encode()
    path.write_bytes(content)
    options = ("train", "tokenizer", "--kind", "character")
    assert seqzoo(*options, "--train", path, "--out", tmp_path / "of_file").status == 0
    assert seqzoo(*options, "--out", tmp_path / "of_input", stdin=content).status == 0
    for name in ("of_file", "of_input"):
        assert TextTokenizer.from_preset(tmp_path / name).characters == ["a", "b", "c"]


def test_of_a_model(seqzoo):
    result = seqzoo("tokenize", "--preset", DEFAULT_PRESET, "--ids", "a b")
    assert result.status == 0 and result.output.split()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "tokenizer", "--kind", "bpe"), "'--out'"),
        (("train", "tokenizer", "--kind", "x", "--out", "o"), "--kind must be "),
        (
            ("train", "tokenizer", "--kind", "bpe", "--normalization", "x", "--out", "o"),
            "--normalization must be one of nfc, nfkc, lowercase, accents, white_space, got 'x'.",
        ),
        (("train", "tokenizer", "--kind", "bpe", "--out", "full"), "--out must be a new or empty"),
        (("train", "tokenizer", "--kind", "bpe", "--out", "full/file"), "got the file"),
        (("train", "tokenizer", "--kind", "bpe", "--out", "o", "--train", "none"), "no such file"),
        (
            ("train", "tokenizer", "--kind", "bpe", "--out", "o"),
            "standard input must have at least one line of text",
        ),
        (("train", "tokenizer", "--kind", "word", "--out", "o"), "must have a word"),
        (
            ("train", "tokenizer", "--kind", "word", "--byte-level", "--out", "o"),
            "--byte-level can only be used with --kind character or bpe, got word",
        ),
        (
            ("train", "tokenizer", "--kind", "bpe", "--minimum-count", 2, "--out", "o"),
            "--minimum-count can only be used with --kind word or character or wordpiece, got bpe",
        ),
        (
            ("train", "tokenizer", "--kind", "character", "--byte-level", "--out", "o")
            + ("--vocabulary-size", 300),
            "is not trained",
        ),
        (("tokenize", "--preset", "none", "a"), "got 'none'"),
        (
            ("tokenize", "--preset", DEFAULT_PRESET, "--ids", "--join", "1"),
            "--ids cannot be used with --join",
        ),
        (
            ("tokenize", "--preset", DEFAULT_PRESET, "--join", "1", "x"),
            "line 2 must be token ids from 0 to",
        ),
        (("tokenize", "--preset", DEFAULT_PRESET, "--join", "99999"), "got '99999'"),
    ],
)
def test_errors(seqzoo, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").write_text("precious")
    result = seqzoo(*arguments)
    assert result.status == 2
    assert message in result.errors and result.errors.count("\n") == 1
    assert (tmp_path / "full/file").read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir()] == ["full"]


def test_help_of_training_promises_no_more_than_is_true(seqzoo):
    said = " ".join(seqzoo("train", "--help").output.split("Options:")[0].split())
    promised = said.partition("Ctrl-C")[2]
    assert all(command in promised for command in ("translate", "lm", "classify", "tag"))
