import numpy as np

from keras_seqzoo.layers.crf.iob2 import iob2_transitions, is_iob2


def test_iob2():
    labels = ["O", "B-a", "I-a", "B-b", "I-b"]
    allowed = iob2_transitions(labels)
    forbidden = {
        (labels + ["start"])[row] + " " + labels[column]
        for row, column in zip(*np.nonzero(~allowed[:, :-1]), strict=True)
    }
    assert forbidden == {
        *("O I-a", "O I-b", "start I-a", "start I-b"),
        *("B-a I-b", "I-a I-b", "B-b I-a", "I-b I-a"),
    }
    assert allowed[:, -1].all()


def test_is_iob2():
    assert is_iob2(["O", "B-a", "I-a", "B-b"])
    assert not is_iob2(["O", "I-a"]) and not is_iob2(["O", "B-a", "I-b"])
    assert not is_iob2(["NOUN", "VERB"]) and not is_iob2([])
