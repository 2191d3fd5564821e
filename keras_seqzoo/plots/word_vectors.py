"""Words and their neighbours in the plane."""

import numpy as np

from keras_seqzoo.checks import check_integer
from keras_seqzoo.plots.figures import check_figure_path, figure_class, save_figure

INCHES = 10.0


def plot_neighbours(vectors, words, path, number=12, seed=0):
    """Draws words with the words nearest to them, by t-SNE (van der Maaten and Hinton, 2008).

    Each word and its neighbours have a colour. Distances are those of the vectors' directions.

    Args:
        vectors: `WordVectors`.
        words: list of strings, the seeds.
        path: string or path of the file; its ending says the format, `.png`, `.pdf` or `.svg`.
        number: int, neighbours of each word.
        seed: int. The same seed gives the same picture.

    Returns:
        float32 `(words, number + 1, 2)`: where each word and its neighbours are.

    Raises:
        KeyError: if a word has no vector.
        ValueError: if there are fewer than two words, or the format is unknown.
        OSError: if the file cannot be written. An old one is then left as it is.
        ImportError: if matplotlib or scikit-learn is not installed.

    Example:
    ```python
    plot_neighbours(model.vectors(), ["king", "film", "awful"], "neighbours.png")
    ```
    """
    path = check_figure_path(path)
    check_integer("number", number, minimum=1)
    if len(words) < 2:
        raise ValueError(f"`words` must be at least two, got {words!r}.")
    groups = [[word, *(near for near, _ in vectors.most_similar(word, number))] for word in words]
    everything = [word for group in groups for word in group]
    directions = vectors.directions(everything)
    tsne = _tsne_class()(
        perplexity=min(30.0, (len(everything) - 1) / 3), init="pca", random_state=seed
    )
    places = tsne.fit_transform(directions).reshape(len(words), -1, 2)
    figure = figure_class()(figsize=(INCHES, INCHES), layout="constrained")
    axes = figure.add_subplot()
    for group, points in zip(groups, places, strict=True):
        dots = axes.scatter(*points.T, s=12, label=group[0])
        for place, word in enumerate(group):
            axes.annotate(
                word,
                points[place],
                color=dots.get_facecolor()[0],
                fontsize=11 if place == 0 else 8,
                fontweight="bold" if place == 0 else "normal",
                parse_math=False,
            )
    axes.set_axis_off()
    save_figure(figure, path)
    return places.astype(np.float32)


def _tsne_class():
    try:
        from sklearn.manifold import TSNE
    except ImportError as error:
        raise ImportError(
            "this figure needs scikit-learn, which is not installed: pip install "
            "'keras-seqzoo[plot]'"
        ) from error
    return TSNE
