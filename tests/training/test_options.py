"""Options: checks of values, changed defaults, and documentation."""

from typing import Literal

import pytest

from keras_seqzoo.training.options import Options, option, options


@options
class Sizes(Options):
    """Sizes."""

    units: int = option(4, "Units.", minimum=1, below=9)
    widths: tuple[int, ...] = option((3,), "Widths.", minimum=1)
    rate: float = option(0.5, "Rate.", minimum=0, below=1)
    factor: float | None = option(None, "Factor.", above=0)
    cell: Literal["lstm", "gru"] | None = option("lstm", "Cell.")
    start: str | None = option(None, "Preset.")
    residual: bool = option(False, "Residual.", from_start=True, recorded=True)


@options
class LargeSizes(Sizes):
    """Large sizes."""

    units = 8
    depth: int = option(2, "Depth.", minimum=1)


def test_a_subclass_changes_defaults_and_adds_options():
    sizes = LargeSizes(widths=5)
    assert (sizes.units, sizes.depth, sizes.widths) == (8, 2, (5,))
    assert LargeSizes(**sizes.to_dict()) == sizes
    assert sizes.select("units", "depth") == {"units": 8, "depth": 2}
    assert sizes.recorded() == {"residual": False}
    assert "units: int, by default 8. Units." in LargeSizes.__doc__
    with pytest.raises(ValueError, match="`units` must be an int of at least 1 and below 9, got 9"):
        LargeSizes(units=9)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"units": 0}, "`units` must be an int of at least 1, got 0"),
        ({"units": True}, "`units` must be an int"),
        ({"widths": [3, 0]}, "`widths` must be an int of at least 1, got 0"),
        ({"rate": 1.0}, "`rate` must be a number of at least 0 and below 1, got 1.0"),
        ({"rate": float("nan")}, "`rate` must be a number, got nan"),
        ({"rate": None}, "`rate` must be a number, got None"),
        ({"factor": 0}, "`factor` must be a number above 0, got 0"),
        ({"cell": "tree"}, "`cell` must be one of lstm, gru, got 'tree'"),
        ({"start": 3}, "`start` must be a str, got 3"),
        ({"residual": "no"}, "`residual` must be a bool, got 'no'"),
    ],
)
def test_wrong_values_are_named(values, message):
    with pytest.raises(ValueError, match=message):
        Sizes(**values)


def test_unknown_options_are_named():
    with pytest.raises(TypeError, match="unexpected keyword argument 'layers'"):
        Sizes(layers=2)


def test_options_that_the_start_decides_are_refused():
    Sizes(start="preset").refuse_with_start()
    with pytest.raises(ValueError, match="`residual` must not be given with `start`, got True"):
        Sizes(start="preset", residual=True).refuse_with_start()
