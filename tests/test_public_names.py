"""The names that users write stay. To rename one on purpose, change public_names.txt."""

import pathlib

import keras

import keras_seqzoo
from tests.command_tree import all_commands, flags

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
    for name, command in all_commands().items():
        path = f"seqzoo {name}".strip()
        yield path
        yield from (f"{path} {flag}" for flag in flags(command))


def test_public_names_stay():
    recorded = set(RECORDED.read_text(encoding="utf-8").splitlines())
    now = set(public_names())
    assert recorded - now == set()  # gone
    assert now - recorded == set()  # new: to be recorded
