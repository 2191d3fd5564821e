"""All commands: the words of their errors and the names of their options."""

import json
import re

import pytest

from keras_seqzoo.cli.command.command import Command
from keras_seqzoo.data import write_columns
from keras_seqzoo.training import make_tagger
from keras_seqzoo.zoo import save_preset
from tests.command_tree import all_commands

WORDS, TAGS = [["a", "b"], ["c"], ["d", "e"]], [["B-x", "I-x"], ["O"], ["O", "O"]]
TRANSLATE = (
    "translate --source short.txt --target short.txt --valid-source short.txt "
    "--valid-target short.txt --tokenizer word --embedding-dim 2 --quiet"
)


def commands():
    """Return the names of the commands with options of their own, and the commands."""
    own = all_commands().items()
    return [(name, command) for name, command in own if name not in ("", "list", "train")]


def options(name):
    return {option.opts[0] for option in dict(commands())[name].params}


def test_all_commands_say_errors_in_their_own_words():
    assert all(isinstance(command, Command) for _, command in commands())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("lm --cell lstn", "--cell must be one of lstm, gru, elman, got 'lstn'."),
        ("lm --epochs 0", "--epochs must be at least 1, got 0."),
        ("lm --dropout 1.5", "--dropout must be a number of at least 0 and below 1, got 1.5."),
        ("lm --learning-rate x", "--learning-rate must be a number, got 'x'."),
        ("classify --widths 3 --widths 0", "--widths must be at least 1, got 0."),
        ("vectors --collocation-passes 6", "--collocation-passes must be at most 5, got 6."),
        ("vectors --window 1.5", "--window must be an int, got '1.5'."),
        ("vectors --subsample inf", "--subsample must be a finite number, got inf."),
    ],
)
def test_wrong_values_are_named_in_one_form(seqzoo, arguments, message):
    name = arguments.split()[0]
    result = seqzoo("train", *arguments.split())
    assert result.status == 2
    assert result.errors == f"seqzoo: error: {message} (see seqzoo train {name} --help)\n"


@pytest.mark.parametrize("name", [name for name, _ in commands()])
def test_help_calls_values_alike(seqzoo, name):
    said = seqzoo(*name.split(), "--help").output
    assert not re.findall(r"<(?:int|float|str|list)\b.*", said)


def test_help_says_what_decides_ties(seqzoo):
    said = " ".join(seqzoo("train", "translate", "--help").output.split())
    assert "where every BLEU is 0, the one with the lowest validation loss is kept" in said


def test_what_means_the_same_has_one_name():
    names = [name for name, _ in commands()]
    learning = {name for name in names if name.startswith("train ")}
    writing = learning | {"count", "export", "lexicon", "average"}
    assert {name for name in names if "--out" in options(name)} == writing
    reading = (learning | {"count"}) - {"train translate"}
    assert {name for name in names if "--train" in options(name)} == reading
    networks = learning - {"train ngram", "train tokenizer"}
    assert {name for name in names if "--embedding-dim" in options(name)} == networks
    pairs = {"train translate", "evaluate", "score", "align", "lexicon"}
    assert {name for name in names if {"--source", "--target"} <= options(name)} == pairs


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    write_columns(folder / "train.conll", WORDS, TAGS)
    (folder / "valid.conllu").write_text(
        "# text = a\n1\ta\t_\tO\t_\t_\t_\t_\t_\t_\n\n1\tb\t_\tX\t_\t_\t_\t_\t_\t_\n\n"
    )
    write_columns(folder / "odd.conll", [*WORDS, ["f"]], [*TAGS, ["I-x"]])
    for name in ("train", "valid"):
        rows = [{"text": "a", "label": label} for label in ("x", "y", name)]
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    write_columns(folder / "other.conll", [["a", "b"]], [["X", "Y"]])
    (folder / "other.jsonl").write_text('{"text": "a", "label": "z"}')
    (folder / "blank.txt").write_text("\n\n")
    (folder / "short.txt").write_text("a b\nc\n")
    model = make_tagger([*WORDS], TAGS, embedding_dim=2, units=2, pieces="none")
    save_preset(model, folder / "tagger")
    return folder


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("tag --train train.conll --valid other.conll", "other.conll must have a tag that train.co"
         "nll has, got X, Y."),
        ("tag --train odd.conll --valid train.conll", "odd.conll, line 9: tags must follow each"),
        ("tag --train train.conll --valid valid.conllu --measure f1", "valid.conllu, line 4: tags "
         "must be O, B-type or I-type, got 'X'."),
        ("classify --train train.jsonl --valid other.jsonl", "other.jsonl must have a label that tr"
         "ain.jsonl has, got z."),
        ("lm --train blank.txt --valid short.txt", "blank.txt must have a word, got none."),
        ("lm --train short.txt --valid blank.txt --batch-size 9", "--batch-size must be at most "
         "the number of tokens of short.txt, 5, got 9."),
        ("lm --train short.txt --valid short.txt --minimum-count 3", "--minimum-count must be at"),
        ("lm --train short.txt --valid short.txt --tokenizer bpe --vocabulary-size 900",
         "--vocabulary-size must be at most 268 for this text"),
        ("tokenizer --kind bpe --train blank.txt", "blank.txt must have at least one line of text"),
        ("vectors --train blank.txt", "blank.txt must have a word"),
        ("vectors --train short.txt --minimum-count 3", "--minimum-count must be at most the"),
        ("ngram --train blank.txt", "blank.txt must have a word"),
        (f"{TRANSLATE} --context-feeding --attend before", "--context-feeding must be False unless "
         "--attend after: the context is an input of the recurrence already with --attend before."),
        (f"{TRANSLATE} --layer-normalization --cell elman", "--layer-normalization cannot be used "
         'with the cell "elman".'),
        (f"{TRANSLATE} --objective r-drop --dropout 0", "--objective must not be r-drop for a "
         "model with --dropout 0: both passes are equal."),
        ("lm --train none.txt --valid short.txt", "--train none.txt: no such file"),
        (f"{TRANSLATE} --attend-from bottom", "--decoder-layers must be at least 2 with "
         "--attend-from bottom, got 1."),
        (f"{TRANSLATE} --objective reinforced-attention", "--objective must not be reinforced-"
         "attention for a model without the attention weighting hard-reinforce, got the "
         "attention weighting softmax."),
    ],
)  # fmt: skip
def test_errors_name_files_lines_and_options(seqzoo, folder, monkeypatch, arguments, message):
    monkeypatch.chdir(folder)
    result = seqzoo("train", *arguments.split(), "--out", "new")
    assert (result.status, result.output) == (2, "")
    [line] = [line for line in result.errors.splitlines() if ": warning: " not in line]
    assert line.startswith(f"seqzoo: error: {message}")
    assert not (folder / "new").exists()


def test_wrong_entities_name_file_and_line(seqzoo, folder, tmp_path):
    write_columns(tmp_path / "test.conll", [["a"], ["b", "c"]], [["O"], ["O", "N"]])
    arguments = ("--preset", folder / "tagger", "--test", tmp_path / "test.conll", "--entities")
    result = seqzoo("evaluate", *arguments)
    assert result.status == 2 and f"{tmp_path}/test.conll, line 3: tags must be" in result.errors


def test_the_folder_of_an_export_is_named_by_its_option(seqzoo, folder):
    out = folder / "blank.txt"
    result = seqzoo("export", "--preset", folder / "tagger", "--out", out)
    assert result.status == 2 and "--out must be a folder" in result.errors


@pytest.mark.slow
def test_byte_order_marks_and_line_ends_are_no_text(seqzoo, folder, tmp_path):
    plain, marked = "a b\nc\n", "\ufeffa b\r\nc\r\n"
    for name, text in (("plain", plain), ("marked", marked)):
        seqzoo("train", "ngram", "--out", tmp_path / f"{name}.arpa", stdin=text.encode())
    assert (tmp_path / "plain.arpa").read_text() == (tmp_path / "marked.arpa").read_text()
    found = {
        text: seqzoo("tag", "--preset", folder / "tagger", stdin=text.encode()).output
        for text in (plain, marked)
    }
    assert found[plain] == found[marked] and found[plain].startswith("a/")
