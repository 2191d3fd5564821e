"""The distribution of the translations of source tokens in a lexicon."""

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.layers.source_distribution.base import SourceDistribution


def check_selectors(name, selectors, source_vocabulary_size):
    """Return the tokens that select a lexicon as a list of ints, or raise a `ValueError`."""
    tokens = [check_integer(name, token, minimum=0) for token in selectors]
    if len(set(tokens)) < len(tokens) or max(tokens, default=0) >= source_vocabulary_size:
        raise ValueError(
            f"`{name}` must be different source tokens, from 0 to {source_vocabulary_size - 1}, "
            f"got {tokens}."
        )
    return tokens


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class LexiconDistribution(SourceDistribution):
    """Distribution of the translations of source tokens in a lexicon p_lex.

    ```
    p_src(y) = Σ_j a_j p_lex(y | x_j)
    ```

    (Arthur, Neubig and Nakamura 2016, "Incorporating discrete translation lexicons into neural
    machine translation", section 3.1). The lexicon is not trained. It holds the most probable
    target tokens of each source token, and is empty until `set_lexicon` is called.

    With `selectors` there is a lexicon for each of them, such as for each target language of a
    multilingual model. The selector among the tokens of a source selects its lexicon; without one,
    it is the first.

    Args:
        vocabulary_size: int, V, the number of target tokens.
        source_vocabulary_size: int, the number of source tokens.
        entries: int, the largest number of target tokens per source token.
        selectors: list of ints, source tokens; empty for one lexicon.
        **kwargs: arguments of `keras.layers.Layer`, such as `name` and `dtype`.

    Call arguments and return value: see `SourceDistribution`.

    Raises:
        ValueError: if a size is not positive, or `selectors` are not different source tokens.

    Example:
    >>> layer = LexiconDistribution(4, source_vocabulary_size=3, entries=2)
    >>> layer.set_lexicon([[0, 0], [1, 2], [3, 0]], [[0, 0], [0.75, 0.25], [1, 0]])
    >>> weights, index = tf.constant([[[0.8, 0.2]]]), layer.index_entries([[1, 2]])
    >>> tokens, probabilities = layer(weights, index)
    >>> tokens.numpy().tolist()
    [[[0, 1, 2, 3]]]
    >>> probabilities.numpy().round(1)
    array([[[0. , 0.6, 0.2, 0.2]]], dtype=float32)
    """

    def __init__(self, vocabulary_size, source_vocabulary_size, entries=10, selectors=(), **kwargs):
        super().__init__(vocabulary_size, **kwargs)
        self.source_vocabulary_size = check_integer(
            "source_vocabulary_size", source_vocabulary_size, minimum=1
        )
        self.entry_count = check_integer("entries", entries, minimum=1)
        self.selectors = check_selectors("selectors", selectors, source_vocabulary_size)

    @property
    def lexicon_shape(self):
        """The shape of the tables; with selectors, their number comes first."""
        shape = (self.source_vocabulary_size, self.entry_count)
        return (len(self.selectors), *shape) if self.selectors else shape

    def build(self, *shapes):
        """Create the tables of target tokens and probabilities."""
        options = {"shape": self.lexicon_shape, "initializer": "zeros", "trainable": False}
        options["autocast"] = False
        # TensorFlow keeps int32 variables on the CPU, where steps compiled for a GPU cannot read.
        self.target_ids = self.add_weight(name="target_ids", dtype="int64", **options)
        self.probabilities = self.add_weight(name="probabilities", dtype="float32", **options)
        self.built = True

    def set_lexicon(self, target_ids, probabilities):
        """Set the lexicon, such as one from `keras_seqzoo.models.train_ibm_model`.

        Args:
            target_ids: int array `(source_vocabulary_size, entries)`, or with selectors
                `(selectors, source_vocabulary_size, entries)`.
            probabilities: float array of the same shape: p_lex of each; 0 for no entry.

        Raises:
            ValueError: if a shape is wrong, an id is outside the target vocabulary, or a row of
                probabilities has a negative number or sums to more than 1.
        """
        if not self.built:
            self.build()
        ids, values = np.asarray(target_ids), np.asarray(probabilities, np.float32)
        shape = self.lexicon_shape
        for name, array in (("target_ids", ids), ("probabilities", values)):
            if array.shape != shape:
                raise ValueError(f"`{name}` must have the shape {shape}, got {array.shape}.")
        if ids.min() < 0 or ids.max() >= self.vocabulary_size:
            raise ValueError(
                f"`target_ids` must be from 0 to {self.vocabulary_size - 1}, got {ids.min()} to "
                f"{ids.max()}."
            )
        if not values.min() >= 0 or not values.sum(axis=-1).max() <= 1.001:
            raise ValueError(
                "`probabilities` must be at least 0 and at most 1 in the sum of a row, got "
                f"{values.min():.3g} to {values.sum(axis=-1).max():.3g}."
            )
        self.target_ids.assign(ids)
        self.probabilities.assign(values)

    def entries(self, source_ids):
        """Return the entries of the lexicon."""
        if not self.built:
            self.build()
        if self.selectors:
            selects = source_ids[:, :, tf.newaxis] == self.selectors  # (B, S, selectors)
            chosen = tf.argmax(tf.reduce_any(selects, axis=1), axis=-1, output_type=tf.int32)
            source_ids += self.source_vocabulary_size * chosen[:, tf.newaxis]
        ids, probabilities = (
            tf.gather(tf.reshape(table, [-1, self.entry_count]), source_ids)
            for table in (self.target_ids, self.probabilities)
        )
        return tf.cast(ids, tf.int32), probabilities

    def get_config(self):
        """Return the constructor arguments."""
        return {
            **super().get_config(),
            "source_vocabulary_size": self.source_vocabulary_size,
            "entries": self.entry_count,
            "selectors": self.selectors,
        }
