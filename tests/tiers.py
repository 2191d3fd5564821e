"""Which cases of a test run in the slow tier alone."""

import pytest


def slow(*values):
    """A case of `pytest.mark.parametrize` that only the slow tier runs."""
    return pytest.param(*values, marks=pytest.mark.slow)
