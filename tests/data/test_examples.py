import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["text_files", "token_pairs", "length_buckets", "translation"])
def test_docstring_examples_run(name):
    result = doctest.testmod(importlib.import_module(f"keras_seqzoo.data.{name}"))
    assert result.attempted > 0
    assert result.failed == 0
