"""The share of tags that are right."""

import itertools


def tag_accuracy(expected, found):
    """Computes the share of words whose tag is right.

    Args:
        expected: list of lists of tags.
        found: as many lists, of as many tags each.

    Returns:
        A float; 0 where there is no word.

    Raises:
        ValueError: if there are not as many tags.

    Example:
        >>> tag_accuracy([["DET", "NOUN"], ["VERB"]], [["DET", "VERB"], ["VERB"]])
        0.6666666666666666
    """
    rows = zip(expected, found, strict=True)
    pairs = itertools.chain.from_iterable(zip(*row, strict=True) for row in rows)
    right = [one == other for one, other in pairs]
    return sum(right) / len(right) if right else 0.0
