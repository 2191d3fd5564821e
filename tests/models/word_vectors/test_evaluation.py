import math
import tracemalloc

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from keras_seqzoo.models.word_vectors import (
    WordVectors,
    evaluate_analogies,
    evaluate_similarities,
    evaluation,
)
from keras_seqzoo.models.word_vectors.evaluation import _spearman

WORDS = ["man", "king", "woman", "queen", "boy", "prince", "girl", "princess"]


@pytest.fixture
def vectors():
    generator = np.random.default_rng(0)
    sex, royal, young = generator.normal(size=(3, 20))
    noise = 0.1 * generator.normal(size=(8, 20))
    rows = [
        (number & 2) * sex + (number & 1) * royal + (number // 4) * young for number in range(8)
    ]
    return WordVectors(WORDS, np.array(rows) + noise + generator.normal(size=20))


def test_analogies(vectors, tmp_path):
    path = tmp_path / "questions"
    path.write_text(
        ": royals\nMan King Woman Queen\nman king boy prince\nman king boy queen\n"
        ": others\nman king dog cat\nman woman king queen\n: none\nthe a an of\n"
    )
    report = evaluate_analogies(vectors, path)
    assert report.sections == {"royals": (2, 3), "others": (1, 1), "none": (0, 0)}
    assert (report.covered, report.questions) == (4, 6)
    assert report.accuracy == 3 / 4
    for line in path.read_text().lower().splitlines()[1:3]:
        *asked, answer = line.split()
        assert vectors.analogy(*asked, 1)[0][0] == answer
    assert evaluate_analogies(vectors, path, lowercase=False).covered == 3
    assert evaluate_analogies(vectors, path, most=4).covered == 2
    path.write_text("man king woman\n")
    with pytest.raises(ValueError, match="line 1: must be four words"):
        evaluate_analogies(vectors, path)


def test_memory_of_analogies(vectors, tmp_path, monkeypatch):
    path = tmp_path / "questions"
    path.write_text("man king woman queen\nman king boy queen\n" * 500)
    matrix = np.concatenate([vectors.matrix, np.random.default_rng(0).normal(size=(5000, 20))])
    more = WordVectors([*WORDS, *map(str, range(5000))], matrix)
    monkeypatch.setattr(evaluation, "NUMBERS", 2**16)
    tracemalloc.start()
    assert evaluate_analogies(more, path).sections == {"": (500, 1000)}
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5 * 2**20  # all questions at a time take 20 MB
    monkeypatch.setattr(evaluation, "NUMBERS", 1)
    assert evaluate_analogies(more, path).accuracy == 0.5


def test_no_analogy_is_covered(vectors, tmp_path):
    path = tmp_path / "questions"
    path.write_text("a b c d\n")
    assert evaluate_analogies(vectors, path).accuracy == 0


def test_similarities(vectors, tmp_path):
    pairs = [("man", "King", 1.0), ("man", "boy", 7.5), ("king", "girl", 2.0), ("a", "man", 5.0)]
    with_commas, with_tabs = tmp_path / "a.csv", tmp_path / "b.txt"
    with_commas.write_text("1,2,mean\n" + "".join(f"{a},{b},{c}\n" for a, b, c in pairs))
    rows = "".join(f"{a}\t{b}\tN\t{c}\t0.1\n" for a, b, c in pairs)
    with_tabs.write_text("word1\tword2\tPOS\tSimLex999\tSD\n" + rows)
    cosines = [vectors.similarity(a, b.lower()) for a, b, _ in pairs[:3]]
    expected = scipy.stats.spearmanr(cosines, [1, 7.5, 2]).statistic
    for path in (with_commas, with_tabs):
        report = evaluate_similarities(vectors, path)
        assert (report.covered, report.pairs) == (3, 4)
        assert report.correlation == pytest.approx(expected)
    with_commas.write_text("1,2,mean\na,b,c\n")
    with pytest.raises(ValueError, match="line 2: must be two words and a number"):
        evaluate_similarities(vectors, with_commas)
    with_commas.write_text("")
    assert math.isnan(evaluate_similarities(vectors, with_commas).correlation)


values = st.lists(st.integers(0, 5), min_size=3, max_size=9)


@given(values, values)
def test_spearman(one, other):
    size = min(len(one), len(other))
    one, other = one[:size], other[:size]
    if len(set(one)) > 1 and len(set(other)) > 1:
        expected = scipy.stats.spearmanr(one, other).statistic
        assert _spearman(one, other) == pytest.approx(expected, abs=1e-9)
