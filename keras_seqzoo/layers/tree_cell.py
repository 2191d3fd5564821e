"""What all cells of recursive networks have in common."""

from typing import NamedTuple

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.precision import loop_dtype


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
