"""The examples in the docstrings run and give what they show."""

import doctest
import importlib
import pkgutil
import tempfile

import keras
import pytest
import tensorflow as tf

import keras_seqzoo
from tests.tiers import partly_slow

# What a reader has imported; everything public of the layers and models among it.
NAMES = {"keras": keras, "tf": tf, "keras_seqzoo": keras_seqzoo}
for package in (keras_seqzoo.layers, keras_seqzoo.models, keras_seqzoo.tokenizers):
    NAMES |= {name: getattr(package, name) for name in package.__all__}

MODULES = [
    module.name
    for module in pkgutil.walk_packages(keras_seqzoo.__path__, "keras_seqzoo.")
    if not module.name.endswith("__main__")
]


def examples(module):
    return [test for test in doctest.DocTestFinder().find(module) if test.examples]


WITH_EXAMPLES = [name for name in MODULES if examples(importlib.import_module(name))]
SLOW = {  # about a second each, which compile or train; the tests of what they show are quick
    "keras_seqzoo.losses.consistent_linear_crossentropy",
    "keras_seqzoo.losses.linear_crossentropy",
    "keras_seqzoo.models.common.next_token_training",
    "keras_seqzoo.models.language_model.feed_forward",
    "keras_seqzoo.models.language_model.log_linear.language_model",
}


def test_examples_are_found():
    assert len(WITH_EXAMPLES) >= 20


@pytest.mark.parametrize("name", partly_slow(WITH_EXAMPLES, SLOW))
def test_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # pytest removes what they leave
    result = doctest.testmod(importlib.import_module(name), extraglobs=NAMES)
    assert result.attempted > 0
    assert result.failed == 0
