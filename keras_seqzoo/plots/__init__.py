"""Figures. They need matplotlib, the extra `plot`."""

from keras_seqzoo.plots.alignment import check_figure_path, plot_alignment

__all__ = ["check_figure_path", "plot_alignment"]
