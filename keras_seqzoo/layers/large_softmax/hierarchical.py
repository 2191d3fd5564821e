"""A softmax as a sequence of binary decisions in a tree."""

import heapq
import math

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.layers.large_softmax.base import LargeSoftmax


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class HierarchicalSoftmax(LargeSoftmax):
    """Hierarchical softmax over a Huffman tree.

        P(w | h) = Π_{n on the path to w} σ(± (v_n·h + b_n)),

    with plus where the path turns left at node n, and minus where it turns right (Morin and Bengio
    2005, Hierarchical probabilistic neural network language model; with a Huffman tree, Mikolov et
    al. 2013). Frequent tokens have short paths: the mean length is about the entropy of the tokens
    in bits. Training, and the log probability of a given token, compute only the path to it. The
    probabilities are exact and sum to 1.

    Args:
        vocabulary_size: int, V.
        counts: float array `(V,)`, the counts of the tokens, from which the tree is built; by
            default 1 / (id + 1), Zipf's law for ids sorted by frequency.
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
        if used.shape != (self.vocabulary_size,) or not (np.isfinite(used) & (used >= 0)).all():
            raise ValueError(
                f"`counts` must be {self.vocabulary_size} finite numbers of at least 0, got an "
                f"array of shape {used.shape} from {used.min(initial=math.inf):g} to "
                f"{used.max(initial=-math.inf):g}."
            )
        parents, is_right = huffman_tree(used)
        self._nodes, self._turns, self.lengths = huffman_paths(
            parents, is_right, self.vocabulary_size
        )
        self._levels = _list_levels(parents, is_right, self.vocabulary_size)

    def build(self, hidden_shape):
        """Create the weights of the inner nodes."""
        self.kernel = self.add_rows(self.vocabulary_size - 1, hidden_shape[-1], "kernel")
        self.bias = self.add_weight(
            shape=(self.vocabulary_size - 1,),
            initializer="zeros",
            dtype="float32",
            autocast=False,
            name="bias",
        )

    def training_losses(self, hidden, labels):
        """Compute the exact -log P of the labels; see `LargeSoftmax`."""
        return -self.label_log_probabilities(hidden, labels)

    def label_log_probabilities(self, hidden, labels):
        """Compute log P of the given tokens from their paths; see `LargeSoftmax`."""
        nodes = tf.gather(self._nodes, labels)  # (tokens, longest path)
        turns = tf.gather(self._turns, labels)  # 1 left, -1 right, 0 after the end
        rows = self.to_compute_dtype(tf.gather(self.kernel, nodes))
        scores = tf.cast(tf.linalg.matvec(rows, self.to_compute_dtype(hidden)), tf.float32)
        scores += tf.gather(self.bias, nodes)
        return tf.reduce_sum(tf.where(turns == 0, 0.0, tf.math.log_sigmoid(turns * scores)), axis=1)

    def log_probabilities(self, hidden):
        """Compute log P of all tokens, level by level from the root."""
        hidden, kernel = self.to_compute_dtype(hidden), self.to_compute_dtype(self.kernel)
        scores = tf.cast(tf.matmul(hidden, kernel, transpose_b=True), tf.float32)
        scores += tf.convert_to_tensor(self.bias)
        left, right = tf.math.log_sigmoid(scores), tf.math.log_sigmoid(-scores)
        turn_scores = tf.concat([left, right], axis=1)  # (tokens, 2 (V - 1))
        inner_scores = tf.zeros([tf.shape(hidden)[0], 1])  # of the root
        leaf_scores = []
        for parents, turns, leaf, inner in self._levels:
            level = tf.gather(inner_scores, parents, axis=1)
            level += tf.gather(turn_scores, turns, axis=1)
            leaf_scores.append(tf.gather(level, leaf, axis=1))
            inner_scores = tf.gather(level, inner, axis=1)
        # Leaves are sorted by depth and id.
        order = np.argsort(np.argsort(self.lengths, kind="stable"))
        return tf.gather(tf.concat(leaf_scores, axis=1), order, axis=1)

    def get_config(self):
        """Return the constructor arguments."""
        counts = None if self.counts is None else self.counts.tolist()
        return {**super().get_config(), "counts": counts}


def huffman_tree(counts):
    """Build a Huffman tree: merge the two rarest nodes until one is left.

    Returns:
        A tuple: `parents`, int32 `(2 V - 1,)`, and `is_right`, bool `(2 V - 1,)`. The first V
        nodes are the tokens; the last node is the root, with the parent -1.
    """
    size = len(counts)
    heap = [(float(count), node) for node, count in enumerate(counts)]
    heapq.heapify(heap)
    parents = np.full(2 * size - 1, -1, np.int32)
    is_right = np.zeros(2 * size - 1, bool)
    for node in range(size, 2 * size - 1):
        (right_count, right), (left_count, left) = heapq.heappop(heap), heapq.heappop(heap)
        parents[[right, left]] = node
        is_right[right] = True
        heapq.heappush(heap, (right_count + left_count, node))
    return parents, is_right


def huffman_paths(parents, is_right, size):
    """Return the path of inner nodes from the root to each of `size` tokens of a `huffman_tree`.

    Returns:
        A tuple: `nodes`, int32 `(V, longest)`, numbered from 0; `turns`, float32 of the same shape,
        1 for left, -1 for right, 0 after the end; and `lengths`, int32 `(V,)`.
    """
    depths = _depths(parents)
    lengths = depths[:size]
    nodes = np.zeros((size, lengths.max()), np.int32)
    turns = np.zeros((size, lengths.max()), np.float32)
    at = np.arange(size)
    tokens = np.arange(size)
    while len(tokens):
        above = parents[at]
        step = depths[above]
        nodes[tokens, step] = above - size
        turns[tokens, step] = np.where(is_right[at], -1.0, 1.0)
        below_root = step > 0
        at, tokens = above[below_root], tokens[below_root]
    return nodes, turns, lengths


def _depths(parents):
    depths = np.zeros(len(parents), np.int32)
    for node in range(len(parents) - 2, -1, -1):  # parents have higher numbers
        depths[node] = depths[parents[node]] + 1
    return depths


def _list_levels(parents, is_right, size):
    """List the levels of the tree below the root.

    Returns:
        A list with four index arrays per level: for each node, its parent among the inner nodes of
        the level above, and its turn among all turns (V - 1 to the left, then V - 1 to the right);
        then the tokens (sorted by id) and the inner nodes among the nodes of the level.
    """
    depths = _depths(parents)
    index = np.zeros(len(parents), np.int32)
    levels = []
    for depth in range(1, depths.max() + 1):
        nodes = np.flatnonzero(depths == depth)
        above = parents[nodes]
        turns = above - size + np.where(is_right[nodes], size - 1, 0)
        leaf, inner = np.flatnonzero(nodes < size), np.flatnonzero(nodes >= size)
        levels.append((index[above], turns, leaf, inner))
        index[nodes[inner]] = np.arange(len(inner))
    return levels
