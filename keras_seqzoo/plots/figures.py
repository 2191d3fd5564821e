"""Making figures with matplotlib, and writing them to files."""

import warnings
from pathlib import Path

from keras_seqzoo.data.output_files import check_output_path, replacing


def check_figure_path(path):
    """Makes sure that a figure can be written to a path, before the work of making it.

    Args:
        path: string or path.

    Returns:
        The path, a `pathlib.Path`.

    Raises:
        ValueError: if the ending is no format of matplotlib's.
        OSError: if no file can be put there.
        ImportError: if matplotlib is not installed.
    """
    path = Path(path)
    formats = figure_class()().canvas.get_supported_filetypes()
    if path.suffix.lower().lstrip(".") not in formats:
        raise ValueError(
            f"a figure's file name must end in one of .{', .'.join(sorted(formats))}, got {path}"
        )
    return check_output_path(path)


def figure_class():
    """Gives matplotlib's `Figure`; raises `ImportError` where there is no matplotlib."""
    # Not pyplot, which needs to know of a screen or that there is none.
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "figures need matplotlib, which is not installed: pip install 'keras-seqzoo[plot]'"
        ) from error
    return Figure


def save_figure(figure, path):
    """Writes a figure in the format of the path's ending; an old file stays if that fails."""
    with replacing(path) as draft, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure.savefig(draft, dpi=150)
