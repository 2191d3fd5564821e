"""Private APIs of other libraries are used in one module only."""

import pathlib
import re

import pytest

import keras_seqzoo

PACKAGE = pathlib.Path(keras_seqzoo.__file__).parent
PRIVATE = [
    r"keras_hub\.src",
    r"keras\.src",
    r"tensorflow\.python",
    r"tensorflow_text\.python",
    r"tf\.__internal__",
    r"\._flatten_layers",
]


@pytest.mark.parametrize("name", PRIVATE)
def test_private_names_are_in_one_module(name):
    modules = sorted(PACKAGE.rglob("*.py"))
    users = [path for path in modules if re.search(name, path.read_text(encoding="utf-8"))]
    assert users in ([], [PACKAGE / "_compat.py"])
