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
            A tuple of int32 ids and float32 probabilities, `(batch, source_length, entries)`.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement `entries`.")

    def call(self, weights, source_ids):
        """Compute the distribution; see the class."""
        dtype = loop_dtype(self.compute_dtype)
        weights = tf.cast(weights, dtype)
        rows, steps, length = (dimension(weights, axis) for axis in range(3))
        batch = dimension(source_ids, 0)
        ids, probabilities = self.entries(tf.cast(source_ids, tf.int32))  # (B, S, N)
        count = dimension(ids, 2)
        # Each entry is a row of a segment sum, with the steps of all hypotheses as its columns.
        copies = rows // (tf.maximum(batch, 1) if tf.is_tensor(batch) else max(batch, 1))
        columns = copies * steps
        weights = tf.reshape(weights, [batch, columns, length])
        weights = tf.transpose(weights, [0, 2, 1])[:, :, tf.newaxis]  # (B, S, 1, columns)
        parts = weights * tf.cast(probabilities, dtype)[..., tf.newaxis]
        places = ids + self.vocabulary_size * tf.range(batch)[:, tf.newaxis, tf.newaxis]
        sums = tf.math.unsorted_segment_sum(
            tf.reshape(parts, [batch * length * count, columns]),
            tf.reshape(places, [batch * length * count]),
            batch * self.vocabulary_size,
        )
        sums = tf.reshape(sums, [batch, self.vocabulary_size, columns])
        found = tf.reshape(tf.transpose(sums, [0, 2, 1]), [rows, steps, self.vocabulary_size])
        return tf.ensure_shape(found, (None, None, self.vocabulary_size))

    def compute_output_spec(self, weights, source_ids):
        """Return the shape and dtype of the distribution."""
        dtype = loop_dtype(self.compute_dtype).name
        return keras.KerasTensor((*weights.shape[:2], self.vocabulary_size), dtype=dtype)

    def get_config(self):
        """Return the constructor arguments."""
        return {**super().get_config(), "vocabulary_size": self.vocabulary_size}
