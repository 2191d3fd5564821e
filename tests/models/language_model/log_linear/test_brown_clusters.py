import itertools
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_seqzoo.models.language_model.log_linear.brown_clusters import BrownClusters
from keras_seqzoo.tokenizers import WordTokenizer
from tests.counting.texts import LINES, write_ngrams
from tests.properties import examples


def information(ids, assigned):
    """The average mutual information among the tokens that have a class, by its definition.

    Probabilities of a class are those in the whole text.
    """
    total = len(ids) - 1
    pairs, first, second = {}, {}, {}
    for a, b in itertools.pairwise(ids):
        a, b = assigned.get(a), assigned.get(b)
        first[a] = first.get(a, 0) + 1 / total
        second[b] = second.get(b, 0) + 1 / total
        if a is not None and b is not None:
            pairs[a, b] = pairs.get((a, b), 0) + 1 / total
    return sum(p * np.log(p / (first[a] * second[b])) for (a, b), p in pairs.items())


def merged(assigned, one, other):
    return {word: one if slot == other else slot for word, slot in assigned.items()}


def losses(ids, assigned):
    slots = sorted(set(assigned.values()))
    before = information(ids, assigned)
    return {
        pair: before - information(ids, merged(assigned, *pair))
        for pair in itertools.combinations(slots, 2)
    }


@examples(60)
@given(st.lists(st.integers(0, 6), min_size=2, max_size=60), st.integers(1, 4))
def test_each_merge_loses_least(ids, classes):
    """Greedy merging with the losses computed again each time reaches the same information."""
    words = sorted(set(ids), key=lambda word: (-ids.count(word), word))
    assigned = {word: word for word in words[:classes]}
    for word in words[classes:]:
        assigned[word] = word
        found = losses(ids, assigned)
        best = min(found.values())
        ties = [pair for pair, loss in found.items() if loss < best + 1e-9]
        if len(ties) > 1:
            return  # either may be taken, with another end
        assigned = merged(assigned, *ties[0])
    clusters = BrownClusters.learn(np.array(ids), 7, classes)
    mine = {word: int(clusters.classes[word]) for word in words}
    groups = [
        sorted(sorted(w for w in words if a[w] == c) for c in set(a.values()))
        for a in (mine, assigned)
    ]
    assert groups[0] == groups[1]


def test_words_of_a_kind_share_a_class_and_a_beginning():
    random = np.random.default_rng(0)
    kinds = {"who": range(0, 5), "does": range(5, 10), "what": range(10, 15), "end": range(15, 16)}
    text = [random.choice(list(kind)) for _ in range(3000) for kind in kinds.values()]
    clusters = BrownClusters.learn(np.array(text), 16, classes=4)
    for kind in kinds.values():
        assert len({int(clusters.classes[word]) for word in kind}) == 1
    assert len(set(clusters.classes.tolist())) == 4
    fine = BrownClusters.learn(np.array(text), 16, classes=16)
    assert len(set(fine.paths)) == 16 and len(set(fine.classes.tolist())) == 16
    # A path is a code: none is the beginning of another.
    for one, other in itertools.permutations(fine.paths, 2):
        assert not other.startswith(one)
    for kind in kinds.values():
        paths = [fine.paths[fine.classes[word]] for word in kind]
        beginning = os.path.commonprefix(paths)
        bits = max(len(beginning), 1)
        together = fine.prefixes(bits) == fine.prefixes(bits)[kind[0]]
        assert np.flatnonzero(together).tolist() == list(kind)


def test_unseen_tokens_and_too_many_classes():
    clusters = BrownClusters.learn(np.array([1, 1, 3, 1]), 5, classes=9)
    assert len(clusters.paths) == 2
    assert clusters.classes[0] == clusters.classes[2] == clusters.classes[3]
    one = BrownClusters.learn(np.array([0, 0]), 1)
    assert one.paths == [""] and one.prefixes(3).tolist() == [0]


@pytest.mark.parametrize(
    ("ids", "options", "message"),
    [([0], {}, "`ids`"), ([0, 7], {}, "`ids`"), ([0, 1], {"classes": 0}, "`classes`")],
)
def test_wrong_arguments(ids, options, message):
    with pytest.raises(ValueError, match=message):
        BrownClusters.learn(np.array(ids), 5, **options)


def test_counts_of_a_text(tmp_path):
    path = write_ngrams(tmp_path / "ngrams.tsv", LINES, 3)
    tokenizer = WordTokenizer.train(LINES, minimum_count=4)
    rows = tokenizer(LINES).to_list()
    ids = [[tokenizer.start_token_id, *row, tokenizer.end_token_id] for row in rows]
    expected = BrownClusters.learn(np.concatenate(ids), tokenizer.vocabulary_size(), classes=3)
    found = BrownClusters.from_counts(path, tokenizer, classes=3)
    np.testing.assert_array_equal(found.classes, expected.classes)
    assert found.paths == expected.paths
    with pytest.raises(ValueError, match="order 2 or more, got 1"):
        BrownClusters.from_counts(write_ngrams(path, LINES, 1), tokenizer)
