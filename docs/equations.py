"""Equations of the pages, as on GitHub blocks named `math` and `$…$`: LaTeX becomes MathML."""

import re

from latex2mathml import converter
from pymdownx.superfences import SuperFencesException

# What the converter passes on: a command, or a sign outside of its environment.
UNKNOWN = re.compile(r"<m\w+[^>]*>(?:&|\\[^<]*)</m")
ENVIRONMENTS = {"split"}


def convert(source, display="inline"):
    """Return the MathML of LaTeX.

    Raises:
        ValueError: if the LaTeX has a command or environment that the converter does not know.
    """
    unknown = set(re.findall(r"\\begin\{(.*?)\}", source)) - ENVIRONMENTS
    written = "" if unknown else converter.convert(source, display=display)
    if unknown or (unknown := UNKNOWN.findall(written)):
        raise ValueError(f"the equation {source!r} must have known commands, got {unknown}.")
    return written


def write_block(source, *arguments, **options):
    """Return the HTML of a block, as pymdownx.superfences asks for it."""
    try:
        return f'<div class="math">{convert(source, "block")}</div>'
    except Exception as error:  # any other one would leave the block as it is
        raise SuperFencesException(f"the equation {source!r}: {error}") from error


FENCES = [{"name": "math", "class": "math", "format": write_block}]
