"""Rows of a search: repeated for each hypothesis, split again, dropped when they are done."""

from typing import NamedTuple

import tensorflow as tf

from keras_seqzoo.tensors import dimension

# Dropping rows copies the others: worth it once a quarter of them is done.
MAX_KEPT_FRACTION = 0.75


def write_at(history, time, value):
    """Return `history (L, ...)` with `value (...)` at index `time`."""
    # Not a scatter: that refuses an empty batch and, under XLA, a length of zero.
    here = tf.range(dimension(history, 0)) == time
    return tf.where(tf.reshape(here, [-1] + [1] * (history.shape.rank - 1)), value, history)


def repeat_rows(tensor, copies):
    """Repeat each row of `(B, ...)` in place: `(B * copies, ...)`."""
    if copies == 1:
        return tensor
    batch = dimension(tensor, 0)
    rows = tf.reshape(tf.repeat(tf.range(batch), copies), [batch * copies])
    return tf.gather(tensor, rows)


def split_rows(tensor, copies):
    """Split `(B * copies, ...)` into `(B, copies, ...)`."""
    rows, *rest = (dimension(tensor, axis) for axis in range(tensor.shape.rank))
    return tf.reshape(tensor, [rows // copies, copies, *rest])


def indices_of_copies(rows, copies):
    """Return the indices `(R * copies,)` of `rows (R,)` in a tensor made by `repeat_rows`."""
    return tf.reshape(rows[:, tf.newaxis] * copies + tf.range(copies), [-1])


class LiveRows(NamedTuple):
    """The rows of a batch of B that a search still extends.

    Attributes:
        index: `(R,)` int32, ascending; `()` in a search that keeps all rows.
    """

    index: tf.Tensor | tuple

    @classmethod
    def all(cls, batch, shrink):
        """Return all rows; `drop_done` can drop some later if `shrink`."""
        return cls(tf.range(batch) if shrink else ())

    def take(self, tensor):
        """Return these rows of `(B, ...)`: `(R, ...)`."""
        return tensor if isinstance(self.index, tuple) else tf.gather(tensor, self.index)

    def put(self, tensor, batch, blank):
        """Return `(B, ...)` with `tensor (R, ...)` in these rows and `blank` in the others."""
        if isinstance(self.index, tuple):
            return tensor
        shape = tf.concat([[batch], tf.shape(tensor)[1:]], axis=0)
        rest = tf.ensure_shape(tf.fill(shape, blank), [None, *tensor.shape[1:]])
        return tf.tensor_scatter_nd_update(rest, self.index[:, tf.newaxis], tensor)

    def drop_done(self, done, groups, gather, values):
        """Drop the rows that are done, if they are at least a quarter.

        Args:
            done: `(B,)` bool.
            groups: Int, the number of consecutive rows that are only dropped together.
            gather: Function `(values, kept) -> values` that selects groups by index,
                `kept (K,)` among the R / groups.
            values: Nest of tensors that belong to the rows.

        Returns:
            A tuple of the remaining `LiveRows` and their values.
        """
        if isinstance(self.index, tuple):
            return self, values
        done = tf.reshape(self.take(done), [-1, groups])
        alive = ~tf.reduce_all(done, axis=-1)  # (R / groups,)
        count = tf.reduce_sum(tf.cast(alive, tf.int32))

        def drop():
            kept = tf.cast(tf.where(alive)[:, 0], tf.int32)
            return tf.gather(self.index, indices_of_copies(kept, groups)), gather(values, kept)

        most = MAX_KEPT_FRACTION * tf.cast(dimension(alive, 0), tf.float32)
        few = tf.cast(count, tf.float32) <= most
        index, values = tf.cond(few & (count > 0), drop, lambda: (self.index, values))
        return LiveRows(index), values
