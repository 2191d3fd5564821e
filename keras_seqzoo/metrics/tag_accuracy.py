"""The share of tags that are right."""

import operator


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
    if len(expected) != len(found):
        raise ValueError(
            f"`expected` and `found` must have as many sentences, got {len(expected)} and "
            f"{len(found)}"
        )
    right = []
    for number, (row, other) in enumerate(zip(expected, found, strict=True), 1):
        if len(row) != len(other):
            raise ValueError(
                f"`expected` and `found` must have as many tags, in sentence {number} they have "
                f"{len(row)} and {len(other)}"
            )
        right += map(operator.eq, row, other)
    return sum(right) / len(right) if right else 0.0
