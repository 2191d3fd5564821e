"""Names of labels and their ids, in graph."""

import tensorflow as tf

from keras_seqzoo.tokenizers.lookup_tables import string_table


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
                f"`labels` must be different names, none of them empty, got {names!r}."
            )
        self._table = string_table(self.names, range(len(self.names)), default=-1)

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
        need = f"`y` must be among {', '.join(self.names)}, or their ids, got"
        with tf.control_dependencies([tf.debugging.Assert(tf.reduce_all(known), [need, wrong])]):
            return tf.identity(ids)


def count_labels(argument, number, labels):
    """Gives the number of labels of a model.

    Args:
        argument: string, the name of the model's argument.
        number: int, or `None` for as many as there are names.
        labels: list of the names that its preprocessor has, or `None`.

    Returns:
        An int.

    Raises:
        ValueError: if there is neither, or both differ.
    """
    if number is None and not labels:
        raise ValueError(f"`{argument}` must be given where no preprocessor has `labels`.")
    if labels and number not in (None, len(labels)):
        raise ValueError(
            f"`{argument}` must be that of the preprocessor's `labels`, {len(labels)}, "
            f"got {number}."
        )
    return len(labels) if number is None else number
