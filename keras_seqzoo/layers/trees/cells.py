"""Cells of recursive networks over trees: the base class and three cells.

A cell computes the states of all nodes of one level of the trees from their words and from the
states of their children. `TreeEncoder` runs a cell from the deepest level to the roots.
"""

from typing import NamedTuple

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.tensors import drawn_in_float32, loop_dtype


class Edges(NamedTuple):
    """Edges from the nodes of one level (children) to nodes of the next level (parents).

    Attributes:
        parents: int32 tensor `(children,)`, the index of each child's parent in the next level.
        siblings: int32 tensor `(children,)`, the index of each child among its siblings.
        inner: int32 scalar, the number of parents.
    """

    parents: tf.Tensor
    siblings: tf.Tensor
    inner: tf.Tensor

    def sum_children(self, values):
        """Sum values `(children, U)` over the children of each parent: `(inner, U)`."""
        return tf.math.unsorted_segment_sum(values, self.parents, self.inner)

    def concat_children(self, values):
        """Concatenate values `(children, U)` of both children, zeros if missing: `(inner, 2U)`."""
        slots = 2 * self.parents + self.siblings
        pairs = tf.math.unsorted_segment_sum(values, slots, 2 * self.inner)
        return tf.reshape(pairs, (-1, 2 * values.shape[-1]))


class TreeCell(keras.layers.Layer):
    """Base class of the cells. A cell defines `compute_leaves` and `advance`.

    As in `RecurrentCell`, `project` computes the part that depends on the words alone, once for all
    words. For the arguments see `TreeEncoder`.
    """

    gates = 1  # number of blocks in W and b
    leaf_gates = 1  # number of blocks that a leaf needs: the first ones in the order of `advance`
    recurrent_gates = 1  # number of blocks in U
    arity = None  # the highest number of children of a node, or None for any number

    def __init__(
        self,
        units,
        kernel_initializer="glorot_uniform",
        recurrent_initializer="orthogonal",
        bias_initializer="zeros",
        kernel_regularizer=None,
        recurrent_regularizer=None,
        unit_forget_bias=True,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.units = check_integer("units", units, 1)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.recurrent_initializer = keras.initializers.get(recurrent_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)
        self.recurrent_regularizer = keras.regularizers.get(recurrent_regularizer)
        self.unit_forget_bias = unit_forget_bias

    def initialize_bias(self, shape, dtype=None):
        """Return the initial value of b."""
        return self.bias_initializer(shape, dtype=dtype)

    def build(self, input_shape):
        """Create W `(F, gates·U)`, U and b for words of shape `(..., F)`."""
        self.kernel = self.add_weight(
            shape=(input_shape[-1], self.gates * self.units),
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            name="kernel",
        )
        self.recurrent_kernel = self.add_weight(
            shape=((self.arity or 1) * self.units, self.recurrent_gates * self.units),
            initializer=drawn_in_float32(self.recurrent_initializer),
            regularizer=self.recurrent_regularizer,
            name="recurrent_kernel",
        )
        self.bias = self.add_weight(
            shape=(self.gates * self.units,), initializer=self.initialize_bias, name="bias"
        )

    def reorder(self, weight, blocks):
        """Return a weight in the compute dtype, with its blocks in the order of `advance`."""
        return tf.cast(weight, self.compute_dtype)

    def recurrent_weights(self):
        """Return U in the form that `advance` takes."""
        return self.reorder(self.recurrent_kernel, self.recurrent_gates)

    def project(self, words, nodes, count, gates):
        """Compute W·x + b of nodes, with x = 0 at a node without a word.

        Args:
            words: tensor `(words, F)`.
            nodes: int tensor `(words, 1)`, the node of each word.
            count: int or int scalar, the number of nodes.
            gates: int, the number of blocks to compute.

        Returns:
            Tensor `(count, gates·U)` in float32 (or float64), as are all states.
        """
        size = gates * self.units
        kernel = self.reorder(self.kernel, self.gates)[:, :size]
        bias = self.reorder(self.bias, self.gates)[:size]
        projected = _matmul(words, kernel)
        projected = tf.scatter_nd(nodes, projected, tf.stack([count, size]))
        return projected + tf.cast(bias, projected.dtype)

    def compute_leaves(self, projected):
        """Compute the states of leaves, a list of `(nodes, U)`, h first.

        Args:
            projected: tensor `(nodes, leaf_gates·U)`, from `project`.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement `compute_leaves`.")

    def advance(self, projected, states, edges, weights):
        """Compute the states of nodes, a list of `(nodes, U)`, from the states of their children.

        Args:
            projected: tensor `(nodes, gates·U)`, from `project`.
            states: list of tensors `(children, U)`.
            edges: the `Edges` from these children to the nodes.
            weights: the result of `recurrent_weights`.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement `advance`.")

    def get_config(self):
        """Return the constructor arguments."""
        return {
            **super().get_config(),
            "units": self.units,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "recurrent_initializer": keras.initializers.serialize(self.recurrent_initializer),
            "bias_initializer": keras.initializers.serialize(self.bias_initializer),
            "kernel_regularizer": keras.regularizers.serialize(self.kernel_regularizer),
            "recurrent_regularizer": keras.regularizers.serialize(self.recurrent_regularizer),
            "unit_forget_bias": self.unit_forget_bias,
        }


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class RecursiveCell(TreeCell):
    """A recursive neural network over binary trees.

    `h = tanh(U·[h_left; h_right] + W·x + b)`, where x is 0 at a node without a word, and a missing
    child is zeros. This is `tanh(U·[h_left; h_right] + b)` at the inner nodes of a parse and
    `tanh(W·x + b)` at its leaves, as in Socher, Lin, Ng and Manning 2011, Parsing natural scenes
    and natural language with recursive neural networks (where leaves have a separate bias). In
    Socher et al. 2013, Recursive deep models for semantic compositionality over a sentiment
    treebank, section 4.1, leaves are the word vectors themselves.

    Weights: W `(F, U)`, U `(2U, U)`, b `(U,)`.
    """

    arity = 2

    def compute_leaves(self, projected):
        """Compute `tanh` of the word's part."""
        return [tf.tanh(projected)]

    def advance(self, projected, states, edges, weights):
        """Compute `tanh` of the sum."""
        return [tf.tanh(projected + _matmul(edges.concat_children(states[0]), weights))]


class TreeLSTMCell(TreeCell):
    """Base class of the two Tree-LSTMs: `c = i ⊙ u + Σ_k f_k ⊙ c_k`, `h = o ⊙ tanh(c)`."""

    gates = 4
    leaf_gates = 3

    def initialize_bias(self, shape, dtype=None):
        """Return the initial value of b, 1 for the forget gate with `unit_forget_bias`."""
        bias = self.bias_initializer(shape, dtype=dtype)
        if not self.unit_forget_bias:
            return bias
        ones = tf.ones((self.units,), dtype)
        return tf.concat([bias[: self.units], ones, bias[2 * self.units :]], 0)

    def reorder(self, weight, blocks):
        """Return a weight in the compute dtype, its blocks i, f…, u, o as i, o, u, f…."""
        weight = tf.cast(weight, self.compute_dtype)
        first, *forget, candidate, output = tf.split(weight, blocks, axis=-1)
        return tf.concat([first, output, candidate, *forget], -1)

    def compute_leaves(self, projected):
        """Compute the output and the memory, without the memory of children."""
        return self.compute_states(projected, 0.0)

    def compute_states(self, gates, kept):
        """Compute `[h, c]` from the sums of i, o and u `(nodes, 3U)` and from Σ_k f_k ⊙ c_k."""
        input_output, candidate = tf.split(gates, [2 * self.units, self.units], axis=-1)
        input_gate, output_gate = tf.split(tf.sigmoid(input_output), 2, axis=-1)
        memory = input_gate * tf.tanh(candidate) + kept
        return [output_gate * tf.tanh(memory), memory]


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class ChildSumTreeLSTMCell(TreeLSTMCell):
    """A Child-Sum Tree-LSTM: any number of unordered children, and a word at any node.

    `h̃ = Σ_k h_k`, `i, o = σ(W·x + U·h̃ + b)`, `u = tanh(W_u·x + U_u·h̃ + b_u)`,
    `f_k = σ(W_f·x + U_f·h_k + b_f)`, `c = i ⊙ u + Σ_k f_k ⊙ c_k`, `h = o ⊙ tanh(c)` (Tai, Socher
    and Manning 2015, Improved semantic representations from tree-structured long short-term
    memory networks, equations 2-8). x = 0 at a node without a word.

    The weights have the shapes and the order i, f, u, o of `keras.layers.LSTM`, which computes the
    same over a chain. The memory c is float32 under mixed precision.
    """

    recurrent_gates = 4

    def recurrent_weights(self):
        """Return U of i, o and u, and U of f."""
        return tf.split(super().recurrent_weights(), [3 * self.units, self.units], axis=-1)

    def advance(self, projected, states, edges, weights):
        """Compute the gates, the memory and the output."""
        hidden, memory = states
        kernel, forget_kernel = weights
        gates, forget = tf.split(projected, [3 * self.units, self.units], axis=-1)
        gates += _matmul(edges.sum_children(hidden), kernel)
        forget = tf.gather(forget, edges.parents) + _matmul(hidden, forget_kernel)
        return self.compute_states(gates, edges.sum_children(tf.sigmoid(forget) * memory))


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class BinaryTreeLSTMCell(TreeLSTMCell):
    """A binary Tree-LSTM: a left and a right child, with separate weights.

    `i, o = σ(W·x + U·[h_1; h_2] + b)`, `u = tanh(W_u·x + U_u·[h_1; h_2] + b_u)`,
    `f_k = σ(W_f·x + U_k·[h_1; h_2] + b_f)` for k = 1, 2, `c = i ⊙ u + f_1 ⊙ c_1 + f_2 ⊙ c_2`,
    `h = o ⊙ tanh(c)` (the N-ary Tree-LSTM of Tai, Socher and Manning 2015, equations 9-14, for
    N = 2). x = 0 at a node without a word; an only child is the first, and the second is zeros.

    Weights: W `(F, 4U)` and b `(4U,)` in the order i, f, u, o; U `(2U, 5U)` in the order i, f_1,
    f_2, u, o. The memory c is float32 under mixed precision.
    """

    arity = 2
    recurrent_gates = 5

    def advance(self, projected, states, edges, weights):
        """Compute the gates, the memory and the output."""
        hidden, memory = (edges.concat_children(state) for state in states)  # (inner, 2U)
        gates, forget = tf.split(projected, [3 * self.units, self.units], axis=-1)
        sums, forgets = tf.split(
            _matmul(hidden, weights), [3 * self.units, 2 * self.units], axis=-1
        )
        kept = tf.sigmoid(tf.concat([forget, forget], -1) + forgets) * memory  # (inner, 2U)
        return self.compute_states(gates + sums, tf.add_n(tf.split(kept, 2, axis=-1)))


def _matmul(states, kernel):
    """Multiply in the dtype of the weights; return float32 (or float64)."""
    product = tf.matmul(tf.cast(states, kernel.dtype), kernel)
    return tf.cast(product, loop_dtype(kernel.dtype))
