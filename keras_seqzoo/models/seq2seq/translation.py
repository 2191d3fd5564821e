"""A translation with what the search knows about it."""

from typing import NamedTuple

import numpy as np


class Translation(NamedTuple):
    """One hypothesis for one source sentence.

    Attributes:
        text: the translation.
        score: what the search ranked by, such as the length-normalised log-probability.
        log_probability: natural logarithm of P(target | source).
        source_tokens: the source's subword strings, `[EOS]` included.
        target_tokens: the translation's subword strings, `[EOS]` included where it was reached.
        alignment: float32 array `(target tokens, source tokens)` of attention weights, or `None`
            if it was not asked for.
    """

    text: str
    score: float
    log_probability: float
    source_tokens: list[str]
    target_tokens: list[str]
    alignment: np.ndarray | None
