import sys

import numpy as np
import pytest

from keras_seqzoo.models.word_vectors import WordVectors
from keras_seqzoo.plots import plot_neighbours


@pytest.fixture(scope="module")
def vectors():
    generator = np.random.default_rng(0)
    centres = 10 * generator.normal(size=(3, 8))
    rows = np.repeat(centres, 6, axis=0) + generator.normal(size=(18, 8))
    return WordVectors([f"{kind}{number}" for kind in "ab$" for number in range(6)], rows)


def test_neighbours_are_near(vectors, tmp_path):
    path = tmp_path / "figure.svg"
    places = plot_neighbours(vectors, ["a0", "b0", "$0"], path, number=5)
    assert places.shape == (3, 6, 2) and np.isfinite(places).all()
    middles = places.mean(axis=1)
    spread = np.linalg.norm(places - middles[:, None], axis=2).max()
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert np.linalg.norm(middles[one] - middles[other]) > spread
    assert path.read_bytes().startswith(b"<?xml")
    again = plot_neighbours(vectors, ["a0", "b0", "$0"], path, number=5)
    np.testing.assert_array_equal(again, places)


def test_bad_arguments(vectors, tmp_path, monkeypatch):
    with pytest.raises(KeyError, match="'c0'"):
        plot_neighbours(vectors, ["a0", "c0"], tmp_path / "figure.png")
    with pytest.raises(ValueError, match="must have at least two"):
        plot_neighbours(vectors, ["a0"], tmp_path / "figure.png")
    with pytest.raises(ValueError, match="`path` of a figure must end in"):
        plot_neighbours(vectors, ["a0", "b0"], tmp_path / "figure.xyz")
    monkeypatch.setitem(sys.modules, "sklearn.manifold", None)
    with pytest.raises(ImportError, match=r"scikit-learn.*keras-seqzoo\[plot\]"):
        plot_neighbours(vectors, ["a0", "b0"], tmp_path / "figure.png", number=2)
    assert not list(tmp_path.iterdir())
