"""Phrases that translations must contain, as arguments of `translate`."""

import numpy as np


def phrase_table(phrases, count):
    """Return an array of strings `(count, phrases)`, padded with blank strings."""
    phrases = list(phrases)
    if len(phrases) != count:
        raise ValueError(
            f"`required_phrases` must be one list for each of the {count} `texts`, got "
            f"{len(phrases)}."
        )
    for number, own in enumerate(phrases, 1):
        lists = isinstance(own, (list, tuple))
        if not lists or not all(isinstance(phrase, str) for phrase in own):
            raise ValueError(
                f"`required_phrases` must be lists of strings, got {own!r} as number {number}."
            )
    table = np.full((count, max(map(len, phrases), default=0)), "", object)
    for row, own in zip(table, phrases, strict=True):
        row[: len(own)] = own
    return table


def unmet_phrases(phrases, text):
    """Return the error message for a text without a translation that has the phrases."""
    phrases = [phrase for phrase in phrases if phrase.strip()]
    return (
        f"`required_phrases` {phrases} cannot be met: the search found no translation of "
        f"{text[:40]!r} with all of them. They may be too long for its limits (`max_length` and "
        "the strategy's `max_source_ratio`), or its constraints forbid them."
    )
