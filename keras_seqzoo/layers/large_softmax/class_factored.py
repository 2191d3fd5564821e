"""A softmax over classes and a softmax over the tokens of a class."""

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.layers.large_softmax.base import LargeSoftmax
from keras_seqzoo.tensors import dimension

GROUP = 8  # tokens of one class that are computed together


def frequency_classes(counts, classes=None):
    """Divide a vocabulary by frequency into classes of equal size.

    Args:
        counts: array `(V,)`, the count of each token.
        classes: int, the number of classes, at most V; by default √V, which minimizes the cost.

    Returns:
        int32 array `(V,)`, the class of each token id, 0 for the most frequent ones.

    Raises:
        ValueError: if `classes` is out of range.

    Example:
    >>> frequency_classes([5, 1, 9, 2], classes=2).tolist()
    [0, 1, 0, 1]
    """
    counts = np.asarray(counts)
    classes = round(len(counts) ** 0.5) if classes is None else classes
    classes = check_integer("classes", classes, minimum=1)
    if classes > len(counts):
        raise ValueError(
            f"`classes` must be at most {len(counts)}, the size of the vocabulary, got {classes}."
        )
    class_ids = np.empty(len(counts), np.int32)
    ranks = np.argsort(-counts, kind="stable")
    class_ids[ranks] = np.arange(len(counts)) * classes // len(counts)
    return class_ids


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class ClassFactoredSoftmax(LargeSoftmax):
    """Two-level softmax: over classes, then over the tokens of a class.

        P(w | h) = softmax(C h + d)_{c(w)} · softmax(E_{c(w)} h + b_{c(w)})_w

    (Goodman 2001, Classes for fast maximum entropy training; Mikolov et al. 2011). Training, and
    the log probability of a given token, compute only the scores of the classes and of the tokens
    in one class: 2√V scores in place of V with classes of √V tokens. The probabilities are exact.
    The weights of each class are padded to the size of the largest, so classes should be of similar
    size, as from `frequency_classes`.

    Args:
        vocabulary_size: int, V.
        classes: int array `(V,)`, the class of each token id, from 0 on; by default classes of
            equal size in the order of the ids, which suits ids sorted by frequency.
        **kwargs: arguments of `keras.layers.Layer`.

    Raises:
        ValueError: if `classes` has another shape, or a class has no token.

    Example:
    >>> layer = ClassFactoredSoftmax(1000)
    >>> hidden, labels = keras.ops.ones((2, 8)), tf.constant([3, 400])
    >>> scores = layer(hidden)
    >>> bool(np.allclose(-scores.numpy()[[0, 1], labels], layer.training_losses(hidden, labels)))
    True
    """

    def __init__(self, vocabulary_size, classes=None, **kwargs):
        super().__init__(vocabulary_size, **kwargs)
        if classes is None:
            classes = frequency_classes(-np.arange(self.vocabulary_size))
        classes = np.asarray(classes)
        if classes.shape != (self.vocabulary_size,) or classes.dtype.kind not in "iu":
            raise ValueError(
                f"`classes` must be one int for each of the {self.vocabulary_size} tokens, got an "
                f"array of shape {classes.shape} and dtype {classes.dtype}."
            )
        self.classes = classes.astype(np.int32)
        sizes = np.bincount(self.classes) if self.classes.min() >= 0 else np.zeros(1)
        if not sizes.all():
            raise ValueError(
                "`classes` must be all ints from 0 to the highest class, got "
                f"{len(np.unique(self.classes))} classes from {self.classes.min()} to "
                f"{self.classes.max()}."
            )
        self.sizes = sizes
        # The index of each token in its class, and in the concatenated padded classes.
        order = np.argsort(self.classes, kind="stable")
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        self._in_class = np.empty(self.vocabulary_size, np.int32)
        self._in_class[order] = np.arange(self.vocabulary_size) - starts[self.classes[order]]
        self._in_padded = self.classes * int(sizes.max()) + self._in_class

    def build(self, hidden_shape):
        """Create the weights of the classes, and of the tokens of each class."""
        features, widest = hidden_shape[-1], int(self.sizes.max())
        self.class_kernel = self.add_rows(len(self.sizes), features, "class_kernel")
        self.class_bias = self.add_weight(
            shape=(len(self.sizes),),
            initializer="zeros",
            dtype="float32",
            autocast=False,
            name="class_bias",
        )
        self.kernel = self.add_weight(
            shape=(len(self.sizes), widest, features),
            initializer=keras.initializers.RandomNormal(stddev=features**-0.5),
            name="kernel",
        )
        self.bias = self.add_weight(
            shape=(len(self.sizes), widest),
            initializer="zeros",
            dtype="float32",
            autocast=False,
            name="bias",
        )

    def training_losses(self, hidden, labels):
        """Compute the exact -log P of the labels; see `LargeSoftmax`."""
        return -self.label_log_probabilities(hidden, labels)

    def label_log_probabilities(self, hidden, labels):
        """Compute log P of the given tokens from their classes alone; see `LargeSoftmax`."""
        hidden, labels = self.to_compute_dtype(hidden), tf.convert_to_tensor(labels)
        classes = tf.gather(self.classes, labels)
        class_scores = tf.gather(self._class_scores(hidden), classes, batch_dims=1)
        # Group the tokens of a class: one matmul for a group reads the weights of its class once.
        order = tf.argsort(classes, stable=True)
        count, num_classes = dimension(labels, 0), len(self.sizes)
        # Each class may have one group that is not full.
        known = isinstance(count, int)
        partial = min(count, num_classes) if known else tf.minimum(count, num_classes)
        num_groups = count // GROUP + partial
        groups, slots, owners = _group_tokens(tf.gather(classes, order), num_classes, num_groups)
        slot_index = (groups * GROUP + slots)[:, tf.newaxis]
        tokens = tf.scatter_nd(slot_index, order + 1, [num_groups * GROUP])
        padded = tf.gather(tf.pad(hidden, [[1, 0], [0, 0]]), tokens)  # zeros in empty slots
        padded = tf.reshape(padded, [-1, GROUP, hidden.shape[-1]])
        kernel = self.to_compute_dtype(tf.gather(self.kernel, owners))  # (groups, size, features)
        scores = tf.cast(tf.matmul(padded, kernel, transpose_b=True), tf.float32)
        scores = self._normalize(scores + tf.gather(self.bias, owners)[:, tf.newaxis], owners)
        in_class = tf.gather(tf.gather(self._in_class, labels), order)
        scores = tf.gather_nd(scores, tf.stack([groups, slots, in_class], axis=1))
        return class_scores + tf.scatter_nd(order[:, tf.newaxis], scores, [count])

    def log_probabilities(self, hidden):
        """Compute log P of all tokens, with the padded classes side by side."""
        hidden = self.to_compute_dtype(hidden)
        flat = tf.reshape(self.to_compute_dtype(self.kernel), [-1, hidden.shape[-1]])
        scores = tf.cast(tf.matmul(hidden, flat, transpose_b=True), tf.float32)
        scores = tf.reshape(scores, [-1, len(self.sizes), int(self.sizes.max())])
        owners = tf.range(len(self.sizes))
        # (tokens, classes, size), the classes first for `_normalize`.
        scores = tf.transpose(scores + tf.convert_to_tensor(self.bias), (1, 0, 2))
        scores = tf.transpose(self._normalize(scores, owners), (1, 0, 2))
        scores += self._class_scores(hidden)[:, :, tf.newaxis]
        scores = tf.reshape(scores, [tf.shape(hidden)[0], -1])
        return tf.gather(scores, self._in_padded, axis=1)

    def _class_scores(self, hidden):
        kernel = self.to_compute_dtype(self.class_kernel)
        scores = tf.cast(tf.matmul(hidden, kernel, transpose_b=True), tf.float32)
        return tf.nn.log_softmax(scores + tf.convert_to_tensor(self.class_bias))

    def _normalize(self, scores, owners):
        """Compute log probabilities of scores `(groups, tokens, size)`, without padding."""
        sizes = tf.gather(tf.constant(self.sizes, tf.int32), owners)
        valid = tf.sequence_mask(sizes, int(self.sizes.max()))[:, tf.newaxis]
        return tf.nn.log_softmax(tf.where(valid, scores, -1e9))

    def get_config(self):
        """Return the constructor arguments."""
        return {**super().get_config(), "classes": self.classes.tolist()}


def _group_tokens(classes, num_classes, num_groups):
    """Divide tokens, sorted by class, into groups of one class each.

    Returns:
        A tuple of int32 tensors: the group of each token and its slot there `(tokens,)`, and the
        class of each group `(num_groups,)`.
    """
    tokens = tf.math.unsorted_segment_sum(tf.ones_like(classes), classes, num_classes)
    groups = (tokens + GROUP - 1) // GROUP  # of each class
    first_token = tf.cumsum(tokens, exclusive=True)
    first_group = tf.cumsum(groups, exclusive=True)
    within = tf.range(dimension(classes, 0)) - tf.gather(first_token, classes)
    # Groups past the last have no tokens; their class does not matter.
    owners = tf.searchsorted(tf.cumsum(groups), tf.range(num_groups), side="right")
    owners = tf.minimum(owners, num_classes - 1)
    return tf.gather(first_group, classes) + within // GROUP, within % GROUP, owners
