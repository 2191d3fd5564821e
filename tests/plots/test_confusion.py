import matplotlib.figure
import numpy as np
import pytest

from keras_seqzoo.plots.confusion import plot_confusion

MATRIX = np.array([[8, 2, 0], [0, 5, 0], [0, 0, 0]])
LABELS = ["NOUN", "$a$", "犬"]


@pytest.mark.parametrize("suffix, start", [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_formats(tmp_path, suffix, start):
    path = tmp_path / f"figure.{suffix}"
    plot_confusion(MATRIX.tolist(), LABELS, path)
    assert path.read_bytes().startswith(start)
    assert list(tmp_path.iterdir()) == [path]


def test_drawn_elements(tmp_path, monkeypatch):
    figures = []
    monkeypatch.setattr(
        matplotlib.figure.Figure,
        "savefig",
        lambda figure, path, **options: (figures.append(figure), path.write_bytes(b"")),
    )
    plot_confusion(MATRIX, LABELS, str(tmp_path / "figure.png"))
    [axes] = figures[0].axes
    [image] = axes.images
    shares = [[0.8, 0.2, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    np.testing.assert_allclose(image.get_array(), shares)
    counts = {text.get_position(): text.get_text() for text in axes.texts}
    assert counts == {(0, 0): "8", (1, 0): "2", (1, 1): "5"}
    assert [label.get_text() for label in axes.get_xticklabels()] == LABELS
    assert [label.get_text() for label in axes.get_yticklabels()] == LABELS
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("found", "expected")


@pytest.mark.parametrize(
    "matrix, labels, problem",
    [
        (MATRIX, LABELS[:2], r"each of the 2 `labels`.*got the shape \(3, 3\)"),
        (MATRIX[:2], LABELS, r"got the shape \(2, 3\)"),
        (np.zeros((0, 0), int), [], "at least one"),
        (MATRIX / 2, LABELS, "ints from 0"),
        (-MATRIX, LABELS, "ints from 0"),
    ],
)
def test_matrices_that_do_not_fit(tmp_path, matrix, labels, problem):
    with pytest.raises(ValueError, match=problem):
        plot_confusion(matrix, labels, tmp_path / "figure.png")
    assert list(tmp_path.iterdir()) == []


def test_paths_that_cannot_be(tmp_path):
    with pytest.raises(ValueError, match="must end in"):
        plot_confusion(MATRIX, LABELS, tmp_path / "figure.xyz")
    with pytest.raises(FileNotFoundError, match="missing"):
        plot_confusion(MATRIX, LABELS, tmp_path / "missing" / "figure.png")


def test_without_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match="keras-seqzoo\\[plot\\]"):
        plot_confusion(MATRIX, LABELS, tmp_path / "figure.png")
