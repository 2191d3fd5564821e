import numpy as np
import pytest

from keras_seqzoo.models import Translation, word_alignment
from tests.models.small import SENTENCES, shared_model


def translation(source, target, weights):
    return Translation("", 0.0, 0.0, source, target, np.float32(weights))


def test_weights_of_words():
    weights = [
        [0.1, 0.2, 0.3, 0.4],
        [0.5, 0.1, 0.1, 0.3],
        [0.0, 0.0, 0.9, 0.1],
        [0.0, 0.0, 0.0, 1.0],
    ]
    found = word_alignment(
        translation(["▁wi", "de", "▁sea", "[EOS]"], ["▁gran", "de", "▁mer", "[EOS]"], weights)
    )
    assert (found.source_words, found.target_words) == (["wide", "sea"], ["grande", "mer"])
    np.testing.assert_allclose(found.weights, [[0.45, 0.2], [0.0, 0.9]], rtol=1e-6)
    assert found.links() == [(0, 0), (1, 1)] and found.pharaoh() == "0-0 1-1"


def test_bytes_are_put_together():
    found = word_alignment(
        translation(["▁", "<0xE6>", "<0x9D>", "<0xB1>", "[EOS]"], ["x", "[EOS]"], np.eye(2, 5))
    )
    assert (found.source_words, found.target_words) == (["東"], ["x"])


def test_nothing_to_align():
    found = word_alignment(translation(["[EOS]"], ["[EOS]"], [[1.0]]))
    assert found.links() == [] and found.pharaoh() == "" and found.weights.shape == (0, 0)
    found = word_alignment(translation(["[EOS]"], ["▁a"], [[1.0]]))
    assert found.links() == []
    with pytest.raises(ValueError, match="`translation` needs an alignment"):
        word_alignment(Translation("", 0.0, 0.0, [], [], None))


def test_of_a_model():
    for text, [best] in zip(
        SENTENCES[:4], shared_model().translate(SENTENCES[:4], alignments=True), strict=True
    ):
        found = word_alignment(best)
        assert found.weights.shape == (len(found.target_words), len(found.source_words))
        assert (found.weights >= 0).all() and (found.weights.sum(axis=1) <= 1 + 1e-5).all()
        assert found.source_words == text.split()
