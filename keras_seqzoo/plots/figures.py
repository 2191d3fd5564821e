"""Figures with matplotlib: heat maps, and their files."""

import contextlib
import warnings
from pathlib import Path

import numpy as np

from keras_seqzoo.data.output_files import check_output_path, replacing


def check_figure_path(path, argument="path"):
    """Check that a figure can be written to a path, and return it as a `pathlib.Path`.

    Raises:
        ValueError: if the ending is not a format of matplotlib.
        OSError: if the file cannot be written.
        ImportError: if matplotlib is not installed.
    """
    path = Path(path)
    formats = figure_class()().canvas.get_supported_filetypes()
    if path.suffix.lower().lstrip(".") not in formats:
        raise ValueError(
            f"`{argument}` of a figure must end in one of .{', .'.join(sorted(formats))}, "
            f"got {path}"
        )
    return check_output_path(path, argument)


def figure_class():
    """Return matplotlib's `Figure`; raise `ImportError` if matplotlib is not installed."""
    # Not pyplot, which depends on a display.
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("figures require matplotlib: pip install 'keras-seqzoo[plot]'") from error
    return Figure


def draw_heat_map(values, rows, columns, row_title, column_title, size):
    """Draw a heat map of values from 0 to 1, dark for high values; return figure and axes.

    `rows` and `columns` are lists of labels; `size` is the width and height in inches.
    """
    figure = figure_class()(figsize=size, layout="constrained")
    axes = figure.add_subplot()
    axes.imshow(values, cmap="Greys", vmin=0.0, vmax=1.0, aspect="auto")
    # Dollar signs in labels are not formulas.
    axes.set_xticks(range(len(columns)), columns, rotation=90, parse_math=False)
    axes.set_yticks(range(len(rows)), rows, parse_math=False)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.set_xlabel(column_title)
    axes.xaxis.set_label_position("top")
    axes.set_ylabel(row_title)
    return figure, axes


def figure_pixels(figure):
    """Draw a figure; return a uint8 array `(height, width, 3)`."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    with _any_glyphs():
        canvas.draw()
    return np.array(canvas.buffer_rgba())[..., :3]


def save_figure(figure, path):
    """Write a figure in the format of the path's ending; see `replacing`."""
    with replacing(path) as draft, _any_glyphs():
        figure.savefig(draft, dpi=150)


@contextlib.contextmanager
def _any_glyphs():
    """Draw a box for a character that the font lacks, without a warning."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        yield
