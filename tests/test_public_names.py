"""The names that users write stay. To rename one on purpose, change public_names.txt."""

import pathlib

import keras
import typer

import keras_seqzoo
from keras_seqzoo.cli.application import app
from keras_seqzoo.cli.command.lazy import LazyCommand

RECORDED = pathlib.Path(__file__).with_name("public_names.txt")


def public_names():
    modules = [name for name in keras_seqzoo.__all__ if not name.startswith("_")]
    yield from modules
    for module in modules:
        for name in getattr(getattr(keras_seqzoo, module), "__all__", []):
            yield f"{module}.{name}"
    for name in keras.saving.get_custom_objects():
        if name.startswith("keras_seqzoo>"):
            yield name
    yield from commands("seqzoo", typer.main.get_command(app))


def commands(path, command):
    command = command.load() if isinstance(command, LazyCommand) else command
    yield path
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(f"{path} {name}", inner)
    for option in command.params:
        for flag in (*option.opts, *option.secondary_opts):
            if flag.startswith("-"):
                yield f"{path} {flag}"


def test_public_names_stay():
    recorded = set(RECORDED.read_text(encoding="utf-8").splitlines())
    now = set(public_names())
    assert recorded - now == set()  # gone
    assert now - recorded == set()  # new: to be recorded
