"""A layer that encodes the words of sentences along their dependency trees."""

import keras
import tensorflow as tf

from keras_seqzoo.layers.masks import check_sequence_shape, valid_steps
from keras_seqzoo.layers.trees.encoder import TreeEncoder


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class DependencyTreeEncoder(keras.layers.Layer):
    """Child-Sum Tree-LSTM over the dependency trees of sentences, with a state for each word.

    The state of a word is computed from the word and the states of its dependents
    (`ChildSumTreeLSTMCell`; Tai, Socher and Manning 2015, section 3.1), so the root's state is that
    of the sentence. The heads define the trees, and go with the sentences through `tf.data` and
    into a SavedModel. For trees of other shapes see `TreeEncoder`.

    A word is a root if its head is 0 or not in the sentence, or if it is in a cycle or below one:
    no input is an error. `keras_seqzoo.data.dependency_tree` checks heads.

    Trees change in shape from batch to batch, so XLA does not compile the layer.

    Args:
        units: int, the size U of a word's state.
        **kwargs: arguments of `keras.layers.Layer`, such as `name` and `dtype`.

    Call arguments:
        embedded: float tensor `(batch, time, features)`, the words of the sentences.
        heads: int tensor `(batch, time)`, the number of each word's head among the valid words of
            its sentence, from 1, and 0 for a root: the column HEAD of CoNLL-U.
        mask: bool tensor `(batch, time)`, true at words; `None` if all are valid.

    Returns:
        Tensor `(batch, time, U)` in the compute dtype, zero at padding.

    Raises:
        ValueError: if `units` is out of range, or shapes do not match.

    Example:
    >>> heads = keras.ops.array([[2, 0, 2], [0, 0, 0]])  # She reads books; Yes
    >>> mask = keras.ops.array([[True, True, True], [True, False, False]])
    >>> DependencyTreeEncoder(4)(keras.ops.ones((2, 3, 5)), heads, mask=mask).shape
    TensorShape([2, 3, 4])
    """

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.encoder = TreeEncoder(
            units,
            return_roots=False,
            dtype=self.dtype_policy,
            trainable=self.trainable,
            name="encoder",
        )
        self.supports_masking = True
        self.supports_jit = False  # levels have any number of words

    @property
    def units(self):
        """The size of a word's state."""
        return self.encoder.units

    def build(self, embedded_shape, heads_shape=None):
        """Build the cell for words of shape `(batch, time, features)`."""
        check_sequence_shape(embedded_shape, "embedded")
        self.encoder.build(embedded_shape)

    def call(self, embedded, heads, mask=None):
        """Encode the words; see the class."""
        if mask is None:  # Keras passes it to layers of one argument alone
            mask = getattr(embedded, "_keras_mask", None)
        valid = valid_steps(mask, embedded, "embedded")
        if not heads.shape.is_compatible_with(embedded.shape[:2]):
            raise ValueError(
                f"`heads` must have the shape (batch, time) = {tuple(embedded.shape[:2])} of "
                f"`embedded`, got {tuple(heads.shape)}."
            )
        states = self.encoder(embedded, dependency_levels(heads, valid))  # (words, U)
        shape = tf.concat([tf.shape(embedded)[:2], [self.units]], 0)
        return tf.scatter_nd(tf.where(valid), states, tf.cast(shape, tf.int64))

    def compute_mask(self, embedded, previous_mask=None):
        """Return the mask of the words."""
        return previous_mask

    def compute_output_shape(self, embedded_shape, heads_shape=None):
        """Return the shape of the states."""
        return (*embedded_shape[:2], self.units)

    def get_config(self):
        """Return the constructor arguments."""
        return {**super().get_config(), "units": self.units}


def root_steps(heads, mask):
    """Return a bool tensor `(batch, time)`, true at words without a head in their sentence.

    Args:
        heads: int tensor `(batch, time)`, see `DependencyTreeEncoder`.
        mask: bool tensor `(batch, time)`, true at words.
    """
    ops = keras.ops  # for symbolic tensors too
    count = ops.sum(ops.cast(mask, "int32"), axis=1, keepdims=True)  # (batch, 1)
    return ops.logical_and(mask, ops.logical_or(heads < 1, heads > count))


def dependency_levels(heads, mask):
    """Convert heads to the tensors that `tree_batch` makes from trees, in graph.

    Args:
        heads: int tensor `(batch, time)`, see `DependencyTreeEncoder`.
        mask: bool tensor `(batch, time)`, true at words.

    Returns:
        A dictionary of int32 tensors, see `keras_seqzoo.data.tree_batch`. `siblings` are zeros: a
        Child-Sum Tree-LSTM ignores the order of children. The nodes of a sentence are its words, in
        their order.
    """
    heads = tf.cast(heads, tf.int32)
    places = tf.cast(tf.where(mask), tf.int32)  # (words, 2)
    rows, columns = places[:, 0], places[:, 1]
    count, batch = tf.shape(rows)[0], tf.shape(mask)[0]
    lengths = tf.math.unsorted_segment_sum(tf.ones_like(rows), rows, batch)
    offsets = tf.gather(tf.cumsum(lengths, exclusive=True), rows)
    parents = offsets + tf.boolean_mask(heads, mask) - 1
    parents = tf.where(tf.boolean_mask(root_steps(heads, mask), mask), count, parents)
    depths, is_below_root = _climb(parents, tf.shape(mask)[1])
    parents = tf.where(is_below_root, parents, count)  # `count` stands for what is above a root
    depths = tf.where(is_below_root, depths, 0)

    deepest = tf.reduce_max(tf.concat([depths, [0]], 0))
    levels = deepest - depths  # a word's own, from the deepest level to the roots
    children = tf.math.unsorted_segment_sum(tf.ones_like(rows), parents, count + 1)[:-1]
    is_leaf = tf.cast(children == 0, tf.int32)
    order = tf.argsort(2 * levels + is_leaf, stable=True)
    positions = tf.math.invert_permutation(order)
    sizes = tf.math.unsorted_segment_sum(tf.ones_like(rows), levels, deepest + 1)
    starts = tf.cumsum(sizes, exclusive=True)
    is_root = parents == count
    # Gathered at roots too, where the index must be valid and the value is not used.
    above = tf.gather(positions, tf.where(is_root, 0, parents))
    above -= tf.gather(starts, tf.minimum(levels + 1, deepest))
    return {
        "words": tf.gather(columns, order),
        "rows": tf.gather(rows, order),
        "parents": tf.gather(tf.where(is_root, rows, above), order),
        "siblings": tf.zeros_like(rows),
        "levels": sizes,
        "inner": tf.math.unsorted_segment_sum(1 - is_leaf, levels, deepest + 1),
        "places": positions,
    }


def _climb(parents, longest):
    """Return each word's depth, and whether it is a root or below one.

    Args:
        parents: int32 tensor `(words,)`, the index of each word's parent, or `words` for a root.
        longest: int32 scalar, at least the number of words of each sentence.
    """
    count = tf.shape(parents)[0]
    # Each round doubles the number of steps; `tops` is where they end, for each word.
    tops = tf.concat([parents, [count]], 0)
    steps = tf.concat([tf.ones_like(parents), [0]], 0)

    def climb(reach, tops, steps):
        return 2 * reach, tf.gather(tops, tops), steps + tf.gather(steps, tops)

    _, tops, steps = tf.while_loop(
        lambda reach, *_: reach < longest,
        climb,
        (tf.constant(1), tops, steps),
        shape_invariants=(tf.TensorShape(()), tf.TensorShape([None]), tf.TensorShape([None])),
    )
    return steps[:-1] - 1, tops[:-1] == count
