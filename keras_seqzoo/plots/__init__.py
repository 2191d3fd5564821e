"""Figures. They require matplotlib and scikit-learn, the extra `plot`."""

from keras_seqzoo.plots.alignment import alignment_image, plot_alignment
from keras_seqzoo.plots.confusion import plot_confusion
from keras_seqzoo.plots.figures import check_figure_path
from keras_seqzoo.plots.word_vectors import plot_neighbours

__all__ = [
    "alignment_image",
    "check_figure_path",
    "plot_alignment",
    "plot_confusion",
    "plot_neighbours",
]
