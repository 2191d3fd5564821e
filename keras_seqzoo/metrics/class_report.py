"""Confusion matrices and scores of classes."""

import collections
import dataclasses

import numpy as np

from keras_seqzoo.checks import list_names
from keras_seqzoo.metrics.label_score import LabelScore, format_table, make_row


@dataclasses.dataclass(frozen=True)
class ClassReport:
    """Scores of a classifier or tagger; `str` returns a table.

    Attributes:
        classes: dict from a label to its `LabelScore`, in the order of the labels.
        accuracy: float, the fraction of correct predictions.
    """

    classes: dict
    accuracy: float

    @property
    def macro(self):
        """The mean precision, recall and F1 over the classes, three floats."""
        scores = self.classes.values()
        table = [(score.precision, score.recall, score.f1) for score in scores]
        return tuple(np.mean(table, axis=0).tolist())

    def __str__(self):
        """Return a table: a row for each class, the macro average and the accuracy."""
        support = sum(score.support for score in self.classes.values())
        rows = [make_row(str(label), score) for label, score in self.classes.items()]
        rows += [("macro average", *self.macro, support)]
        rows += [("accuracy", None, None, self.accuracy, support)]
        return format_table("class", rows)


def class_report(expected, found, labels):
    """Compute precision, recall and F1 of each class; arguments as in `confusion_matrix`.

    Returns:
        A `ClassReport`.

    Example:
    >>> report = class_report(["a", "a", "b", "a"], ["a", "b", "b", "a"], ["a", "b"])
    >>> report.accuracy, report.classes["b"].precision
    (0.75, 0.5)
    >>> print(report)
    class          precision  recall      F1  support
    a                 1.0000  0.6667  0.8000        3
    b                 0.5000  1.0000  0.6667        1
    macro average     0.7500  0.8333  0.7333        4
    accuracy                          0.7500        4
    """
    matrix = confusion_matrix(expected, found, labels)
    counts = zip(matrix.diagonal(), matrix.sum(axis=0), matrix.sum(axis=1), strict=True)
    scores = [LabelScore(*map(int, count)) for count in counts]
    accuracy = float(matrix.trace() / matrix.sum())
    return ClassReport(dict(zip(labels, scores, strict=True)), accuracy)


def confusion_matrix(expected, found, labels):
    """Count the pairs of expected and predicted labels.

    Args:
        expected: list or one-dimensional array of labels, strings or ints.
        found: list or array of the same length, the predicted labels.
        labels: list of all the labels, each once.

    Returns:
        int64 array `(labels, labels)`, a row for each expected label and a column for each
        predicted one.

    Raises:
        ValueError: if `expected` and `found` are empty or differ in length, a label is not in
            `labels`, or `labels` has a label twice.

    Example:
    >>> confusion_matrix(["a", "a", "b"], ["a", "b", "b"], ["a", "b"])
    array([[1, 1],
           [0, 1]])
    """
    if len(expected) != len(found) or not len(expected):
        raise ValueError(
            "`expected` and `found` must have the same, positive length, "
            f"got {len(expected)} and {len(found)}."
        )
    rows = {label: row for row, label in enumerate(labels)}
    if len(rows) != len(labels):
        raise ValueError(
            f"`labels` must have each label once, got {list_names([*map(str, labels)])}."
        )
    for name, values in (("expected", expected), ("found", found)):
        for index, label in enumerate(values):
            if label not in rows:
                raise ValueError(f"`{name}[{index}]` must be one of `labels`, got {label!r}.")
    matrix = np.zeros((len(rows), len(rows)), np.int64)
    for (truth, guess), count in collections.Counter(zip(expected, found, strict=True)).items():
        matrix[rows[truth], rows[guess]] = count
    return matrix
