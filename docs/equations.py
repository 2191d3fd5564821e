"""Equations of the pages, as on GitHub blocks named `math` and `$…$`: LaTeX becomes MathML."""

import re

from latex2mathml import converter

UNKNOWN = re.compile(r"<m\w+>(?:&|\\\w+)</m")  # a command or sign that the converter passed on


def convert(source, display="inline"):
    """Return the MathML of LaTeX.

    Raises:
        ValueError: if the LaTeX has a command that the converter does not know.
    """
    written = converter.convert(source, display=display)
    if found := UNKNOWN.search(written):
        raise ValueError(f"The equation {source!r} must have commands that are known: {found[0]}.")
    return written


def write_block(source, *arguments, **options):
    """Return the HTML of a block, as pymdownx.superfences asks for it."""
    return f'<div class="math">{convert(source, "block")}</div>'


FENCES = [{"name": "math", "class": "math", "format": write_block}]
