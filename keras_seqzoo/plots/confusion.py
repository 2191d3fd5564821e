"""A confusion matrix as a heat map."""

import numpy as np

from keras_seqzoo.plots.figures import check_figure_path, figure_class, save_figure

INCHES = 0.45  # of a cell


def plot_confusion(matrix, labels, path):
    """Draws which labels were taken for which.

    Rows are what is expected, columns what was found. A cell has its count, where it is not 0, and
    is the darker the greater its share of the row.

    Args:
        matrix: int array `(labels, labels)`, see `confusion_matrix`.
        labels: list of the labels, in the order of the matrix.
        path: string or path of the file; its ending says the format, `.png`, `.pdf` or `.svg`.

    Raises:
        ValueError: if the matrix has not a row and a column of counts for each label, or the
            format is unknown.
        OSError: if the file cannot be written. An old one is then left as it is.
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
            f"`matrix` must have a row and a column for each of the {size} `labels`, and one at "
            f"least, got the shape {matrix.shape}."
        )
    if not np.issubdtype(matrix.dtype, np.integer) or matrix.min() < 0:
        raise ValueError(f"`matrix` must have counts, ints from 0, got {matrix.tolist()}.")
    save_figure(_draw(matrix, [str(label) for label in labels]), path)


def _draw(matrix, labels):
    shares = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    inches = 1.5 + INCHES * max(len(labels), 4)
    figure = figure_class()(figsize=(inches, inches), layout="constrained")
    axes = figure.add_subplot()
    axes.imshow(shares, cmap="Greys", vmin=0.0, vmax=1.0)
    for row, column in np.argwhere(matrix):
        color = "white" if shares[row, column] > 0.5 else "black"
        count = str(matrix[row, column])
        axes.text(column, row, count, ha="center", va="center", color=color, fontsize=7)
    # Labels are no formulas, whatever dollar signs are in them.
    axes.set_xticks(range(len(labels)), labels, rotation=90, parse_math=False)
    axes.set_yticks(range(len(labels)), labels, parse_math=False)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.set_xlabel("found")
    axes.xaxis.set_label_position("top")
    axes.set_ylabel("expected")
    return figure
