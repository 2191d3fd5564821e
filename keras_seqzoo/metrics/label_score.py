"""Precision, recall and F1 of a label, and tables of them."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class LabelScore:
    """Counts and scores of a label: a class, or a type of entities.

    Attributes:
        true_positives: int, the number of correct predictions.
        predicted: int, the number of predictions.
        support: int, the number of occurrences.

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
        """The fraction of predictions that are correct; 0 without predictions."""
        return self.true_positives / self.predicted if self.predicted else 0.0

    @property
    def recall(self):
        """The fraction of occurrences that are predicted; 0 without occurrences."""
        return self.true_positives / self.support if self.support else 0.0

    @property
    def f1(self):
        """The harmonic mean of precision and recall; 0 without correct predictions."""
        if not self.true_positives:
            return 0.0
        return 2 * self.true_positives / (self.predicted + self.support)


def make_row(name, score):
    """Return a row of `format_table` for a name and a `LabelScore`."""
    return name, score.precision, score.recall, score.f1, score.support


def format_table(header, rows):
    """Format scores as a plain-text table.

    Args:
        header: string, the header of the first column.
        rows: list of tuples: a name; precision, recall and F1, floats or `None` for an empty cell;
            the support, an int.

    Returns:
        A string of lines.

    Example:
    >>> print(format_table("tag", [("NOUN", 0.5, 0.25, 0.3333, 4)]))
    tag   precision  recall      F1  support
    NOUN     0.5000  0.2500  0.3333        4
    """
    width = max(len(name) for name in [header, *(row[0] for row in rows)])
    lines = [f"{header:<{width}}  precision  recall      F1  support"]
    for name, *scores, support in rows:
        cells = ["" if score is None else f"{score:.4f}" for score in scores]
        cells = "  ".join(f"{cell:>{size}}" for cell, size in zip(cells, (9, 6, 6), strict=True))
        lines.append(f"{name:<{width}}  {cells}  {support:>7}")
    return "\n".join(lines)
