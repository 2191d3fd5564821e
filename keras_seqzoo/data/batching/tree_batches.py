"""Batches of trees as arrays."""

import numpy as np
import tensorflow as tf

from keras_seqzoo.data.trees import Tree, climb, find_cycle
from keras_seqzoo.layers.trees.encoder import TREE_ARRAYS


def tree_batch(trees, max_children=None):
    """Convert trees to the arrays that `TreeEncoder` computes level by level.

    A level is the nodes of the batch at the same depth below their roots. The deepest level comes
    first, so that the children of a level are in the level before it. Within a level, nodes with
    children come first.

    Args:
        trees: list of `Tree`s, in the order of the sentences of the batch.
        max_children: int, the highest number of children per node (2 for a binary cell), or `None`.

    Returns:
        A dictionary of int32 arrays. Over nodes, in the order of levels: `words`, the index of the
        node's word in its sentence or -1; `rows`, the index of its tree; `parents`, the index of
        its parent in the parent's level, or of its tree for a root; `siblings`, its index among its
        siblings. Over levels: `levels`, the number of nodes, and `inner`, the number of nodes with
        children. Over the nodes of all trees one after the other: `places`, the index of each in
        the order of levels.

    Raises:
        TypeError: if `trees` has an item other than a `Tree`.
        ValueError: if a node has more than `max_children` children, or the parents of a `Tree` do
            not form one tree.

    Example:
        >>> from keras_seqzoo.data import dependency_tree
        >>> batch = tree_batch([dependency_tree([2, 0, 2]), dependency_tree([0])])
        >>> [batch[name].tolist() for name in ("levels", "rows", "words")]  # leaves, then roots
        [[2, 2], [0, 0, 0, 1], [0, 2, 1, 0]]
    """
    for number, tree in enumerate(trees):
        if not isinstance(tree, Tree):
            raise TypeError(f"`trees[{number}]` must be a Tree, got {type(tree).__name__}.")
        if len(tree.parents) != len(tree.positions):
            raise ValueError(
                f"`trees[{number}]` must have a position for each parent, got "
                f"{len(tree.positions)} and {len(tree.parents)}."
            )
    sizes = np.array([len(tree.parents) for tree in trees], np.int32)
    rows = np.repeat(np.arange(len(trees)), sizes)
    offsets = (np.cumsum(sizes) - sizes)[rows]
    none = np.zeros(0, np.int32)
    words = np.concatenate([none, *(tree.positions for tree in trees)])
    parents = np.concatenate([none, *(tree.parents for tree in trees)])
    _check_parents(parents, sizes, rows)
    below = parents >= 0
    parents = np.where(below, parents + offsets, -1)  # numbers in the whole batch
    counts = np.bincount(parents[below], minlength=len(rows))  # of children
    if max_children is not None and (counts > max_children).any():
        node = np.argmax(counts > max_children)
        raise ValueError(
            f"`trees[{rows[node]}]` must have at most {max_children} children per node, got "
            f"{counts[node]} of node {node - offsets[node]}."
        )
    depths, tops = climb(parents)
    if cycle := find_cycle(parents, tops):
        ring = " -> ".join(str(node - offsets[node]) for node in cycle)
        raise ValueError(f"`trees[{rows[cycle[0]]}]` must be a tree, got a cycle of nodes: {ring}.")
    order = np.lexsort((counts == 0, -depths))
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    levels = np.bincount(depths, minlength=1)  # by depth; a batch without nodes has one level
    starts = np.cumsum(levels[::-1])[::-1] - levels
    families = np.argsort(parents, kind="stable")
    siblings = np.empty_like(order)
    siblings[families] = np.arange(len(order)) - np.searchsorted(
        parents[families], parents[families]
    )
    upward = np.where(below, places[parents] - starts[depths - 1], rows)
    arrays = {
        "words": words[order],
        "rows": rows[order],
        "parents": upward[order],
        "siblings": np.where(below, siblings, 0)[order],
        "levels": levels[::-1],
        "inner": np.bincount(depths[counts > 0], minlength=len(levels))[::-1],
        "places": places,
    }
    return {name: array.astype(np.int32) for name, array in arrays.items()}


def _check_parents(parents, sizes, rows):
    """Raise an error for a parent's number that is out of range in its tree, or a second root."""
    wrong = np.flatnonzero((parents < -1) | (parents >= sizes[rows]))
    if wrong.size:
        raise ValueError(
            f"`trees[{rows[wrong[0]]}]` must have parents from -1 to the last node, "
            f"got {parents[wrong[0]]}."
        )
    roots = np.bincount(rows[parents < 0], minlength=len(sizes))
    if (roots > 1).any():
        tree = np.argmax(roots > 1)
        raise ValueError(f"`trees[{tree}]` must have one root, got {roots[tree]}.")


def tree_signature():
    """Return the `tf.TensorSpec` of each array of `tree_batch`, for `tf.data`.

    A functional model has an input for each array:
    `keras.Input(batch_shape=(None,), dtype="int32", name=name)`.

    Example:
        >>> from keras_seqzoo.data import dependency_tree
        >>> batches = [tree_batch([dependency_tree([2, 0])]), tree_batch([])]
        >>> data = tf.data.Dataset.from_generator(
        ...     lambda: iter(batches), output_signature=tree_signature()
        ... )
        >>> [len(batch["words"]) for batch in data]
        [2, 0]
    """
    return {name: tf.TensorSpec((None,), tf.int32, name) for name in TREE_ARRAYS}
