"""The base class of distributions over target tokens from the attended source tokens."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.tensors import dimension, loop_dtype


class SourceDistribution(keras.layers.Layer):
    """Base class of distributions over target tokens from the attended source tokens.

    ```
    p_src(y) = Σ_j a_j p(y | x_j)
    ```

    A subclass defines p(y | x) by `entries`. Target tokens that no source token leads to have
    probability 0. Padding with attention weight 0 contributes nothing.

    Args:
        vocabulary_size: int, V, the number of target tokens.
        **kwargs: arguments of `keras.layers.Layer`, such as `name` and `dtype`.

    Call arguments:
        weights: float tensor `(rows, steps, source_length)`, a, the attention weights.
        source_ids: int32 tensor `(batch, source_length)`, x. `rows` is `batch` or, in a search, a
            multiple of it, with the hypotheses of a source one after another.

    Returns:
        A tensor of probabilities `(rows, steps, V)`, in float64 for float64, else in float32.
    """

    def __init__(self, vocabulary_size, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.vocabulary_size = check_integer("vocabulary_size", vocabulary_size, minimum=1)

    def entries(self, source_ids):
        """Return the target tokens that a source token leads to.

        Args:
            source_ids: int32 tensor `(batch, source_length)`.

        Returns:
            A tuple of int32 ids `(batch, source_length, entries)`, and float32 probabilities of
            this shape or one that broadcasts to it.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement `entries`.")

    def call(self, weights, source_ids):
        """Compute the distribution; see the class."""
        dtype = loop_dtype(self.compute_dtype)
        weights = tf.cast(weights, dtype)
        rows, steps, length = (dimension(weights, axis) for axis in range(3))
        batch = dimension(source_ids, 0)
        ids, probabilities = self.entries(tf.cast(source_ids, tf.int32))  # (B, S, N)
        count = length * dimension(ids, 2)
        copies = _copies(rows, batch)
        probabilities = tf.broadcast_to(tf.cast(probabilities, dtype), tf.shape(ids))
        probabilities = tf.repeat(probabilities, copies, axis=0)[:, tf.newaxis]
        parts = weights[..., tf.newaxis] * probabilities  # (rows, T, S, N)
        tokens = tf.repeat(tf.reshape(ids, [batch, count]), copies * steps, axis=0)  # (rows·T, S·N)
        places = tf.reshape(_flat_places(tokens, self.vocabulary_size), [-1, 1])
        found = tf.scatter_nd(
            places, tf.reshape(parts, [-1]), [rows * steps * self.vocabulary_size]
        )
        found = tf.reshape(found, [rows, steps, self.vocabulary_size])
        return tf.ensure_shape(found, (None, None, self.vocabulary_size))

    def index_entries(self, source_ids, trim=False):
        """Sort the entries of sources, for `add_bias`.

        Args:
            source_ids: int32 tensor `(batch, source_length)`.
            trim: bool, whether `tokens` is as short as the batch allows; not for XLA, which needs
                fixed shapes.

        Returns:
            A dict of tensors `(batch, entries)`. The entries of a source are sorted by their target
            tokens: `steps` are their source steps, `chances` are p(y | x), and `places` number the
            different target tokens. `tokens` are these target tokens, each once, then zeros.
        """
        ids, chances = self.entries(tf.cast(source_ids, tf.int32))  # (B, S, N)
        batch, length, each = (dimension(ids, axis) for axis in range(3))
        count = length * each
        chances = tf.reshape(tf.broadcast_to(chances, tf.shape(ids)), [batch, count])
        # Entries that are not used share one token.
        ids = tf.where(chances > 0, tf.reshape(ids, [batch, count]), 0)
        order = tf.argsort(ids, axis=-1)
        ids = tf.gather(ids, order, batch_dims=1)
        differs = tf.concat([tf.zeros_like(ids[:, :1], tf.bool), ids[:, 1:] != ids[:, :-1]], 1)
        places = tf.cumsum(tf.cast(differs, tf.int32), axis=-1)
        tokens = tf.math.unsorted_segment_max(
            tf.reshape(ids, [-1]), _flat_places(places, count), batch * count
        )
        tokens = tf.reshape(tf.maximum(tokens, 0), [batch, count])
        if trim:
            tokens = tokens[:, : tf.maximum(tf.reduce_max(places), -1) + 1]
        return {
            "steps": order // each,
            "chances": tf.gather(chances, order, batch_dims=1),
            "places": places,
            "tokens": tokens,
        }

    def add_bias(self, logits, weights, index, epsilon):
        """Add log(1 + p_src / ε) to logits, at the target tokens of the source alone.

        This is log(p_src + ε) up to a constant, which a softmax cancels.

        Args:
            logits: float32 tensor `(rows, V)`.
            weights: float tensor `(rows, source_length)`, a; see the class for its rows.
            index: the result of `index_entries` for the sources.
            epsilon: ε, a float.

        Returns:
            A float32 tensor `(rows, V)`.
        """
        weights = tf.cast(weights, logits.dtype)
        batch, count = (dimension(index["places"], axis) for axis in range(2))
        rows, length = (dimension(weights, axis) for axis in range(2))
        copies = _copies(rows, batch)
        weights = tf.transpose(tf.reshape(weights, [batch, copies, length]), [0, 2, 1])  # (B, S, K)
        parts = tf.gather(weights, index["steps"], batch_dims=1)  # (B, E, K)
        parts *= tf.cast(index["chances"], logits.dtype)[..., tf.newaxis]
        tokens = index["tokens"]  # (B, U)
        sums = _sum_by_place(parts, index["places"], count)[:, : dimension(tokens, 1)]
        sums = tf.transpose(sums, [0, 2, 1])  # (B, K, U)
        tokens = tf.repeat(tokens, copies, axis=0)  # (rows, U)
        places = tf.reshape(_flat_places(tokens, self.vocabulary_size), [-1, 1])
        bias = tf.reshape(tf.math.log1p(sums / epsilon), [-1])
        # The zeros after the tokens of a source get nothing: their sums are 0.
        found = tf.tensor_scatter_nd_add(tf.reshape(logits, [-1]), places, bias)
        return tf.reshape(found, [rows, self.vocabulary_size])

    def compute_output_spec(self, weights, source_ids):
        """Return the shape and dtype of the distribution."""
        dtype = loop_dtype(self.compute_dtype).name
        return keras.KerasTensor((*weights.shape[:2], self.vocabulary_size), dtype=dtype)

    def get_config(self):
        """Return the constructor arguments."""
        return {**super().get_config(), "vocabulary_size": self.vocabulary_size}


def _copies(rows, batch):
    """Return the number of hypotheses of each source."""
    return rows // (tf.maximum(batch, 1) if tf.is_tensor(batch) else max(batch, 1))


def _sum_by_place(parts, places, size):
    """Sum the parts `(batch, entries, columns)` at each place below `size`, in each row.

    Args:
        parts: float tensor `(batch, entries, columns)`.
        places: int32 tensor `(batch, entries)`.
        size: int or int tensor.

    Returns:
        A tensor `(batch, size, columns)`.
    """
    batch, count, columns = (dimension(parts, axis) for axis in range(3))
    sums = tf.math.unsorted_segment_sum(
        tf.reshape(parts, [batch * count, columns]), _flat_places(places, size), batch * size
    )
    return tf.reshape(sums, [batch, size, columns])


def _flat_places(places, count):
    """Return places `(batch, count)` as `(batch * count,)`, those of each row after the last's."""
    return tf.reshape(places + count * tf.range(dimension(places, 0))[:, tf.newaxis], [-1])
