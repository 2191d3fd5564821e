"""N-gram tables in a graph."""

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.models.language_model.ngram.backoff import BackoffTable


class NGramLookup(keras.layers.Layer):
    """Backoff tables as weights, and how a graph reads them.

    An n-gram is known by its place in the table of its order, as in `BackoffTable`; -1 is one that
    is not there. Its key there, context · V + word, is found by bisection.

    Args:
        sizes: list of ints, the n-grams of the orders 1, 2, ...; the first is V.
    """

    def __init__(self, sizes, **kwargs):
        super().__init__(**kwargs)
        self.sizes = [int(size) for size in sizes]
        self.vocabulary_size, self.order = self.sizes[0], len(self.sizes)
        self.keys, self.log_probabilities, self.log_backoffs = [], [], []
        for n, size in enumerate(self.sizes, 1):

            def weight(name, dtype, n=n, size=size):
                return self.add_weight(
                    shape=(size,),
                    initializer="zeros",
                    dtype=dtype,
                    trainable=False,
                    autocast=False,
                    name=f"{name}_{n}",
                )

            if n > 1:
                self.keys.append(weight("keys", "int64"))
            self.log_probabilities.append(weight("log_probabilities", "float32"))
            if n < self.order:
                self.log_backoffs.append(weight("log_backoffs", "float32"))
        self.built = True

    def set_tables(self, tables):
        """Sets the weights to a list of `BackoffTable` of the same sizes."""
        for n, table in enumerate(tables, 1):
            if n > 1:
                self.keys[n - 2].assign(table.keys(self.vocabulary_size))
            self.log_probabilities[n - 1].assign(table.log_probabilities)
            if n < self.order:
                self.log_backoffs[n - 1].assign(table.log_backoffs)

    def tables(self):
        """Gives the weights as a list of `BackoffTable`."""
        tables = []
        for n, size in enumerate(self.sizes, 1):
            contexts, words = np.zeros(size, np.int32), np.arange(size, dtype=np.int32)
            if n > 1:
                keys = self.keys[n - 2].numpy()
                contexts, words = (x.astype(np.int32) for x in divmod(keys, self.vocabulary_size))
            longest = n == self.order
            backoffs = np.zeros(size, np.float32) if longest else self.log_backoffs[n - 1].numpy()
            scores = self.log_probabilities[n - 1].numpy()
            tables.append(BackoffTable(contexts, words, scores, backoffs))
        return tables

    def extend(self, contexts, words):
        """Gives the contexts after each has been followed by a word.

        Args:
            contexts: int32 tensor `(..., N - 1)`, the places of the last 1, 2, ... N - 1 words.
            words: int32 tensor `(...)`.

        Returns:
            int32 tensor `(..., N - 1)`.
        """
        if self.order == 1:
            return contexts
        places = [words]
        for n in range(2, self.order):
            places.append(self.place(n, contexts[..., n - 2], words))
        return tf.stack(places[: self.order - 1], axis=-1)

    def log_probability(self, contexts, words):
        """Gives log P of words after contexts `(..., N - 1)`: float32 `(...)`."""
        result = tf.gather(self.log_probabilities[0], words)
        for n in range(2, self.order + 1):
            context = contexts[..., n - 2]
            place = self.place(n, context, words)
            own = tf.gather(self.log_probabilities[n - 1], tf.maximum(place, 0))
            result = tf.where(place >= 0, own, result + self._backoff(n, context))
        return result

    def distribution(self, contexts):
        """Gives log P of all words after contexts `(rows, N - 1)`: float32 `(rows, V)`."""
        rows = tf.shape(contexts)[0]
        result = tf.repeat(tf.convert_to_tensor(self.log_probabilities[0])[tf.newaxis], rows, 0)
        for n in range(2, self.order + 1):
            context = contexts[:, n - 2]
            result += self._backoff(n, context)[:, tf.newaxis]
            # The n-grams of a context follow one another.
            key = tf.cast(context, tf.int64) * self.vocabulary_size
            keys = tf.convert_to_tensor(self.keys[n - 2])
            first = tf.searchsorted(keys, key)
            last = tf.searchsorted(keys, key + self.vocabulary_size)
            last = tf.where(context >= 0, last, first)
            places = tf.ragged.range(first, last)  # (rows, None)
            row = tf.cast(places.value_rowids(), tf.int64)
            word = tf.gather(keys, places.flat_values) - tf.gather(key, row)
            own = tf.gather(self.log_probabilities[n - 1], places.flat_values)
            result = tf.tensor_scatter_nd_update(result, tf.stack([row, word], axis=-1), own)
        return result

    def place(self, n, contexts, words):
        """Gives the places of n-grams of an order, of contexts of n - 1 words and a last word."""
        key = tf.cast(contexts, tf.int64) * self.vocabulary_size + tf.cast(words, tf.int64)
        keys = tf.convert_to_tensor(self.keys[n - 2])
        flat = tf.searchsorted(keys, tf.reshape(key, [-1]))
        place = tf.minimum(tf.reshape(flat, tf.shape(key)), self.sizes[n - 1] - 1)
        return tf.where((contexts >= 0) & (tf.gather(keys, place) == key), place, -1)

    def _backoff(self, n, contexts):
        """Gives the backoff weights of contexts of n - 1 words, 0 for those that are not there."""
        own = tf.gather(self.log_backoffs[n - 2], tf.maximum(contexts, 0))
        return tf.where(contexts >= 0, own, 0.0)

    def get_config(self):
        """Returns the constructor arguments."""
        return {**super().get_config(), "sizes": self.sizes}
