import pytest
import seqeval.metrics
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics.sequence_labeling import get_entities

from keras_seqzoo.data import read_columns
from keras_seqzoo.metrics.entity_scores import entities, entity_scores
from keras_seqzoo.metrics.label_score import LabelScore

TAGS = ["O", "B-a", "I-a", "B-b-c", "I-b-c"]
pairs = st.lists(st.tuples(st.sampled_from(TAGS), st.sampled_from(TAGS)), min_size=1, max_size=8)


@pytest.mark.parametrize(
    "tags, found",
    [
        ("", []),
        ("O O", []),
        ("B-a I-a O B-a", [("a", 0, 2), ("a", 3, 4)]),
        ("B-a B-a I-a", [("a", 0, 1), ("a", 1, 3)]),
        ("I-a I-a O I-b", [("a", 0, 2), ("b", 3, 4)]),
        ("B-a I-b I-b B-b", [("a", 0, 1), ("b", 1, 3), ("b", 3, 4)]),
        ("B-creative-work I-creative-work", [("creative-work", 0, 2)]),
    ],
)
def test_entities(tags, found):
    assert entities(tags.split()) == found


def test_scores():
    expected = [["B-a", "I-a", "O", "B-b"], ["B-a", "O"]]
    found = [["B-a", "O", "O", "B-b"], ["B-a", "B-c"]]
    scores = entity_scores(expected, found)
    assert scores.overall == LabelScore(2, 4, 3)
    assert scores.types == {
        "a": LabelScore(1, 2, 2),
        "b": LabelScore(1, 1, 1),
        "c": LabelScore(0, 1, 0),
    }
    assert str(scores) == (
        "entity  precision  recall      F1  support\n"
        "a          0.5000  0.5000  0.5000        2\n"
        "b          1.0000  1.0000  1.0000        1\n"
        "c          0.0000  0.0000  0.0000        0\n"
        "all        0.5000  0.6667  0.5714        3"
    )


def test_without_entities():
    scores = entity_scores([["O"]], [["O"]])
    assert scores.overall == LabelScore(0, 0, 0) and scores.types == {}
    assert (scores.overall.precision, scores.overall.recall, scores.overall.f1) == (0, 0, 0)
    assert str(scores).startswith("entity  precision")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # seqeval's, where there is no entity
@given(st.lists(pairs, min_size=1, max_size=4))
def test_seqeval_agrees(sentences):
    expected = [[tag for tag, _ in sentence] for sentence in sentences]
    found = [[tag for _, tag in sentence] for sentence in sentences]
    for tags in expected:
        spans = [(kind, begin, end + 1) for kind, begin, end in get_entities(tags)]
        assert entities(tags) == spans
    check(expected, found)


def test_wnut_17(data_directory):
    _, expected = read_columns(data_directory / "ner" / "wnut17" / "wnut17.dev.conll.gz")
    # Some beginnings are missed, some inner words too.
    found = [
        ["O" if (n + len(tag)) % 3 == 0 else tag for n, tag in enumerate(tags)] for tags in expected
    ]
    assert entity_scores(expected, expected).overall.f1 == 1.0
    assert entity_scores(expected, expected).overall.support == 836
    check(expected, found)


def check(expected, found):
    scores = entity_scores(expected, found)
    report = seqeval.metrics.classification_report(
        expected, found, output_dict=True, zero_division=0
    )
    assert set(report) - {"micro avg", "macro avg", "weighted avg"} == set(scores.types)
    for name, score in [("micro avg", scores.overall), *scores.types.items()]:
        assert score.precision == pytest.approx(report[name]["precision"])
        assert score.recall == pytest.approx(report[name]["recall"])
        assert score.f1 == pytest.approx(report[name]["f1-score"])
        assert score.support == report[name]["support"]


@pytest.mark.parametrize(
    "expected, found, problem",
    [
        ([], [], "positive number of sentences, got 0 and 0"),
        ([["O"]], [], "number of sentences, got 1 and 0"),
        ([["O"], ["O", "O"]], [["O"], ["O"]], "sentence 2: .*got 2 and 1"),
        ([["O"], ["X-a"]], [["O"], ["O"]], "sentence 2: .*O, B-type or I-type.*got 'X-a'"),
        ([["O"]], [["B-"]], "`found`, sentence 1: .*got 'B-'"),
        ([["O"]], [["I"]], "sentence 1: .*got 'I'"),
        ([["O"]], [[""]], "sentence 1: .*got ''"),
    ],
)
def test_errors(expected, found, problem):
    with pytest.raises(ValueError, match=problem):
        entity_scores(expected, found)
