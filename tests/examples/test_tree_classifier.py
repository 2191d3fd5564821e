"""The example of a tree classifier."""

import pytest

from examples import tree_classifier
from keras_seqzoo.data import read_conllu


def test_sentences_are_written_with_labels(tmp_path):
    assert tree_classifier.main(["--rows", "5", "--write", str(tmp_path)]) is None
    sentences = read_conllu(tmp_path / "train.conllu")
    assert 0 < len(sentences) <= 5
    assert all(one.comment("label") in ("good", "bad") and 0 in one.heads for one in sentences)


@pytest.mark.slow
def test_the_tree_classifier_sees_what_is_negated(tmp_path):
    path = tmp_path / "trees.keras"
    assert tree_classifier.main(["--epochs", "2", "--save", str(path)]) > 0.95
    assert path.is_file()
