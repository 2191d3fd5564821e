"""A softmax over classes, and one over the tokens of the right class."""

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.layers.large_softmax.base import LargeSoftmax
from keras_seqzoo.tensors import dimension

GROUP = 8  # tokens of a class that are computed together


def frequency_classes(counts, classes=None):
    """Divides a vocabulary by frequency into classes of one size.

    Args:
        counts: array `(V,)`, how often each token comes.
        classes: int, how many; by default √V, with which classes and the tokens of one cost alike.

    Returns:
        int32 array `(V,)`, the class of each token id, 0 for the most frequent ones.

    Example:
    >>> frequency_classes([5, 1, 9, 2], classes=2).tolist()
    [0, 1, 0, 1]
    """
    counts = np.asarray(counts)
    classes = round(len(counts) ** 0.5) if classes is None else classes
    check_integer("classes", classes, minimum=1)
    size = -(-len(counts) // classes)
    found = np.empty(len(counts), np.int32)
    found[np.argsort(-counts, kind="stable")] = np.arange(len(counts)) // size
    return found


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class ClassFactoredSoftmax(LargeSoftmax):
    """A softmax in two steps: the class of a token, then the token within its class.

        P(w | h) = softmax(C h + d)_{c(w)} · softmax(E_{c(w)} h + b_{c(w)})_w

    (Goodman 2001, Classes for fast maximum entropy training; Mikolov et al. 2011). Training and the
    log probability of a given token compute the classes and the tokens of one class: with classes
    of √V tokens, 2√V numbers in place of V. The probabilities are exact. Weights of a class are
    padded to the size of the largest: classes should have about one size, as those of
    `frequency_classes` do.

    Args:
        vocabulary_size: int, V.
        classes: int array `(V,)`, the class of each token id, from 0 on; by default of one size and
            in the order of the ids, which suits ids that go from the most frequent token to the
            rarest.
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
        self.classes = np.asarray(classes, np.int32)
        if self.classes.shape != (self.vocabulary_size,):
            raise ValueError(
                f"`classes` must be one class for each of the {self.vocabulary_size} tokens, got "
                f"an array of shape {self.classes.shape}."
            )
        sizes = np.bincount(self.classes) if self.classes.min() >= 0 else np.zeros(1)
        if not sizes.all():
            raise ValueError("`classes` must be numbers from 0 on of which none is left out.")
        self.sizes = sizes
        # Where a token stands within its class, and where in the padded classes side by side.
        order = np.argsort(self.classes, kind="stable")
        begins = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        self._places = np.empty(self.vocabulary_size, np.int32)
        self._places[order] = np.arange(self.vocabulary_size) - begins[self.classes[order]]
        self._cells = self.classes * int(sizes.max()) + self._places

    def build(self, hidden_shape):
        """Make the weights of the classes, and of the tokens of each class."""
        features, widest = hidden_shape[-1], int(self.sizes.max())
        self.class_kernel = self.add_rows(len(self.sizes), features, "class_kernel")
        self.class_bias = self.add_weight(
            shape=(len(self.sizes),), initializer="zeros", autocast=False, name="class_bias"
        )
        self.kernel = self.add_weight(
            shape=(len(self.sizes), widest, features),
            initializer=keras.initializers.RandomNormal(stddev=features**-0.5),
            name="kernel",
        )
        self.bias = self.add_weight(
            shape=(len(self.sizes), widest), initializer="zeros", autocast=False, name="bias"
        )

    def training_losses(self, hidden, labels):
        """Compute -log P of the labels, which is exact; see `LargeSoftmax`."""
        return -self.label_log_probabilities(hidden, labels)

    def label_log_probabilities(self, hidden, labels):
        """Compute log P of the given tokens by their classes alone; see `LargeSoftmax`."""
        hidden, labels = self.ready(hidden), tf.convert_to_tensor(labels)
        classes = tf.gather(self.classes, labels)
        of_class = tf.gather(self._class_scores(hidden), classes, batch_dims=1)
        # Tokens of a class go in groups: one matmul of a group reads the weights of its class once.
        order = tf.argsort(classes, stable=True)
        count, number = dimension(labels, 0), len(self.sizes)
        # Each class may have one group that is not full.
        fewer = min(count, number) if isinstance(count, int) else tf.minimum(count, number)
        most = count // GROUP + fewer
        groups, slots, owners = _groups(tf.gather(classes, order), number, most)
        cells = tf.scatter_nd((groups * GROUP + slots)[:, tf.newaxis], order + 1, [most * GROUP])
        padded = tf.gather(tf.pad(hidden, [[1, 0], [0, 0]]), cells)  # zero where there is no token
        padded = tf.reshape(padded, [-1, GROUP, hidden.shape[-1]])
        kernel = self.ready(tf.gather(self.kernel, owners))  # (groups, size, features)
        scores = tf.cast(tf.matmul(padded, kernel, transpose_b=True), tf.float32)
        scores = self._normalise(scores + tf.gather(self.bias, owners)[:, tf.newaxis], owners)
        own = tf.gather(tf.gather(self._places, labels), order)
        scores = tf.gather_nd(scores, tf.stack([groups, slots, own], axis=1))
        return of_class + tf.scatter_nd(order[:, tf.newaxis], scores, [count])

    def log_probabilities(self, hidden):
        """Compute log P of all tokens, class by class side by side."""
        hidden = self.ready(hidden)
        flat = tf.reshape(self.ready(self.kernel), [-1, hidden.shape[-1]])
        scores = tf.cast(tf.matmul(hidden, flat, transpose_b=True), tf.float32)
        scores = tf.reshape(scores, [-1, len(self.sizes), int(self.sizes.max())])
        owners = tf.range(len(self.sizes))
        # (tokens, classes, size), the classes first for `_normalise`.
        scores = tf.transpose(scores + tf.convert_to_tensor(self.bias), (1, 0, 2))
        scores = tf.transpose(self._normalise(scores, owners), (1, 0, 2))
        scores += self._class_scores(hidden)[:, :, tf.newaxis]
        scores = tf.reshape(scores, [tf.shape(hidden)[0], -1])
        return tf.gather(scores, self._cells, axis=1)

    def _class_scores(self, hidden):
        scores = tf.matmul(hidden, self.ready(self.class_kernel), transpose_b=True)
        return tf.nn.log_softmax(
            tf.cast(scores, tf.float32) + tf.convert_to_tensor(self.class_bias)
        )

    def _normalise(self, scores, owners):
        """Makes log probabilities of scores `(groups, tokens, size)`, padding left out."""
        sizes = tf.gather(tf.constant(self.sizes, tf.int32), owners)
        valid = tf.sequence_mask(sizes, int(self.sizes.max()))[:, tf.newaxis]
        return tf.nn.log_softmax(tf.where(valid, scores, -1e9))

    def get_config(self):
        """Give the constructor arguments."""
        return {**super().get_config(), "classes": self.classes.tolist()}


def _groups(classes, number, most):
    """Divides sorted classes of tokens, of which there are `number`, into groups of one class.

    Returns:
        A tuple of int32 tensors: the group of each token and its place there `(tokens,)`, and the
        class of each of `most` groups.
    """
    tokens = tf.math.unsorted_segment_sum(tf.ones_like(classes), classes, number)
    groups = (tokens + GROUP - 1) // GROUP  # of each class
    first_token = tf.cumsum(tokens, exclusive=True)
    first_group = tf.cumsum(groups, exclusive=True)
    within = tf.range(dimension(classes, 0)) - tf.gather(first_token, classes)
    # Groups past the last have any class: no token is in them.
    owners = tf.searchsorted(tf.cumsum(groups), tf.range(most), side="right")
    owners = tf.minimum(owners, number - 1)
    return tf.gather(first_group, classes) + within // GROUP, within % GROUP, owners
