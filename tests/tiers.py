"""Which cases of a test run in the slow tier alone."""

import pytest


def slow(*values):
    """A case of `pytest.mark.parametrize` that only the slow tier runs."""
    return pytest.param(*values, marks=pytest.mark.slow)


def mostly_slow(cases, *quick):
    """Cases of `pytest.mark.parametrize`, of which the quick tier runs some.

    Args:
        cases: a list of names, or a dict from names to values; a tuple holds several values.
        quick: the names of those that the quick tier runs too.
    """
    unknown = set(quick) - set(cases)
    assert not unknown, unknown
    values = cases if isinstance(cases, dict) else dict(zip(cases, cases, strict=True))
    return [
        pytest.param(
            *(value if isinstance(value, tuple) else (value,)),
            id=str(name),
            marks=() if name in quick else pytest.mark.slow,
        )
        for name, value in values.items()
    ]


def partly_slow(cases, names):
    """Cases as of `mostly_slow`, of which the quick tier runs all but those of some names."""
    return mostly_slow(cases, *(name for name in cases if name not in names))
