"""The attention weights of a translation as a heat map."""

from keras_seqzoo.plots.figures import check_figure_path, figure_class, save_figure

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
    save_figure(_draw(translation), path)


def _draw(translation):
    source, target = translation.source_tokens, translation.target_tokens
    size = (2.0 + INCHES * max(len(source), 5), 1.5 + INCHES * max(len(target), 3))
    figure = figure_class()(figsize=size, layout="constrained")
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
