"""The attention weights of a translation as a heat map."""

import numpy as np

from keras_seqzoo.plots.figures import (
    check_figure_path,
    draw_heat_map,
    figure_pixels,
    save_figure,
)

INCHES = 0.32  # of a cell
PIXELS = 16  # of a cell without labels


def plot_alignment(translation, path):
    """Plot the attention weights of a translation, with a row for each target token.

    The plot is like Figure 3 of Bahdanau et al. (2015) with the axes swapped: source tokens from
    left to right, target tokens from top to bottom, dark where the weight is high.

    Args:
        translation: a `Translation` with an `alignment`, see `RecurrentSeq2SeqLM.translate`.
        path: string or path of the file; its ending is the format, such as `.png`, `.pdf` or
            `.svg`.

    Raises:
        ValueError: if the translation has no alignment, or the format is unknown.
        OSError: if the file cannot be written. An existing file then stays unchanged.
        ImportError: if matplotlib is not installed.

    Example:
    ```python
    [[best]] = model.translate(["Two dogs run."], alignments=True)
    plot_alignment(best, "attention.png")
    ```
    """
    path = check_figure_path(path)
    save_figure(_draw(translation), path)


def alignment_image(translation):
    """Draw the attention weights of a translation as pixels.

    The image is that of `plot_alignment`, or only its heat map without labels if matplotlib is not
    installed.

    Args:
        translation: a `Translation` with an `alignment`.

    Returns:
        uint8 array `(height, width, 3)`.

    Raises:
        ValueError: if the translation has no alignment.

    Example:
    ```python
    [[best]] = model.translate(["Two dogs run."], alignments=True)
    alignment_image(best).shape
    ```
    """
    try:
        return figure_pixels(_draw(translation))
    except ImportError:
        shades = np.round(255 * (1 - np.clip(translation.alignment, 0, 1))).astype(np.uint8)
        cells = np.kron(shades, np.ones((PIXELS, PIXELS), np.uint8))
        return np.repeat(cells[..., np.newaxis], 3, axis=-1)


def _draw(translation):
    if translation.alignment is None:
        raise ValueError(
            "`translation` must have an alignment, got none: translate with `alignments=True`."
        )
    source, target = translation.source_tokens, translation.target_tokens
    size = (2.0 + INCHES * max(len(source), 5), 1.5 + INCHES * max(len(target), 3))
    figure, _ = draw_heat_map(translation.alignment, target, source, "translation", "source", size)
    return figure
