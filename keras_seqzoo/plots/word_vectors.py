"""Scatter plot of words and their nearest neighbours."""

import numpy as np

from keras_seqzoo.checks import check_integer
from keras_seqzoo.plots.figures import check_figure_path, figure_class, save_figure

INCHES = 10.0


def plot_neighbours(vectors, words, path, number=12, seed=0):
    """Plot words and their nearest neighbours by t-SNE (van der Maaten and Hinton, 2008).

    Each word and its neighbours share a colour. Vectors are normalized before the projection.

    Args:
        vectors: `WordVectors`.
        words: list of strings.
        path: string or path of the file; its ending is the format, such as `.png`, `.pdf` or
            `.svg`.
        number: int, the number of neighbours of each word.
        seed: int, the seed of t-SNE.

    Returns:
        float32 array `(words, number + 1, 2)`, the coordinates of each word and its neighbours.

    Raises:
        KeyError: if a word has no vector.
        ValueError: if there are fewer than two words, or the format is unknown.
        OSError: if the file cannot be written. An existing file then stays unchanged.
        ImportError: if matplotlib or scikit-learn is not installed.

    Example:
    ```python
    plot_neighbours(model.vectors(), ["king", "film", "awful"], "neighbours.png")
    ```
    """
    path = check_figure_path(path)
    check_integer("number", number, minimum=1)
    if len(words) < 2:
        raise ValueError(f"`words` must have at least two words, got {words!r}.")
    groups = [[word, *(near for near, _ in vectors.most_similar(word, number))] for word in words]
    all_words = [word for group in groups for word in group]
    directions = vectors.directions(all_words)
    tsne = _tsne_class()(
        perplexity=min(30.0, (len(all_words) - 1) / 3), init="pca", random_state=seed
    )
    points = tsne.fit_transform(directions).reshape(len(words), -1, 2)
    figure = figure_class()(figsize=(INCHES, INCHES), layout="constrained")
    axes = figure.add_subplot()
    for group, group_points in zip(groups, points, strict=True):
        dots = axes.scatter(*group_points.T, s=12, label=group[0])
        for index, word in enumerate(group):
            axes.annotate(
                word,
                group_points[index],
                color=dots.get_facecolor()[0],
                fontsize=11 if index == 0 else 8,
                fontweight="bold" if index == 0 else "normal",
                parse_math=False,
            )
    axes.set_axis_off()
    save_figure(figure, path)
    return points.astype(np.float32)


def _tsne_class():
    try:
        from sklearn.manifold import TSNE
    except ImportError as error:
        raise ImportError(
            "this figure requires scikit-learn: pip install 'keras-seqzoo[plot]'"
        ) from error
    return TSNE
