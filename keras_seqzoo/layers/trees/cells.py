"""The cells of recursive networks: from the states of its children to the state of a node."""

from typing import NamedTuple

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.tensors import loop_dtype


class Edges(NamedTuple):
    """Leads from the nodes of one level to their parents, which are in the next.

    Attributes:
        parents: int32 tensor `(children,)`, the place of the parent among the parents.
        siblings: int32 tensor `(children,)`, the place among the children of that parent.
        inner: int32 scalar, the number of parents.
    """

    parents: tf.Tensor
    siblings: tf.Tensor
    inner: tf.Tensor

    def sums(self, values):
        """Sums `(children, U)` over the children of each parent; `(inner, U)`."""
        return tf.math.unsorted_segment_sum(values, self.parents, self.inner)

    def pairs(self, values):
        """Puts `(children, U)` side by side, zeros for a missing one; `(inner, 2U)`."""
        slots = 2 * self.parents + self.siblings
        pairs = tf.math.unsorted_segment_sum(values, slots, 2 * self.inner)
        return tf.reshape(pairs, (-1, 2 * values.shape[-1]))


class TreeCell(keras.layers.Layer):
    """One level of a recursive network: from the nodes' words and children to their states.

    As with `RecurrentCell`, what depends on the words alone is in `project` and runs once over all
    words. A cell defines `leaves` and `advance`, and what else differs.

    Args:
        units: int, size U of a node's state.
        kernel_initializer: initializer of W, the weights of the word.
        recurrent_initializer: initializer of U, the weights of the children.
        bias_initializer: initializer of b.
        kernel_regularizer: regularizer of W, or None.
        recurrent_regularizer: regularizer of U, or None.
        unit_forget_bias: bool, whether the bias of a forget gate starts at 1.
        **kwargs: arguments of `keras.layers.Layer`.

    Raises:
        ValueError: if `units` is not a positive integer.
    """

    gates = 1  # blocks of W and b
    leaf_gates = 1  # those of them, the first in the order of `advance`, that a leaf needs
    arity = None  # how many children a node may have; None for any number

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

    @property
    def recurrent_shape(self):
        """Shape of U."""
        return (self.units, self.gates * self.units)

    def initialize_bias(self, shape, dtype=None):
        """Gives the bias its first values."""
        return self.bias_initializer(shape, dtype=dtype)

    def build(self, input_shape):
        """Make W `(F, gates·U)`, U and b for words of shape `(..., F)`."""
        self.kernel = self.add_weight(
            shape=(input_shape[-1], self.gates * self.units),
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            name="kernel",
        )
        self.recurrent_kernel = self.add_weight(
            shape=self.recurrent_shape,
            initializer=self.recurrent_initializer,
            regularizer=self.recurrent_regularizer,
            name="recurrent_kernel",
        )
        self.bias = self.add_weight(
            shape=(self.gates * self.units,), initializer=self.initialize_bias, name="bias"
        )

    def loop_order(self, weight, blocks):
        """Reads a weight in the compute dtype, with its blocks in the order of `advance`."""
        return tf.cast(weight, self.compute_dtype)

    def constants(self):
        """Gives what each level needs of U, ready for use."""
        return self.loop_order(self.recurrent_kernel, self.gates)

    def project(self, words, nodes, count, gates):
        """Compute W·x + b for nodes, with x = 0 where there is no word.

        Args:
            words: tensor `(words, F)`.
            nodes: int tensor `(words, 1)`, the node of each word.
            count: the number of nodes.
            gates: how many of the blocks are needed.

        Returns:
            Tensor `(count, gates·U)` in float32 (or float64), as all that follows.
        """
        size = gates * self.units
        kernel = self.loop_order(self.kernel, self.gates)[:, :size]
        bias = self.loop_order(self.bias, self.gates)[:size]
        projected = product(words, kernel)
        projected = tf.scatter_nd(nodes, projected, tf.stack([count, size]))
        return projected + tf.cast(bias, projected.dtype)

    def leaves(self, projected):
        """Compute the states of nodes without children.

        Args:
            projected: tensor `(nodes, leaf_gates·U)`, from `project`.

        Returns:
            List of tensors `(nodes, U)`; the first is the output h.
        """
        raise NotImplementedError(f"{type(self).__name__} needs a method `leaves`.")

    def advance(self, projected, states, edges, constants):
        """Compute the states of nodes from those of their children.

        Args:
            projected: tensor `(nodes, gates·U)`, from `project`.
            states: list of tensors `(children, U)`.
            edges: the `Edges` from these children to the nodes.
            constants: what `constants` gave.

        Returns:
            List of tensors `(nodes, U)`, as `states`.
        """
        raise NotImplementedError(f"{type(self).__name__} needs a method `advance`.")

    def get_config(self):
        """Give all constructor arguments."""
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


def product(states, kernel):
    """Multiplies in the dtype of the weights, and gives float32 (or float64)."""
    product = tf.matmul(tf.cast(states, kernel.dtype), kernel)
    return tf.cast(product, loop_dtype(kernel.dtype))


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class RecursiveCell(TreeCell):
    """A recursive neural network over binary trees.

    `h = tanh(U·[h_left; h_right] + W·x + b)`, with x = 0 at a node without a word and zeros for a
    missing child. So it is `tanh(U·[h_left; h_right] + b)` at the inner nodes of a parse and
    `tanh(W·x + b)` at its leaves, as in Socher, Lin, Ng and Manning 2011, Parsing natural scenes
    and natural language with recursive neural networks (whose leaves have a bias of their own). In
    Socher et al. 2013, Recursive deep models for semantic compositionality over a sentiment
    treebank, section 4.1, leaves are the words' vectors themselves.

    Weights: W `(F, U)`, U `(2U, U)`, b `(U,)`. For the arguments see `TreeCell`.
    """

    arity = 2

    @property
    def recurrent_shape(self):
        """Shape of U."""
        return (2 * self.units, self.units)

    def leaves(self, projected):
        """Compute `tanh` of the word's part."""
        return [tf.tanh(projected)]

    def advance(self, projected, states, edges, constants):
        """Compute `tanh` of the sum."""
        return [tf.tanh(projected + product(edges.pairs(states[0]), constants))]


class TreeLSTMCell(TreeCell):
    """What the two Tree-LSTMs share: `c = i ⊙ u + Σ_k f_k ⊙ c_k`, `h = o ⊙ tanh(c)`."""

    gates = 4
    leaf_gates = 3

    def initialize_bias(self, shape, dtype=None):
        """Gives the bias its first values, 1 for the forget gate if so wanted."""
        bias = self.bias_initializer(shape, dtype=dtype)
        if not self.unit_forget_bias:
            return bias
        ones = tf.ones((self.units,), dtype)
        return tf.concat([bias[: self.units], ones, bias[2 * self.units :]], 0)

    def loop_order(self, weight, blocks):
        """Reads a weight in the compute dtype, its blocks i, f…, u, o in the order i, o, u, f…."""
        weight = tf.cast(weight, self.compute_dtype)
        first, *forget, candidate, output = tf.split(weight, blocks, axis=-1)
        return tf.concat([first, output, candidate, *forget], -1)

    def leaves(self, projected):
        """Compute the gates, the memory and the output, where nothing is kept."""
        return self.finish(projected, 0.0)

    def finish(self, gates, kept):
        """Computes `[h, c]` from the sums of i, o and u `(nodes, 3U)` and from Σ_k f_k ⊙ c_k."""
        opened, candidate = tf.split(gates, [2 * self.units, self.units], axis=-1)
        entry, exit_ = tf.split(tf.sigmoid(opened), 2, axis=-1)
        memory = entry * tf.tanh(candidate) + kept
        return [exit_ * tf.tanh(memory), memory]


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class ChildSumTreeLSTMCell(TreeLSTMCell):
    """A Child-Sum Tree-LSTM: any number of children, in no order, and a word at any node.

    `h̃ = Σ_k h_k`, `i, o = σ(W·x + U·h̃ + b)`, `u = tanh(W_u·x + U_u·h̃ + b_u)`,
    `f_k = σ(W_f·x + U_f·h_k + b_f)`, `c = i ⊙ u + Σ_k f_k ⊙ c_k`, `h = o ⊙ tanh(c)` (Tai, Socher
    and Manning 2015, Improved semantic representations from tree-structured long short-term
    memory networks, equations 2-8). x = 0 at a node without a word.

    Weights are those of `keras.layers.LSTM`, in shape and order i, f, u, o: over a chain, the two
    are the same. The memory c is float32 under mixed precision. For the arguments see `TreeCell`.
    """

    def constants(self):
        """Gives U of i, o and u, and that of f."""
        sizes = [3 * self.units, self.units]
        return tf.split(self.loop_order(self.recurrent_kernel, self.gates), sizes, axis=-1)

    def advance(self, projected, states, edges, constants):
        """Compute the gates, the memory and the output."""
        hidden, memory = states
        kernel, forget_kernel = constants
        gates, forget = tf.split(projected, [3 * self.units, self.units], axis=-1)
        gates += product(edges.sums(hidden), kernel)
        forget = tf.gather(forget, edges.parents) + product(hidden, forget_kernel)
        return self.finish(gates, edges.sums(tf.sigmoid(forget) * memory))


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class BinaryTreeLSTMCell(TreeLSTMCell):
    """A binary Tree-LSTM: a left and a right child, each with weights of its own.

    `i, o = σ(W·x + U·[h_1; h_2] + b)`, `u = tanh(W_u·x + U_u·[h_1; h_2] + b_u)`,
    `f_k = σ(W_f·x + U_k·[h_1; h_2] + b_f)` for k = 1, 2, `c = i ⊙ u + f_1 ⊙ c_1 + f_2 ⊙ c_2`,
    `h = o ⊙ tanh(c)` (the N-ary Tree-LSTM of Tai, Socher and Manning 2015, equations 9-14, for
    N = 2). x = 0 at a node without a word; an only child is the first, and the second is zeros.

    Weights: W `(F, 4U)` and b `(4U,)` in the order i, f, u, o; U `(2U, 5U)` in the order i, f_1,
    f_2, u, o. The memory c is float32 under mixed precision. For the arguments see `TreeCell`.
    """

    arity = 2

    @property
    def recurrent_shape(self):
        """Shape of U."""
        return (2 * self.units, 5 * self.units)

    def constants(self):
        """Gives U."""
        return self.loop_order(self.recurrent_kernel, 5)

    def advance(self, projected, states, edges, constants):
        """Compute the gates, the memory and the output."""
        hidden, memory = (edges.pairs(state) for state in states)  # (inner, 2U)
        gates, forget = tf.split(projected, [3 * self.units, self.units], axis=-1)
        sums, forgets = tf.split(
            product(hidden, constants), [3 * self.units, 2 * self.units], axis=-1
        )
        kept = tf.sigmoid(tf.concat([forget, forget], -1) + forgets) * memory  # (inner, 2U)
        return self.finish(gates + sums, tf.add_n(tf.split(kept, 2, axis=-1)))
