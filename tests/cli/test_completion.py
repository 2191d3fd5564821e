"""Completion in a shell, as a shell asks for it."""

import pytest

from tests.cli.processes import start


def test_a_shell_gets_commands_and_nothing_else():
    words = {"COMP_WORDS": "seqzoo train ", "COMP_CWORD": "2"}
    process = start(_SEQZOO_COMPLETE="complete_bash", **words)
    output, errors = process.communicate(timeout=300)
    commands = ["translate", "lm", "classify", "tag", "ngram", "tokenizer", "vectors"]
    assert (output.decode().split(), errors) == (commands, b"")


@pytest.mark.parametrize(
    ("asked", "words", "found"),
    [
        (
            "complete_bash",
            {"COMP_WORDS": "seqzoo train translate --bri", "COMP_CWORD": "3"},
            "--bridge\n",
        ),
        (
            "complete_zsh",
            {"_TYPER_COMPLETE_ARGS": "seqzoo tok"},
            '_arguments \'*: :(("tokenize":"Split text into the tokens of a model."))\'\n',
        ),
        (
            "complete_fish",
            {
                "_TYPER_COMPLETE_ARGS": "seqzoo train lm --cell ",
                "_TYPER_COMPLETE_FISH_ACTION": "get-args",
            },
            "lstm\ngru\nelman\n",
        ),
    ],
)
def test_options_and_values(seqzoo, monkeypatch, asked, words, found):
    for name, value in {"_SEQZOO_COMPLETE": asked, **words}.items():
        monkeypatch.setenv(name, value)
    assert seqzoo() == (0, found, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_for_shells(seqzoo, monkeypatch, shell):
    monkeypatch.setenv("_SEQZOO_COMPLETE", f"source_{shell}")
    result = seqzoo()
    assert result.status == 0 and result.errors == ""
    assert f"_SEQZOO_COMPLETE=complete_{shell}" in result.output
