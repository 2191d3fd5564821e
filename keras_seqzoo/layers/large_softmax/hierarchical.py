"""A softmax made of decisions down a binary tree."""

import heapq

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.layers.large_softmax.base import LargeSoftmax


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class HierarchicalSoftmax(LargeSoftmax):
    """The probability of a token as that of the turns to it in a Huffman tree.

        P(w | h) = Π_{n on the path to w} σ(± (v_n·h + b_n)),

    plus where the path turns left at node n, minus where right (Morin and Bengio 2005, Hierarchical
    probabilistic neural network language model; with Huffman's tree Mikolov et al. 2013). A
    frequent token has a short path: on average about as many turns as the tokens have bits of
    entropy. Training and the log probability of a given token compute its path alone. The
    probabilities are exact and sum to 1.

    Args:
        vocabulary_size: int, V.
        counts: float array `(V,)`, how often each token comes, which makes the tree; by default
            1 / (id + 1), Zipf's law for ids that go from the most frequent token to the rarest.
        **kwargs: arguments of `keras.layers.Layer`.

    Raises:
        ValueError: if `counts` has another shape or a negative number.

    Example:
    >>> layer = HierarchicalSoftmax(5, counts=[8, 4, 2, 1, 1])
    >>> layer.lengths.tolist()
    [1, 2, 3, 4, 4]
    >>> round(float(keras.ops.exp(layer(keras.ops.ones((1, 3)))).numpy().sum()), 4)
    1.0
    """

    def __init__(self, vocabulary_size, counts=None, **kwargs):
        super().__init__(vocabulary_size, **kwargs)
        self.counts = None if counts is None else np.asarray(counts, np.float64)
        used = 1.0 / (np.arange(self.vocabulary_size) + 1.0) if counts is None else self.counts
        if used.shape != (self.vocabulary_size,) or (used < 0).any():
            raise ValueError(
                f"`counts` must be {self.vocabulary_size} numbers of at least 0, got an array of "
                f"shape {used.shape}."
            )
        parents, is_right = huffman_tree(used)
        self._nodes, self._turns, self.lengths = huffman_paths(
            parents, is_right, self.vocabulary_size
        )
        self._levels = _levels(parents, is_right, self.vocabulary_size)

    def build(self, hidden_shape):
        """Make the weights of the inner nodes."""
        self.kernel = self.add_rows(self.vocabulary_size - 1, hidden_shape[-1], "kernel")
        self.bias = self.add_weight(
            shape=(self.vocabulary_size - 1,), initializer="zeros", autocast=False, name="bias"
        )

    def training_losses(self, hidden, labels):
        """Compute -log P of the labels, which is exact; see `LargeSoftmax`."""
        return -self.label_log_probabilities(hidden, labels)

    def label_log_probabilities(self, hidden, labels):
        """Compute log P of the given tokens by their paths; see `LargeSoftmax`."""
        nodes = tf.gather(self._nodes, labels)  # (tokens, longest path)
        turns = tf.gather(self._turns, labels)  # 1 left, -1 right, 0 after the end
        rows = self.ready(tf.gather(self.kernel, nodes))
        scores = tf.cast(tf.linalg.matvec(rows, self.ready(hidden)), tf.float32)
        scores += tf.gather(self.bias, nodes)
        return tf.reduce_sum(tf.where(turns == 0, 0.0, tf.math.log_sigmoid(turns * scores)), axis=1)

    def log_probabilities(self, hidden):
        """Compute log P of all tokens, from the root down, level by level."""
        scores = tf.matmul(self.ready(hidden), self.ready(self.kernel), transpose_b=True)
        scores = tf.cast(scores, tf.float32) + tf.convert_to_tensor(self.bias)
        left, right = tf.math.log_sigmoid(scores), tf.math.log_sigmoid(-scores)
        both = tf.concat([left, right], axis=1)  # what each turn adds, `(tokens, 2 (V - 1))`
        reached = tf.zeros([tf.shape(hidden)[0], 1])  # the root
        leaves = []
        for parents, turns, leaf, inner in self._levels:
            found = tf.gather(reached, parents, axis=1) + tf.gather(both, turns, axis=1)
            leaves.append(tf.gather(found, leaf, axis=1))
            reached = tf.gather(found, inner, axis=1)
        return tf.gather(tf.concat(leaves, axis=1), self._leaf_order, axis=1)

    @property
    def _leaf_order(self):
        depth_first = np.argsort(self.lengths, kind="stable")  # leaves come by their depth
        order = np.empty_like(depth_first)
        order[depth_first] = np.arange(len(depth_first))
        return order

    def get_config(self):
        """Give the constructor arguments."""
        counts = None if self.counts is None else self.counts.tolist()
        return {**super().get_config(), "counts": counts}


def huffman_tree(counts):
    """Builds Huffman's tree: the two rarest nodes become one, until one is left.

    Args:
        counts: float array `(V,)`.

    Returns:
        A tuple of `parents`, int32 `(2 V - 1,)`, and `is_right`, bool `(2 V - 1,)`. The first V
        nodes are the tokens, the last is the root, whose parent is -1.
    """
    size = len(counts)
    heap = [(float(count), node) for node, count in enumerate(counts)]
    heapq.heapify(heap)
    parents = np.full(2 * size - 1, -1, np.int32)
    is_right = np.zeros(2 * size - 1, bool)
    for node in range(size, 2 * size - 1):
        (one, rarer), (other, commoner) = heapq.heappop(heap), heapq.heappop(heap)
        parents[[rarer, commoner]] = node
        is_right[rarer] = True
        heapq.heappush(heap, (one + other, node))
    return parents, is_right


def huffman_paths(parents, is_right, size):
    """Lists the inner nodes on the way to each token.

    Args:
        parents: int32 `(2 V - 1,)`, see `huffman_tree`.
        is_right: bool `(2 V - 1,)`.
        size: int, V.

    Returns:
        A tuple of `nodes`, int32 `(V, longest)`, numbered from 0; `turns`, float32 of that shape, 1
        for left, -1 for right, 0 after the end; and `lengths`, int32 `(V,)`.
    """
    depths = _depths(parents)
    lengths = depths[:size]
    nodes = np.zeros((size, lengths.max()), np.int32)
    turns = np.zeros((size, lengths.max()), np.float32)
    at = np.arange(size)
    tokens = np.arange(size)
    while len(tokens):
        above = parents[at]
        place = depths[above]
        nodes[tokens, place] = above - size
        turns[tokens, place] = np.where(is_right[at], -1.0, 1.0)
        going_on = place > 0
        at, tokens = above[going_on], tokens[going_on]
    return nodes, turns, lengths


def _depths(parents):
    depths = np.zeros(len(parents), np.int32)
    for node in range(len(parents) - 2, -1, -1):  # parents have higher numbers
        depths[node] = depths[parents[node]] + 1
    return depths


def _levels(parents, is_right, size):
    """For each level, from below the root: where its nodes hang, and which of them are tokens.

    Returns:
        A list of tuples of index arrays: the place of each node's parent among the inner nodes of
        the level above, its turn among all (V - 1 to the left, then V - 1 to the right), and the
        places of the tokens (by their ids) and of the inner nodes among the nodes of the level.
    """
    depths = _depths(parents)
    place = np.zeros(len(parents), np.int32)
    levels = []
    for depth in range(1, depths.max() + 1):
        nodes = np.flatnonzero(depths == depth)
        above = parents[nodes]
        turns = above - size + np.where(is_right[nodes], size - 1, 0)
        leaf, inner = np.flatnonzero(nodes < size), np.flatnonzero(nodes >= size)
        levels.append((place[above], turns, leaf, inner))
        place[nodes[inner]] = np.arange(len(inner))
    return levels
