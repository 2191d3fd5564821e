import matplotlib.figure
import numpy as np
import pytest

from keras_seqzoo.models import Translation
from keras_seqzoo.plots import alignment_image, check_figure_path, figures, plot_alignment


def make_translation(alignment=((0.9, 0.1, 0.0), (0.2, 0.7, 0.1))):
    alignment = alignment and np.array(alignment, "float32")
    return Translation("ein $hund", -0.5, -1.0, ["a", "$dog$", "[EOS]"], ["ein", "犬"], alignment)


@pytest.mark.parametrize(
    "suffix, start", [("png", b"\x89PNG"), ("PDF", b"%PDF"), ("svg", b"<?xml")]
)
def test_formats(tmp_path, suffix, start):
    path = tmp_path / f"figure.{suffix}"
    plot_alignment(make_translation(), path)
    assert path.read_bytes().startswith(start)
    assert list(tmp_path.iterdir()) == [path]


def test_drawn_elements(tmp_path, monkeypatch):
    figures = []
    save = matplotlib.figure.Figure.savefig

    def keep(figure, *arguments, **options):
        figures.append(figure)
        save(figure, *arguments, **options)

    monkeypatch.setattr(matplotlib.figure.Figure, "savefig", keep)
    translation = make_translation()
    plot_alignment(translation, str(tmp_path / "figure.png"))
    [axes] = figures[0].axes
    [image] = axes.images
    np.testing.assert_array_equal(image.get_array(), translation.alignment)
    assert [label.get_text() for label in axes.get_xticklabels()] == translation.source_tokens
    assert [label.get_text() for label in axes.get_yticklabels()] == translation.target_tokens


def test_an_old_file_survives_a_failure(tmp_path, monkeypatch):
    path = tmp_path / "figure.png"
    path.write_bytes(b"old")

    def fail(figure, file, **options):
        file.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(matplotlib.figure.Figure, "savefig", fail)
    with pytest.raises(OSError, match="no space left in"):
        plot_alignment(make_translation(), path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_pixels():
    strong, weak = (alignment_image(make_translation(((w, 0.0, 0.0),) * 2)) for w in (1.0, 0.0))
    assert strong.dtype == np.uint8 and strong.shape == weak.shape and strong.shape[2] == 3
    assert strong.sum() < weak.sum()  # dark where the weight is high


def test_pixels_without_matplotlib(monkeypatch):
    def missing():
        raise ImportError("figures require matplotlib")

    monkeypatch.setattr(figures, "figure_class", missing)
    found = alignment_image(make_translation(((1.0, 0.0, 0.2), (0.0, 0.5, 0.5))))
    assert found.shape == (32, 48, 3)
    np.testing.assert_array_equal(found[8::16, 8::16, 0], [[0, 255, 204], [255, 128, 128]])
    with pytest.raises(ValueError, match="must have an alignment, got none"):
        alignment_image(make_translation(None))


def test_without_an_alignment(tmp_path):
    with pytest.raises(ValueError, match="alignments=True"):
        plot_alignment(make_translation(None), tmp_path / "figure.png")


def test_paths_that_cannot_be(tmp_path):
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(ValueError, match="must end in"):
        check_figure_path(tmp_path / "figure.xyz")
    with pytest.raises(IsADirectoryError, match="folder.png"):
        check_figure_path(tmp_path / "folder.png")
    with pytest.raises(FileNotFoundError, match="missing"):
        check_figure_path(tmp_path / "missing" / "figure.png")
    assert check_figure_path(tmp_path / "figure.png") == tmp_path / "figure.png"


def test_without_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match="keras-seqzoo\\[plot\\]"):
        check_figure_path(tmp_path / "figure.png")
