"""The base class of distributions over target tokens from the attended source tokens."""

import keras
import tensorflow as tf

from keras_seqzoo._compat import is_compiled_by_xla
from keras_seqzoo.checks import check_integer
from keras_seqzoo.tensors import dimension, loop_dtype


class SourceDistribution(keras.layers.Layer):
    """Base class of distributions over target tokens from the attended source tokens.

    ```
    p_src(y) = Σ_j a_j p(y | x_j)
    ```

    A subclass defines p(y | x) by `entries`. Target tokens that no source token leads to have
    probability 0. Padding with attention weight 0 contributes nothing. The layer computes the
    probabilities of the other tokens alone, far fewer than V: at most `source_length` times the
    entries of a token.

    Args:
        vocabulary_size: int, V, the number of target tokens.
        **kwargs: arguments of `keras.layers.Layer`, such as `name` and `dtype`.

    Call arguments:
        weights: float tensor `(rows, steps, source_length)`, a, the attention weights.
        index: the result of `index_entries` for the source. `rows` is its batch or, in a search, a
            multiple of it, with the hypotheses of a source one after another.

    Returns:
        A tuple of target tokens, an int32 tensor `(rows, steps, tokens)`, and their p_src, of the
        same shape, in float64 for float64, else in float32. Tokens with a probability above 0
        differ.
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

    def index_entries(self, source_ids):
        """Sort the entries of sources by their target tokens, once for all steps.

        Args:
            source_ids: int tensor `(batch, source_length)`.

        Returns:
            A dict of tensors. Those of shape `(batch, entries)`, sorted by their target tokens:
            `steps` are their source steps, `chances` are p(y | x), and `places` number the
            different target tokens. `tokens`, `(batch, tokens)`, are these target tokens, each
            once, then zeros; under XLA, which needs fixed shapes, they are as many as the entries.
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
        if not is_compiled_by_xla():
            tokens = tokens[:, : tf.maximum(tf.reduce_max(places), -1) + 1]
        return {
            "steps": order // each,
            "chances": tf.gather(chances, order, batch_dims=1),
            "places": places,
            "tokens": tokens,
        }

    def call(self, weights, index):
        """Compute the probabilities; see the class."""
        weights = tf.cast(weights, loop_dtype(self.compute_dtype))
        rows, steps, length = (dimension(weights, axis) for axis in range(3))
        batch, count = (dimension(index["places"], axis) for axis in range(2))
        tokens = index["tokens"]  # (B, U)
        copies = rows // (tf.maximum(batch, 1) if tf.is_tensor(batch) else max(batch, 1))
        # Each entry is a row of a segment sum, with the steps of all hypotheses as its columns.
        columns = tf.reshape(weights, [batch, copies * steps, length])
        columns = tf.transpose(columns, [0, 2, 1])  # (B, S, columns)
        parts = tf.gather(columns, index["steps"], batch_dims=1)  # (B, E, columns)
        parts *= tf.cast(index["chances"], weights.dtype)[..., tf.newaxis]
        sums = tf.math.unsorted_segment_sum(
            tf.reshape(parts, [batch * count, copies * steps]),
            _flat_places(index["places"], count),
            batch * count,
        )
        sums = tf.reshape(sums, [batch, count, copies * steps])[:, : dimension(tokens, 1)]
        sums = tf.reshape(tf.transpose(sums, [0, 2, 1]), [rows, steps, dimension(tokens, 1)])
        tokens = tf.repeat(tokens, copies, axis=0)[:, tf.newaxis]  # (rows, 1, U)
        return tf.broadcast_to(tokens, tf.shape(sums)), sums

    def compute_output_spec(self, weights, index):
        """Return the shapes and dtypes of the tokens and their probabilities."""
        shape = (*weights.shape[:2], None)
        dtype = loop_dtype(self.compute_dtype)
        return keras.KerasTensor(shape, "int32"), keras.KerasTensor(shape, tf.as_dtype(dtype).name)

    def get_config(self):
        """Return the constructor arguments."""
        return {**super().get_config(), "vocabulary_size": self.vocabulary_size}


def _flat_places(places, count):
    """Return places `(batch, count)` as `(batch * count,)`, those of each row after the last's."""
    return tf.reshape(places + count * tf.range(dimension(places, 0))[:, tf.newaxis], [-1])
