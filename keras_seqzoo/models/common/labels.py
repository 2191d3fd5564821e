"""Names of labels and their ids."""

import collections

import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import ItemError, check_labelled, list_of_texts
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


Classification = collections.namedtuple("Classification", ["labels", "probabilities"])
Classification.__doc__ = """What a classifier says of one text.

`labels` is the list of its labels: the most probable one, or with `multi_label` all whose
probability is at least a half. `probabilities` is a dict of the probability of every label.
"""


class TextLabels:
    """Mixin of text classifiers: labels by name.

    A model has `label_names`, a list, `multi_label`, a bool, and `resources`, the list of the
    tokenizers and tables that a SavedModel of it needs; it implements `predict_probabilities` and,
    in graph, `text_probabilities`.
    """

    multi_label = False

    def predict_probabilities(self, texts, batch_size=32):
        """Computes the probabilities of texts' labels, a float32 array `(texts, labels)`."""
        raise NotImplementedError(f"{type(self).__name__} needs `predict_probabilities`.")

    def text_probabilities(self, texts):
        """Computes the probabilities of labels of strings `(batch,)`, in graph."""
        raise NotImplementedError(f"{type(self).__name__} needs `text_probabilities`.")

    def classify(self, texts, batch_size=32):
        """Labels texts.

        Args:
            texts: list of strings.
            batch_size: int, texts worked on at a time.

        Returns:
            A list of `Classification`.

        Raises:
            ValueError: see `predict_probabilities`.
        """
        probabilities = self.predict_probabilities(texts, batch_size)
        names = self.label_names
        found = []
        for row in probabilities.tolist():
            best = [max(range(len(row)), key=row.__getitem__)]
            if self.multi_label:
                best = [label for label, share in enumerate(row) if share >= 0.5]
            found.append(
                Classification([names[label] for label in best], dict(zip(names, row, strict=True)))
            )
        return found

    def accuracy(self, texts, labels, batch_size=32):
        """Computes the share of right labels; with `multi_label` of right decisions on labels.

        Args:
            texts: list of strings.
            labels: as many labels, see `label_array`.
            batch_size: int, texts worked on at a time.

        Returns:
            A float.

        Raises:
            ValueError: if there is no text, or not a label for each.
        """
        texts, labels = list_of_texts(texts), list(labels)
        check_labelled(texts, labels)
        expected = self.label_array(labels)
        found = self.predict_probabilities(texts, batch_size)
        found = found >= 0.5 if self.multi_label else found.argmax(axis=1)
        return float(np.mean(found == expected))

    def label_array(self, labels, argument="labels"):
        """Turn labels into what the loss takes.

        Args:
            labels: list of names; with `multi_label` of lists of names.
            argument: string, the argument that errors name.

        Returns:
            int32 `(texts,)`, or with `multi_label` float32 `(texts, num_classes)`.

        Raises:
            ValueError: if a label is unknown.
        """
        names = self.label_names
        for number, own in enumerate(labels, 1):
            if isinstance(own, str) == self.multi_label:
                need = "a list of labels" if self.multi_label else "one label"
                raise ItemError(argument, "text", number, f"{need} is needed, got {own!r}.")
            for label in own if self.multi_label else [own]:
                if label not in names:
                    need = f"a label must be among {', '.join(names)}, got {label!r}."
                    raise ItemError(argument, "text", number, need)
        if not self.multi_label:
            return np.array([names.index(label) for label in labels], np.int32)
        rows = [[name in own for name in names] for own in labels]
        return np.array(rows, np.float32).reshape(-1, len(names))
