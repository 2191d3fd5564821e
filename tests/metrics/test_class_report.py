import warnings

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st

from keras_seqzoo.metrics.class_report import class_report, confusion_matrix
from keras_seqzoo.metrics.label_score import LabelScore

LABELS = ["NOUN", "VERB", "X"]
pairs = st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1)


def test_by_hand():
    expected, found = ["VERB", "NOUN", "NOUN", "X"], ["NOUN", "NOUN", "VERB", "X"]
    matrix = confusion_matrix(expected, found, LABELS)
    assert matrix.tolist() == [[1, 1, 0], [1, 0, 0], [0, 0, 1]]
    report = class_report(expected, found, LABELS)
    assert list(report.classes) == LABELS
    assert report.classes["NOUN"] == LabelScore(1, 2, 2)
    assert report.classes["VERB"] == LabelScore(0, 1, 1)
    assert report.accuracy == 0.5
    assert report.macro == pytest.approx((0.5, 0.5, 0.5))
    assert str(report) == (
        "class          precision  recall      F1  support\n"
        "NOUN              0.5000  0.5000  0.5000        2\n"
        "VERB              0.0000  0.0000  0.0000        1\n"
        "X                 1.0000  1.0000  1.0000        1\n"
        "macro average     0.5000  0.5000  0.5000        4\n"
        "accuracy                          0.5000        4"
    )


@given(pairs)
def test_scikit_learn_agrees(answers):
    expected, found = [one for one, _ in answers], [other for _, other in answers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a single label
        matrix = sklearn.metrics.confusion_matrix(expected, found, labels=LABELS)
    truth = sklearn.metrics.precision_recall_fscore_support(
        expected, found, labels=LABELS, zero_division=0
    )
    np.testing.assert_array_equal(confusion_matrix(expected, found, LABELS), matrix)
    report = class_report(expected, found, LABELS)
    for score, *numbers in zip(report.classes.values(), *truth, strict=True):
        assert (score.precision, score.recall, score.f1, score.support) == pytest.approx(numbers)
    assert report.macro == pytest.approx([numbers.mean() for numbers in truth[:3]])
    assert report.accuracy == pytest.approx(sklearn.metrics.accuracy_score(expected, found))


def test_arrays_of_ids():
    expected, found = np.array([0, 1, 1]), np.array([0, 0, 1], "int32")
    assert confusion_matrix(expected, found, range(2)).tolist() == [[1, 0], [1, 1]]
    assert confusion_matrix(expected, found, range(2)).dtype == np.int64
    report = class_report(expected, found, [0, 1])
    assert report.classes[1] == LabelScore(1, 1, 2) and "\n1 " in str(report)


@pytest.mark.parametrize(
    "expected, found, labels, problem",
    [
        ([], [], LABELS, "same, positive length, got 0 and 0"),
        (["X"], ["X", "X"], LABELS, "got 1 and 2"),
        (["X", "Y"], ["X", "X"], LABELS, r"`expected\[1\]` must be one of `labels`, got 'Y'"),
        (["X"], [2], LABELS, r"`found\[0\]` must be one of `labels`, got 2"),
        (["X"], ["X"], ["X", "X"], "each label once"),
    ],
)
def test_errors(expected, found, labels, problem):
    for function in (confusion_matrix, class_report):
        with pytest.raises(ValueError, match=problem):
            function(expected, found, labels)
