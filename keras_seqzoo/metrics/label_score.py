"""Precision, recall and F1 of one kind of thing, and tables of them."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class LabelScore:
    """How well one kind of thing was found: the words of a class, the entities of a type.

    Attributes:
        true_positives: int, how many were found rightly.
        predicted: int, how many were found.
        support: int, how many there are.

    Example:
    >>> score = LabelScore(true_positives=1, predicted=2, support=4)
    >>> score.precision, score.recall, round(score.f1, 3)
    (0.5, 0.25, 0.333)
    """

    true_positives: int
    predicted: int
    support: int

    @property
    def precision(self):
        """The share of right ones among the predicted; 0 where none was predicted."""
        return self.true_positives / self.predicted if self.predicted else 0.0

    @property
    def recall(self):
        """The share that was found of those there are; 0 where there is none."""
        return self.true_positives / self.support if self.support else 0.0

    @property
    def f1(self):
        """The harmonic mean of precision and recall; 0 where nothing was right."""
        if not self.true_positives:
            return 0.0
        return 2 * self.true_positives / (self.predicted + self.support)


def score_row(name, score):
    """Gives the cells of a row of `score_table` for a name and a `LabelScore`."""
    return name, score.precision, score.recall, score.f1, score.support


def score_table(first, rows):
    """Sets scores in plain text.

    Args:
        first: string, the head of the first column.
        rows: list of tuples: a name; precision, recall and F1, floats; the support, an int. `None`
            leaves a place free.

    Returns:
        A string of lines.

    Example:
    >>> print(score_table("tag", [("NOUN", 0.5, 0.25, 0.3333, 4)]))
    tag   precision  recall      F1  support
    NOUN     0.5000  0.2500  0.3333        4
    """
    width = max(len(name) for name in [first, *(row[0] for row in rows)])
    lines = [f"{first:<{width}}  precision  recall      F1  support"]
    for name, *scores, support in rows:
        cells = ["" if score is None else f"{score:.4f}" for score in scores]
        cells = "  ".join(f"{cell:>{size}}" for cell, size in zip(cells, (9, 6, 6), strict=True))
        lines.append(f"{name:<{width}}  {cells}  {support:>7}")
    return "\n".join(lines)
