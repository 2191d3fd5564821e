import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.data import Tree, dependency_tree, tree_batch, tree_signature
from tests.data.test_trees import random_heads, read


# === Batches ===
def depth(tree, node):
    parent = tree.parents[node]
    return 0 if parent < 0 else 1 + depth(tree, parent)


def check_batch(trees):
    """Check the arrays of `tree_batch` node by node."""
    batch = tree_batch(trees)
    assert set(batch) == set(tree_signature())
    assert all(array.dtype == np.int32 and array.ndim == 1 for array in batch.values())
    nodes = [(row, node) for row, tree in enumerate(trees) for node in range(len(tree.parents))]
    assert sorted(batch["places"]) == list(range(len(nodes)))
    place = dict(zip(nodes, batch["places"].tolist(), strict=True))
    starts = np.cumsum(batch["levels"]) - batch["levels"]
    assert batch["levels"].sum() == len(nodes)
    inner = np.zeros(len(starts), int)
    for (row, node), at in place.items():
        tree = trees[row]
        level = np.searchsorted(starts, at, "right") - 1
        assert len(starts) - 1 - level == depth(tree, node)
        assert batch["rows"][at] == row
        assert batch["words"][at] == tree.positions[node]
        if tree.children[node]:
            inner[level] += 1
            assert at - starts[level] < batch["inner"][level]
        parent = tree.parents[node]
        if parent < 0:
            assert (batch["parents"][at], batch["siblings"][at]) == (row, 0)
        else:
            assert batch["parents"][at] == place[row, parent] - starts[level + 1]
            assert batch["siblings"][at] == tree.children[parent].index(node)
    np.testing.assert_array_equal(batch["inner"], inner)


def test_batches_have_the_documented_arrays():
    rng = np.random.default_rng(3)
    trees = [dependency_tree(random_heads(rng, count)) for count in (7, 0, 1, 12, 3)]
    check_batch(trees + [dependency_tree([2, 3, 4, 0]), read("(S (NP the old film) (VP works))")])
    for seed in range(10):
        rng = np.random.default_rng(seed)
        check_batch([dependency_tree(random_heads(rng, n)) for n in rng.integers(9, size=5)])


def test_batches_without_nodes():
    for trees in ([], [dependency_tree([])] * 3):
        batch = tree_batch(trees)
        assert batch["levels"].tolist() == batch["inner"].tolist() == [0]
        assert all(len(batch[name]) == 0 for name in ("words", "rows", "parents", "places"))


def test_batches_come_from_tf_data():
    batches = [tree_batch([dependency_tree(heads)]) for heads in ([2, 0], [0, 1, 2], [])]
    data = tf.data.Dataset.from_generator(
        lambda: iter(batches), output_signature=tree_signature()
    ).prefetch(1)
    for read_batch, batch in zip(data, batches, strict=True):
        for name, array in batch.items():
            np.testing.assert_array_equal(read_batch[name], array)


def test_wrong_trees_are_named():
    pair, triple = dependency_tree([0, 1, 1]), dependency_tree([2, 4, 2, 0, 2])
    assert tree_batch([pair], max_children=2)["inner"].tolist() == [0, 1]
    message = r"`trees\[1\]` must have at most 2 children per node, got 3 of node 1"
    with pytest.raises(ValueError, match=message):
        tree_batch([pair, triple], max_children=2)
    with pytest.raises(TypeError, match=r"`trees\[1\]` must be a Tree, got list"):
        tree_batch([pair, [2, 0]])


@pytest.mark.parametrize(
    ("parents", "message"),
    [
        ([1, 0, -1], "must be a tree, got a cycle of nodes: 0 -> 1 -> 0"),
        ([1, 2, 0], "must be a tree, got a cycle of nodes: 0 -> 1 -> 2 -> 0"),
        ([-1, 0, 3], "parents from -1 to the last node, got 3"),
        ([-1, -2, 0], "parents from -1 to the last node, got -2"),
        ([-1, -1, 0], "must have one root, got 2"),
        ([-1, 0], "must have a position for each parent, got 3 and 2"),
    ],
)
def test_parents_that_are_not_a_tree(parents, message):
    odd = Tree(np.array(parents), np.arange(3), [], [])
    with pytest.raises(ValueError, match=rf"`trees\[1\]` .*{message}"):
        tree_batch([dependency_tree([0, 1]), odd, dependency_tree([0, 1, 1, 1])])
