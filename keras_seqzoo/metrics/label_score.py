"""Precision, recall and F1 of one kind of thing, and tables of them."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class LabelScore:
    """How well one kind of thing was found: the words of a class, the entities of a type.

    Attributes:
        right: int, how many were found that are expected.
        found: int, how many were found.
        expected: int, how many are expected.

    Example:
    >>> score = LabelScore(right=1, found=2, expected=4)
    >>> score.precision, score.recall, round(score.f1, 3)
    (0.5, 0.25, 0.333)
    """

    right: int
    found: int
    expected: int

    @property
    def precision(self):
        """The share of right ones among the found; 0 where none was found."""
        return self.right / self.found if self.found else 0.0

    @property
    def recall(self):
        """The share of right ones among the expected; 0 where none is expected."""
        return self.right / self.expected if self.expected else 0.0

    @property
    def f1(self):
        """The harmonic mean of precision and recall; 0 where nothing was right."""
        return 2 * self.right / (self.found + self.expected) if self.right else 0.0


def score_row(name, score):
    """Gives the cells of a row of `score_table` for a name and a `LabelScore`."""
    return name, score.precision, score.recall, score.f1, score.expected


def score_table(first, rows):
    """Sets scores in plain text.

    Args:
        first: string, the head of the first column.
        rows: list of tuples: a name; precision, recall and F1, floats; the number expected, an
            int. `None` leaves a place free.

    Returns:
        A string of lines.

    Example:
    >>> print(score_table("tag", [("NOUN", 0.5, 0.25, 0.3333, 4)]))
    tag   precision  recall      F1  number
    NOUN     0.5000  0.2500  0.3333       4
    """
    width = max(len(name) for name in [first, *(row[0] for row in rows)])
    lines = [f"{first:<{width}}  precision  recall      F1  number"]
    for name, *scores, number in rows:
        cells = ["" if score is None else f"{score:.4f}" for score in scores]
        cells = "  ".join(f"{cell:>{size}}" for cell, size in zip(cells, (9, 6, 6), strict=True))
        lines.append(f"{name:<{width}}  {cells}  {number:>6}")
    return "\n".join(lines)
