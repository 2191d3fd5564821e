"""The attention weights of a translation as a heat map."""

import warnings
from pathlib import Path

from keras_seqzoo.data.output_files import check_output_path, replacing

INCHES = 0.32  # of a cell


def plot_alignment(translation, path):
    """Draws what a translation attended to, a row for each target token.

    The figure is Figure 3 of Bahdanau et al. (2015) with the axes swapped: source tokens from left
    to right, target tokens from top to bottom, dark where the weight is high.

    Args:
        translation: a `Translation` with an `alignment`, see `RecurrentSeq2SeqLM.translate`.
        path: string or path of the file; its ending says the format, `.png`, `.pdf` or `.svg`.

    Raises:
        ValueError: if the translation has no alignment, or the format is unknown.
        OSError: if the file cannot be written. An old one is then left as it is.
        ImportError: if matplotlib is not installed.

    Example:
    ```python
    [[best]] = model.translate(["Two dogs run."], alignments=True)
    plot_alignment(best, "attention.png")
    ```
    """
    path = check_figure_path(path)
    if translation.alignment is None:
        raise ValueError("`translation` has no alignment: translate with `alignments=True`.")
    figure = _draw(translation)
    with replacing(path) as draft, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure.savefig(draft, dpi=150)


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
    figure_class = _figure_class()
    path = Path(path)
    formats = figure_class().canvas.get_supported_filetypes()
    if path.suffix.lower().lstrip(".") not in formats:
        raise ValueError(
            f"a figure's file name must end in one of .{', .'.join(sorted(formats))}, got {path}"
        )
    return check_output_path(path)


def _draw(translation):
    source, target = translation.source_tokens, translation.target_tokens
    size = (2.0 + INCHES * max(len(source), 5), 1.5 + INCHES * max(len(target), 3))
    # Not by pyplot, which needs to know of a screen or that there is none.
    figure = _figure_class()(figsize=size, layout="constrained")
    axes = figure.add_subplot()
    axes.imshow(translation.alignment, cmap="Greys", vmin=0.0, vmax=1.0, aspect="auto")
    # Tokens are no formulas, whatever dollar signs are in them.
    axes.set_xticks(range(len(source)), source, rotation=90, parse_math=False)
    axes.set_yticks(range(len(target)), target, parse_math=False)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.set_xlabel("source")
    axes.xaxis.set_label_position("top")
    axes.set_ylabel("translation")
    return figure


def _figure_class():
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "figures need matplotlib, which is not installed: pip install 'keras-seqzoo[plot]'"
        ) from error
    return Figure
