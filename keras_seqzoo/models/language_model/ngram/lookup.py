"""N-gram tables as weights of a layer."""

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.models.language_model.ngram.backoff import BackoffTable


class NGramLookup(keras.layers.Layer):
    """Backoff tables as weights, with lookups in TensorFlow ops.

    An n-gram is given by its row in the table of its order, see `BackoffTable`, or -1 if it is
    missing. A row is found by binary search for its key, context · V + word.

    Args:
        sizes: list of ints, the numbers of n-grams of the orders 1, 2, ...; the first is V.
    """

    def __init__(self, sizes, **kwargs):
        super().__init__(**kwargs)
        self.supports_jit = False  # XLA does not support ranges of different lengths
        self.sizes = [int(size) for size in sizes]
        self.vocabulary_size, self.order = self.sizes[0], len(self.sizes)
        self.keys, self.log_probabilities, self.log_backoffs = [], [], []
        for n in range(1, self.order + 1):
            if n > 1:
                self.keys.append(self._add_column("keys", n, "int64"))
            self.log_probabilities.append(self._add_column("log_probabilities", n, "float32"))
            if n < self.order:
                self.log_backoffs.append(self._add_column("log_backoffs", n, "float32"))
        self.built = True

    def _add_column(self, name, n, dtype):
        return self.add_weight(
            shape=(self.sizes[n - 1],),
            initializer="zeros",
            dtype=dtype,
            trainable=False,
            autocast=False,
            name=f"{name}_{n}",
        )

    def set_tables(self, tables):
        """Set the weights from a list of `BackoffTable` of the same sizes."""
        for n, table in enumerate(tables, 1):
            if n > 1:
                self.keys[n - 2].assign(table.keys(self.vocabulary_size))
            self.log_probabilities[n - 1].assign(table.log_probabilities)
            if n < self.order:
                self.log_backoffs[n - 1].assign(table.log_backoffs)

    def tables(self):
        """Return the weights as a list of `BackoffTable`."""
        tables = []
        for n, size in enumerate(self.sizes, 1):
            contexts, words = np.zeros(size, np.int32), np.arange(size, dtype=np.int32)
            if n > 1:
                keys = self.keys[n - 2].numpy()
                contexts, words = (x.astype(np.int32) for x in divmod(keys, self.vocabulary_size))
            backoffs = np.zeros(size, np.float32)
            if n < self.order:
                backoffs = self.log_backoffs[n - 1].numpy()
            scores = self.log_probabilities[n - 1].numpy()
            tables.append(BackoffTable(contexts, words, scores, backoffs))
        return tables

    def extend(self, contexts, words):
        """Append a word to each context.

        Args:
            contexts: int32 tensor `(..., N - 1)`, the rows of the last 1, 2, ... N - 1 words.
            words: int32 tensor `(...)`.

        Returns:
            int32 tensor `(..., N - 1)`.
        """
        if self.order == 1:
            return contexts
        rows = [words]
        for n in range(2, self.order):
            rows.append(self.find(n, contexts[..., n - 2], words))
        return tf.stack(rows, axis=-1)

    def log_probability(self, contexts, words):
        """Compute log P of words after contexts `(..., N - 1)`: float32 `(...)`."""
        result = tf.gather(self.log_probabilities[0], words)
        for n in range(2, self.order + 1):
            context = contexts[..., n - 2]
            row = self.find(n, context, words)
            scores = tf.gather(self.log_probabilities[n - 1], tf.maximum(row, 0))
            result = tf.where(row >= 0, scores, result + self._backoff(n, context))
        return result

    def distribution(self, contexts):
        """Compute log P of all words after contexts `(rows, N - 1)`: float32 `(rows, V)`."""
        rows = tf.shape(contexts)[0]
        result = tf.repeat(tf.convert_to_tensor(self.log_probabilities[0])[tf.newaxis], rows, 0)
        for n in range(2, self.order + 1):
            context = contexts[:, n - 2]
            result += self._backoff(n, context)[:, tf.newaxis]
            # The n-grams of a context are consecutive.
            key = tf.cast(context, tf.int64) * self.vocabulary_size
            keys = tf.convert_to_tensor(self.keys[n - 2])
            first = tf.searchsorted(keys, key)
            last = tf.searchsorted(keys, key + self.vocabulary_size)
            last = tf.where(context >= 0, last, first)
            entries = tf.ragged.range(first, last)  # (rows, None)
            row = tf.cast(entries.value_rowids(), tf.int64)
            word = tf.gather(keys, entries.flat_values) - tf.gather(key, row)
            scores = tf.gather(self.log_probabilities[n - 1], entries.flat_values)
            result = tf.tensor_scatter_nd_update(result, tf.stack([row, word], axis=-1), scores)
        return result

    def find(self, n, contexts, words):
        """Return the rows of n-grams from the rows of their contexts and their last words."""
        key = tf.cast(contexts, tf.int64) * self.vocabulary_size + tf.cast(words, tf.int64)
        keys = tf.convert_to_tensor(self.keys[n - 2])
        flat = tf.searchsorted(keys, tf.reshape(key, [-1]))
        row = tf.minimum(tf.reshape(flat, tf.shape(key)), self.sizes[n - 1] - 1)
        return tf.where((contexts >= 0) & (tf.gather(keys, row) == key), row, -1)

    def _backoff(self, n, contexts):
        """Return the log backoffs of contexts of n - 1 words, 0 for missing ones."""
        backoffs = tf.gather(self.log_backoffs[n - 2], tf.maximum(contexts, 0))
        return tf.where(contexts >= 0, backoffs, 0.0)

    def get_config(self):
        """Return the constructor arguments."""
        return {**super().get_config(), "sizes": self.sizes}
