"""A layer that encodes batches of trees."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_choice
from keras_seqzoo.layers.trees.cells import (
    BinaryTreeLSTMCell,
    ChildSumTreeLSTMCell,
    Edges,
    RecursiveCell,
)

CELLS = {
    "child-sum": ChildSumTreeLSTMCell,
    "binary": BinaryTreeLSTMCell,
    "recursive": RecursiveCell,
}
TREE_ARRAYS = ("words", "rows", "parents", "siblings", "levels", "inner", "places")


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class TreeEncoder(keras.layers.Layer):
    """Recursive network over the trees of sentences, from the leaves to the roots.

    The state of a node is computed from its word, if it has one, and the states of its children:

    - "child-sum": a Child-Sum Tree-LSTM, for trees of any shape such as dependency trees
      (`ChildSumTreeLSTMCell`);
    - "binary": a binary Tree-LSTM, for parses with at most two children per node
      (`BinaryTreeLSTMCell`);
    - "recursive": a recursive neural network, for the same parses (`RecursiveCell`).

    The trees of a batch may have any shapes. The leaves, and the part of all nodes that depends on
    their words, are computed first; then all nodes of a level at once, level by level. Trees change
    in shape from batch to batch, so XLA does not compile the layer.

    Args:
        units: int, the size U of a node's state.
        cell: "child-sum", "binary" or "recursive".
        return_roots: bool, whether to return the states of the roots alone, not of all nodes.
        kernel_initializer: initializer of W, the weights of the word.
        recurrent_initializer: initializer of U, the weights of the children.
        bias_initializer: initializer of b.
        kernel_regularizer: regularizer of W, or `None`.
        recurrent_regularizer: regularizer of U, or `None`.
        unit_forget_bias: bool, whether the bias of the forget gates is initialized to 1. Has no
            effect on "recursive".
        **kwargs: arguments of `keras.layers.Layer`.

    Call arguments:
        embedded: float tensor `(batch, time, features)`, the words of the sentences. Padding may
            be anything: no node reads it.
        tree: dictionary of int32 tensors, from `keras_seqzoo.data.tree_batch` for `batch` trees.

    Returns:
        Tensor `(batch, U)` in the compute dtype, zeros for a tree without nodes. Without
        `return_roots`, tensor `(nodes, U)`: the nodes of all trees one after the other, each tree
        in the order of its nodes.

    Raises:
        TypeError: if `tree` is not a dictionary with these tensors.
        ValueError: if `units` or `cell` is out of range, or `embedded` does not have three
            dimensions.
        tf.errors.InvalidArgumentError: if a node has more than two children and the cell takes
            two. `tree_batch(trees, max_children=2)` names the node.

    Example:
    >>> from keras_seqzoo.data import read_bracketed_trees, tree_batch
    >>> trees = read_bracketed_trees(["(3 (2 It) (4 works))", "(2 Yes)"])
    >>> TreeEncoder(4, "binary")(keras.ops.ones((2, 2, 3)), tree_batch(trees)).shape
    TensorShape([2, 4])
    """

    def __init__(
        self,
        units,
        cell="child-sum",
        return_roots=True,
        kernel_initializer="glorot_uniform",
        recurrent_initializer="orthogonal",
        bias_initializer="zeros",
        kernel_regularizer=None,
        recurrent_regularizer=None,
        unit_forget_bias=True,
        **kwargs,
    ):
        check_choice("cell", cell, tuple(CELLS))
        super().__init__(**kwargs)
        self.cell_name = cell
        self.return_roots = return_roots
        self.cell = CELLS[cell](
            units,
            kernel_initializer=kernel_initializer,
            recurrent_initializer=recurrent_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            recurrent_regularizer=recurrent_regularizer,
            unit_forget_bias=unit_forget_bias,
            dtype=self.dtype_policy,
            trainable=self.trainable,
        )
        self.supports_masking = True
        self.supports_jit = False  # levels have any number of nodes

    @property
    def units(self):
        """The size of a node's state."""
        return self.cell.units

    def build(self, embedded_shape, tree_shape=None):
        """Build the cell for words of shape `(batch, time, features)`."""
        if len(embedded_shape) != 3 or embedded_shape[-1] is None:
            raise ValueError(
                "`embedded` must have the shape (batch, time, features) with known features, "
                f"got {tuple(embedded_shape)}."
            )
        if not self.cell.built:
            self.cell.build(embedded_shape)

    def call(self, embedded, tree):
        """Encode the trees; see the class."""
        tree = _check_tree(tree)
        if self.cell.arity is not None:
            message = (
                f"`tree` must have at most {self.cell.arity} children per node for "
                f"{self.cell_name!r}, got more."
            )
            tf.debugging.assert_less(tree["siblings"], self.cell.arity, message)
        outputs, states = self._run(embedded, tree)
        if not self.return_roots:
            return tf.gather(tf.cast(outputs.concat(), self.compute_dtype), tree["places"])
        roots = tree["parents"][-tree["levels"][-1] :]
        encoded = tf.math.unsorted_segment_sum(states[0], roots, tf.shape(embedded)[0])
        return tf.cast(encoded, self.compute_dtype)

    def _run(self, embedded, tree):
        """Compute all leaves, then the other nodes from the deepest level to the roots."""
        levels, inner = tree["levels"], tree["inner"]
        ends = tf.cumsum(levels)
        # Inner nodes come first in each level.
        is_inner = tf.range(ends[-1]) < tf.repeat(ends - levels + inner, levels)
        projected = self._project(embedded, tree, is_inner, self.cell.gates)
        leaves = self._project(embedded, tree, ~is_inner, self.cell.leaf_gates)
        leaves = self.cell.compute_leaves(leaves)
        # Each level reads only its own block and the states of the level before, so that time and
        # memory, also of the gradient, are linear in the number of nodes.
        projected = _blocks(projected, inner)
        leaves = [_blocks(state, levels - inner) for state in leaves]
        count, dtype = tf.shape(levels)[0], leaves[0].dtype
        outputs = tf.TensorArray(dtype, count, element_shape=(None, self.units), infer_shape=False)
        bounds = tf.concat([[0, 0], ends], 0)
        weights = self.cell.recurrent_weights()

        def body(level, outputs, states):
            children = slice(bounds[level], bounds[level + 1])
            edges = Edges(tree["parents"][children], tree["siblings"][children], inner[level])
            states = self.cell.advance(projected.read(level), states, edges, weights)
            states = [
                tf.concat([state, leaf.read(level)], 0)
                for state, leaf in zip(states, leaves, strict=True)
            ]
            if not self.return_roots:
                outputs = outputs.write(level, states[0])
            return level + 1, outputs, states

        states = [tf.zeros((0, self.units), dtype) for _ in leaves]
        _, outputs, states = tf.while_loop(
            lambda level, *_: level < count,
            body,
            (tf.constant(0), outputs, states),
            shape_invariants=(
                tf.TensorShape(()),
                None,
                [tf.TensorShape((None, self.units))] * len(states),
            ),
        )
        return outputs, states

    def _project(self, embedded, tree, chosen, gates):
        """Compute the part of the chosen nodes that depends on words, in the order of levels."""
        places = tf.stack([tree["rows"], tree["words"]], axis=1)  # (nodes, 2)
        places = tf.boolean_mask(places, chosen)
        nodes = tf.where(places[:, 1] >= 0)  # (words, 1)
        words = tf.gather_nd(embedded, tf.gather_nd(places, nodes))  # (words, features)
        return self.cell.project(words, nodes, tf.shape(places, nodes.dtype)[0], gates)

    def compute_mask(self, embedded, previous_mask=None):
        """Return no mask: the output has no time dimension."""
        return None

    def compute_output_shape(self, embedded_shape, tree_shape):
        """Return the shape of the states of the roots, or of all nodes."""
        count = embedded_shape[0] if self.return_roots else tree_shape["places"][0]
        return (count, self.units)

    def get_config(self):
        """Return the constructor arguments."""
        layer_only = ("name", "trainable", "dtype")
        cell = {k: v for k, v in self.cell.get_config().items() if k not in layer_only}
        return {
            **super().get_config(),
            **cell,
            "cell": self.cell_name,
            "return_roots": self.return_roots,
        }


def _check_tree(tree):
    """Return copies of the arrays of a batch, as int32 tensors."""
    missing = [name for name in TREE_ARRAYS if not (isinstance(tree, dict) and name in tree)]
    if missing:
        raise TypeError(
            f"`tree` must be a dictionary from `tree_batch`, got one without {missing}."
        )
    # Copy them: TensorFlow uses the memory of arrays from a generator of `tf.data` directly, and
    # may write to it.
    return {name: tf.raw_ops.DeepCopy(x=tf.cast(tree[name], tf.int32)) for name in TREE_ARRAYS}


def _blocks(values, sizes):
    """Split `(nodes, size)` into the blocks of the levels."""
    element_shape = (None, values.shape[1])
    blocks = tf.TensorArray(
        values.dtype, tf.shape(sizes)[0], element_shape=element_shape, infer_shape=False
    )
    return blocks.split(values, sizes)
