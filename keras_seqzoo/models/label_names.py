"""Names of labels and their ids, in graph."""

import tensorflow as tf


class LabelNames:
    """The labels of a task, in the order of their ids.

    Args:
        names: list of strings, none of them empty or twice.

    Raises:
        ValueError: if there is no name, or one comes twice or is empty.

    Example:
    >>> LabelNames(["bad", "good"]).ids(["good", "bad"]).numpy().tolist()
    [1, 0]
    """

    def __init__(self, names):
        self.names = [str(name) for name in names]
        if not self.names or "" in self.names or len(set(self.names)) < len(self.names):
            raise ValueError(
                f"`labels` must be different names, none of them empty. Received: {names!r}"
            )
        with tf.init_scope(), tf.device("CPU"):
            self._table = tf.lookup.StaticHashTable(
                tf.lookup.KeyValueTensorInitializer(
                    tf.constant(self.names), tf.range(len(self.names), dtype=tf.int32)
                ),
                default_value=-1,
            )
            self._names = tf.constant(self.names)

    def __len__(self):
        """Gives the number of labels."""
        return len(self.names)

    def ids(self, labels):
        """Turns labels of any shape, strings or already ids, into int32 ids.

        Raises:
            tf.errors.InvalidArgumentError: if one is unknown.
        """
        labels = tf.convert_to_tensor(labels)
        if labels.dtype != tf.string:
            ids = tf.cast(labels, tf.int32)
            known = (ids >= 0) & (ids < len(self))
        else:
            ids = self._table.lookup(labels)
            known = ids >= 0
        wrong = tf.boolean_mask(labels, ~known)
        need = f"`y` must be among {', '.join(self.names)}, or their ids. Received:"
        with tf.control_dependencies([tf.debugging.Assert(tf.reduce_all(known), [need, wrong])]):
            return tf.identity(ids)

    def of(self, ids):
        """Gives the names of int32 ids of any shape, a string tensor."""
        return tf.gather(self._names, ids)
