"""The cells of recursive networks: from the states of its children to the state of a node."""

import keras
import tensorflow as tf

from keras_seqzoo.layers.tree_cell import TreeCell, product


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
