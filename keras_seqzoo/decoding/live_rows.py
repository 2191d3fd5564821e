"""The rows of a batch that a search still works on."""

from typing import NamedTuple

import tensorflow as tf

from keras_seqzoo.decoding.step_function import each_copy
from keras_seqzoo.tensors import dimension

# To leave rows out, what the others have is copied: worth it once a part of them is done.
KEPT_SHARE = 0.75


class LiveRows(NamedTuple):
    """Which rows of a batch of B a search has not left out.

    Attributes:
        index: `(R,)` int32, ascending, or `()` where a search leaves out none.
    """

    index: tf.Tensor | tuple

    @classmethod
    def all(cls, batch, shrink):
        """Makes the start: all rows, some of which can be left out later if `shrink`."""
        return cls(tf.range(batch) if shrink else ())

    def take(self, tensor):
        """Returns these rows of `(B, ...)`: `(R, ...)`."""
        return tensor if isinstance(self.index, tuple) else tf.gather(tensor, self.index)

    def put(self, tensor, batch, blank):
        """Returns `(B, ...)` with these rows `(R, ...)` in their places, and `blank` elsewhere."""
        if isinstance(self.index, tuple):
            return tensor
        shape = tf.concat([[batch], tf.shape(tensor)[1:]], axis=0)
        rest = tf.ensure_shape(tf.fill(shape, blank), [None, *tensor.shape[1:]])
        return tf.tensor_scatter_nd_update(rest, self.index[:, tf.newaxis], tensor)

    def leave_out(self, done, groups, gather, values):
        """Leaves out what is done, where that is a good part of the rows.

        Args:
            done: `(B,)` bool.
            groups: Int, how many rows that follow one another stay together.
            gather: Function `(values, kept) -> values` that keeps those of some groups, `kept` an
                index `(K,)` among the R / groups.
            values: Nest of tensors that belong to the rows.

        Returns:
            A tuple of `LiveRows` and the values of the rest.
        """
        if isinstance(self.index, tuple):
            return self, values
        done = tf.reshape(self.take(done), [-1, groups])
        alive = ~tf.reduce_all(done, axis=-1)  # (R / groups,)
        count = tf.reduce_sum(tf.cast(alive, tf.int32))

        def rest():
            kept = tf.cast(tf.where(alive)[:, 0], tf.int32)
            return tf.gather(self.index, each_copy(kept, groups)), gather(values, kept)

        few = tf.cast(count, tf.float32) <= KEPT_SHARE * tf.cast(dimension(alive, 0), tf.float32)
        index, values = tf.cond(few & (count > 0), rest, lambda: (self.index, values))
        return LiveRows(index), values
