import numpy as np
import pytest

from keras_seqzoo.data import (
    dependency_tree,
    read_bracketed_trees,
)


def read(text):
    (tree,) = read_bracketed_trees([text])
    return tree


def random_heads(rng, count):
    """Return the heads of a random tree with random numbering."""
    order = rng.permutation(count)
    heads = np.zeros(count, int)
    for index in range(1, count):
        heads[order[index]] = order[rng.integers(index)] + 1
    return heads


# === Brackets ===
def test_sentiment_treebank():
    tree = read("(3 (2 The) (3 (2 film) (4 works)))")
    assert tree.words == ["The", "film", "works"]
    assert tree.labels == ["3", "2", "3", "2", "4"]
    assert tree.parents.tolist() == [-1, 0, 0, 2, 2]
    assert tree.positions.tolist() == [-1, 0, -1, 1, 2]
    assert tree.parents.dtype == tree.positions.dtype == np.int32


def test_penn_treebank():
    tree = read("( (S\n  (NP (DT The) (NN film))\n  (VP works) (. .)) )")
    assert tree.words == ["The", "film", "works", "."]
    assert tree.labels == ["", "S", "NP", "DT", "NN", "VP", "."]
    assert tree.children == [[1], [2, 5, 6], [3, 4], [], [], [], []]
    assert tree.positions.tolist() == [-1, -1, -1, 0, 1, 2, 3]


def test_words_beside_other_children_are_nodes():
    tree = read("(S (NP the old film) works (X (Y z)))")
    assert tree.words == ["the", "old", "film", "works", "z"]
    assert tree.labels == ["S", "NP", "", "", "", "", "X", "Y"]
    assert tree.children[:2] == [[1, 5, 6], [2, 3, 4]]
    assert tree.positions.tolist() == [-1, -1, 0, 1, 2, 3, -1, 4]


def test_blank_and_deep_texts():
    assert len(read(" \n").parents) == 0
    deep = read("(a " * 5000 + "word" + ")" * 5000)
    assert deep.parents.tolist() == list(range(-1, 4999))
    assert deep.positions[-1] == 0


@pytest.mark.parametrize(
    "text, message",
    [
        ("(3 (2 The) (2 film)", r"`texts\[1\]` must have .* got 1 open"),
        ("(3 (2 The)) (2 film)", r"texts\[1\]`, character 12: must be inside .*, got '\(2 film\)'"),
        ("(3 The))", r"texts\[1\]`, character 7: must have an opening bracket"),
        ("film", r"texts\[1\]`, character 0: .*'film'"),
        (
            "(S (NP) (VP works))",
            r"texts\[1\]`, character 6: must be a word or a bracket, got a closing",
        ),
        ("()", r"texts\[1\]`, character 1: must be a word or a bracket, got a closing"),
    ],
)
def test_wrong_brackets_are_named(text, message):
    with pytest.raises(ValueError, match=message):
        read_bracketed_trees(["(2 Yes)", text])


def test_texts_must_be_a_list_of_strings():
    with pytest.raises(TypeError, match="`texts` must be a list of strings, got"):
        read_bracketed_trees("(2 Yes)")
    with pytest.raises(TypeError, match=r"`texts\[0\]` must be a string, got bytes"):
        read_bracketed_trees([b"(2 Yes)"])


# === Heads ===
def test_dependency_tree():
    tree = dependency_tree([2, 0, 2], ["She", "reads", "books"], ["nsubj", "root", "obj"])
    assert tree.children == [[], [0, 2], []]
    assert tree.parents.tolist() == [1, -1, 1]
    assert tree.positions.tolist() == [0, 1, 2]
    assert (tree.words[0], tree.labels[2]) == ("She", "obj")
    assert dependency_tree([]).children == []


@pytest.mark.parametrize(
    "heads, message",
    [
        ([0, 3, 4, 2], "got a cycle of words: 2 -> 3 -> 4 -> 2"),
        ([0, 3, 2, 2, 1], "got a cycle of words: 2 -> 3 -> 2"),
        ([1], "got a cycle of words: 1 -> 1"),
        ([2, 1], "got a cycle of words: 1 -> 2 -> 1"),
        ([0, 0, 3], "got a cycle of words: 3 -> 3"),
        ([0, 1, 0], r"one root, a single 0, got words \[1, 3\]"),
        ([0, 4, 1], "from 0 to the number of words, 3, got 4 for word 2"),
        ([-1, 0], "from 0 to the number of words, 2, got -1 for word 1"),
    ],
)
def test_wrong_heads_are_named(heads, message):
    with pytest.raises(ValueError, match=f"`heads` must .*{message}"):
        dependency_tree(heads)


def test_other_wrong_arguments_of_dependency_trees_are_named():
    with pytest.raises(TypeError, match=r"`heads` must be a sequence of ints, got \['2', '0'\]"):
        dependency_tree(["2", "0"])
    with pytest.raises(ValueError, match="`words` must have the length of `heads`, 2, got 1"):
        dependency_tree([2, 0], words=["a"])
    with pytest.raises(ValueError, match="`labels` must have the length of `heads`, 2, got 3"):
        dependency_tree([2, 0], labels="abc")
