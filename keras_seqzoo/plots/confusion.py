"""A confusion matrix as a heat map."""

import numpy as np

from keras_seqzoo.plots.figures import check_figure_path, draw_heat_map, save_figure

INCHES = 0.45  # of a cell


def plot_confusion(matrix, labels, path):
    """Plot a confusion matrix as a heat map.

    Rows are expected labels, columns predicted labels. Each cell shows its count, unless it is 0,
    and is darker for a larger fraction of its row.

    Args:
        matrix: int array `(labels, labels)`, see `confusion_matrix`.
        labels: list of the labels, in the order of the matrix.
        path: string or path of the file; its ending is the format, such as `.png`, `.pdf` or
            `.svg`.

    Raises:
        ValueError: if the matrix does not have a row and a column of counts for each label, or the
            format is unknown.
        OSError: if the file cannot be written. An existing file then stays unchanged.
        ImportError: if matplotlib is not installed.

    Example:
    ```python
    plot_confusion(confusion_matrix(expected, found, labels), labels, "confusion.png")
    ```
    """
    path = check_figure_path(path)
    matrix, size = np.asarray(matrix), len(labels)
    if not size or matrix.shape != (size, size):
        raise ValueError(
            f"`matrix` must have a row and a column for each of the {size} `labels`, at least one, "
            f"got the shape {matrix.shape}."
        )
    if not np.issubdtype(matrix.dtype, np.integer) or matrix.min() < 0:
        raise ValueError(f"`matrix` must be counts, ints from 0, got {matrix.tolist()}.")
    save_figure(_draw(matrix, [str(label) for label in labels]), path)


def _draw(matrix, labels):
    fractions = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    inches = 1.5 + INCHES * max(len(labels), 4)
    figure, axes = draw_heat_map(fractions, labels, labels, "expected", "found", (inches, inches))
    axes.set_aspect("equal")
    for row, column in np.argwhere(matrix):
        color = "white" if fractions[row, column] > 0.5 else "black"
        count = str(matrix[row, column])
        axes.text(column, row, count, ha="center", va="center", color=color, fontsize=7)
    return figure
