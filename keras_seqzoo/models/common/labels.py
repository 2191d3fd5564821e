"""Names of labels and their ids."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import ItemError, check_labelled, list_names, list_of_items, shorten
from keras_seqzoo.tokenizers.vocabulary import create_string_table


class LabelNames:
    """The labels of a task, in the order of their ids.

    Args:
        names: list of different strings, none of them empty.

    Raises:
        ValueError: if `names` is empty, or a name is empty or repeated.

    Example:
    >>> LabelNames(["bad", "good"]).ids(["good", "bad"]).numpy().tolist()
    [1, 0]
    """

    def __init__(self, names):
        self.names = [str(name) for name in names]
        if not self.names or "" in self.names or len(set(self.names)) < len(self.names):
            raise ValueError(
                "`labels` must be different names, none of them empty, got "
                f"{list_names([repr(name) for name in names]) or 'none'}."
            )
        self._table = create_string_table(self.names, range(len(self.names)), default=-1)

    def __len__(self):
        """Return the number of labels."""
        return len(self.names)

    def ids(self, labels):
        """Convert labels of any shape, strings or ids, to int32 ids, in graph.

        Raises:
            tf.errors.InvalidArgumentError: if a label is unknown.
        """
        labels = tf.convert_to_tensor(labels)
        if labels.dtype != tf.string:
            ids = tf.cast(labels, tf.int32)
            known = (ids >= 0) & (ids < len(self))
        else:
            ids = self._table.lookup(labels)
            known = ids >= 0
        wrong = tf.boolean_mask(labels, ~known)
        need = f"`y` must be among {list_names(self.names)}, or their ids, got"
        with tf.control_dependencies([tf.debugging.Assert(tf.reduce_all(known), [need, wrong])]):
            return tf.identity(ids)


def count_labels(argument, number, labels):
    """Return the number of labels of a model.

    Args:
        argument: string, the name of the model's argument.
        number: int, or `None` for the number of names.
        labels: list of the label names in its preprocessor, or `None`.

    Raises:
        ValueError: if both are missing or they differ.
    """
    if number is None and not labels:
        raise ValueError(f"`{argument}` must be an int if no preprocessor has `labels`, got None.")
    if labels and number not in (None, len(labels)):
        raise ValueError(
            f"`{argument}` must be the number of the preprocessor's `labels`, {len(labels)}, "
            f"got {number}."
        )
    return len(labels) if number is None else number


def label_indices(names, labels, argument="labels", multi_label=False, allow_unknown=False):
    """Return the ids of the labels of texts.

    Args:
        names: list of the names of all labels.
        labels: list of names; with `multi_label` list of lists of names.
        argument: string, the name of the argument for error messages.
        multi_label: bool.
        allow_unknown: bool, whether a label that is not in `names` is -1 instead of an error.

    Returns:
        A list of ints; with `multi_label` a list of lists of ints.

    Raises:
        ItemError: a `ValueError` that names the first text with an unknown label or a label of the
            wrong kind.
    """
    ids = {name: id for id, name in enumerate(names)}
    indices = []
    for number, label in enumerate(labels, 1):
        if isinstance(label, str) == multi_label:
            kind = "a list of labels" if multi_label else "one label"
            raise ItemError(argument, "text", number, f"must have {kind}, got {label!r}.")
        own = label if multi_label else [label]
        unknown = [name for name in own if name not in ids]
        if unknown and not allow_unknown:
            problem = f"a label must be among {list_names(names)}, got {shorten(unknown[0])!r}."
            raise ItemError(argument, "text", number, problem)
        own = [ids.get(name, -1) for name in own]
        indices.append(own if multi_label else own[0])
    return indices


LEAST_PROBABILITY = 0.5  # of a label that applies, with `multi_label`


class Classification(NamedTuple):
    """The labels of one text.

    Attributes:
        labels: list of strings: the most probable label, or with `multi_label` every label whose
            probability is at least 0.5.
        probabilities: dict from every label to its probability.
    """

    labels: list[str]
    probabilities: dict[str, float]


class TextLabels:
    """Mixin of text classifiers that returns labels by name.

    A model has `label_names`, a list, `multi_label`, a bool, and `resources`, the list of
    tokenizers and tables that its SavedModel needs. It implements `predict_probabilities` and, in
    graph, `text_inputs` and `probabilities`.
    """

    multi_label = False

    def predict_probabilities(self, texts, batch_size=32):
        """Compute label probabilities of texts, a float32 array `(texts, labels)`."""
        raise NotImplementedError(f"{type(self).__name__} must implement `predict_probabilities`.")

    def text_inputs(self, texts, max_length):
        """Convert texts to the inputs of `probabilities`, in graph.

        Args:
            texts: strings `(batch,)`.
            max_length: int, the number of tokens to which a text is truncated.

        Returns:
            A tuple of the inputs and bool `(batch,)`, whether a text was truncated.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement `text_inputs`.")

    def probabilities(self, inputs):
        """Compute label probabilities, float32 `(batch, labels)`, in graph."""
        raise NotImplementedError(f"{type(self).__name__} must implement `probabilities`.")

    def classify(self, texts, batch_size=32):
        """Classify texts.

        Args:
            texts: list of strings.
            batch_size: int, the number of texts to classify at a time.

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
                best = [
                    label
                    for label, probability in enumerate(row)
                    if probability >= LEAST_PROBABILITY
                ]
            found.append(
                Classification([names[label] for label in best], dict(zip(names, row, strict=True)))
            )
        return found

    def accuracy(self, texts, labels, batch_size=32):
        """Compute the fraction of right labels; with `multi_label`, of right decisions on labels.

        A label that the model does not have counts as wrong. With `multi_label` it counts as one
        more decision of its text, a wrong one.

        Args:
            texts: list of strings.
            labels: their labels, see `label_array`.
            batch_size: int, the number of texts to classify at a time.

        Returns:
            A float.

        Raises:
            ValueError: if `texts` is empty or `labels` has another length.
        """
        return self.accuracy_and_loss(texts, labels, batch_size)[0]

    def accuracy_and_loss(self, texts, labels, batch_size=32):
        """Compute the accuracy and the mean cross-entropy; see `accuracy`.

        The cross-entropy is that of the labels that the model has; NaN if it has none of them.

        Returns:
            A tuple of two floats.
        """
        texts, labels = list_of_items(texts, "texts"), list(labels)
        check_labelled(texts, labels)
        expected = label_indices(
            self.label_names, labels, multi_label=self.multi_label, allow_unknown=True
        )
        found = self.predict_probabilities(texts, batch_size)
        if not self.multi_label:
            expected = np.array(expected)
            known = expected >= 0
            own = found[known, expected[known]]
            return float(np.mean(found.argmax(axis=1) == expected)), _mean_loss(own)
        targets = _indicators(expected, found.shape[1])
        right = (found >= LEAST_PROBABILITY) == targets
        unknown = sum(row.count(-1) for row in expected)
        loss = _mean_loss(np.where(targets, found, 1.0 - found))
        return float(right.sum() / (right.size + unknown)), loss

    def label_array(self, labels, argument="labels"):
        """Convert labels to the targets of the loss.

        Args:
            labels: list of names; with `multi_label` list of lists of names.
            argument: string, the name of the argument for error messages.

        Returns:
            int32 `(texts,)`, or with `multi_label` float32 `(texts, num_classes)`.

        Raises:
            ValueError: if a label is unknown.
        """
        indices = label_indices(self.label_names, labels, argument, self.multi_label)
        if not self.multi_label:
            return np.array(indices, np.int32)
        return _indicators(indices, len(self.label_names))


def _mean_loss(probabilities):
    """Return the mean of -log p, NaN for no probability."""
    least = np.finfo(np.float32).tiny
    return float(-np.log(np.maximum(probabilities, least)).mean()) if probabilities.size else np.nan


def _indicators(indices, number):
    """Return a float32 array `(texts, number)`, 1 at the ids of each text; -1 is ignored."""
    targets = np.zeros((len(indices), number), np.float32)
    for row, own in zip(targets, indices, strict=True):
        row[[id for id in own if id >= 0]] = 1.0
    return targets
