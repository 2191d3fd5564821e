"""Scores of texts."""

from typing import NamedTuple


class Score(NamedTuple):
    """The log probability of a text.

    Attributes:
        log_probability: float, the natural logarithm.
        tokens: int, the number of scored tokens, including the end.
    """

    log_probability: float
    tokens: int
