"""GloVe: word vectors from the logarithms of co-occurrence counts."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_integer, check_number
from keras_seqzoo.models.word_vectors.cooccurrences import (
    Cooccurrences,
    count_cooccurrences,
    pair_batches,
)
from keras_seqzoo.models.word_vectors.model import WordVectorModel, seed_of
from keras_seqzoo.models.word_vectors.vectors import WordVectors
from keras_seqzoo.replicas import part_of_mean
from keras_seqzoo.tensors import gather_rows


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class GloVe(WordVectorModel):
    """GloVe (Pennington et al., 2014): vectors that predict the logarithms of co-occurrence counts.

    X_ij counts how often the words i and j occur near each other: Σ 1 / d over the pairs of
    positions d ≤ `window` apart. Words have vectors w_i and biases b_i, and as context others, w̃_j
    and b̃_j. The loss is weighted least squares:

        Σ_{X_ij > 0} f(X_ij) (w_i·w̃_j + b_i + b̃_j - log X_ij)²,    f(x) = min(1, (x / x_max)^α)

    `fit` reports its mean over the pairs of a batch. The result is w_i + w̃_i. The authors train
    with AdaGrad; here AdaGrad has one sum of squares for each row (`RowAdagrad`).

    Args:
        words: list of strings.
        counts: integers `(V,)`, the count of each word.
        dimensions: int, the size of the vectors.
        window: int, the maximum number of words on each side.
        x_max: float, the count from which pairs have the full weight; 100 in the paper, for large
            texts, and 10 in the program's example for text8.
        alpha: float, α.
        **kwargs: `name`.

    Call arguments:
        words: int tensor of any shape `(...)`, the row numbers of words; or a batch of pairs, a
            dict of `rows` and `columns`, int32 `(pairs,)`.

    Returns:
        The vectors w + w̃, a float32 tensor `(..., dimensions)`; or the predicted logarithms,
        float32 `(pairs,)`.

    Raises:
        ValueError: if an argument is out of its range.

    Example:
    ```python
    model = GloVe.for_text(lines, dimensions=100, minimum_count=5)
    model.compile()
    model.fit(model.batches(lines), epochs=25)
    model.vectors().most_similar("film")
    ```
    """

    def __init__(self, words, counts, dimensions=100, window=10, x_max=100.0, alpha=0.75, **kwargs):
        super().__init__(words, counts, dimensions, window, **kwargs)
        self.x_max = check_number("x_max", x_max, minimum=1e-6)
        self.alpha = check_number("alpha", alpha, minimum=0.0)
        size = len(self.words)
        self.embeddings = self.add_vectors(size, "embeddings")
        self.context_vectors = self.add_vectors(size, "context_vectors")
        self.biases = self.add_weight((size,), "zeros", autocast=False, name="biases")
        self.context_biases = self.add_weight(
            (size,), "zeros", autocast=False, name="context_biases"
        )
        self.built = True

    def count(self, texts, block_words=2**24):
        """Count the co-occurrences of a text, for `batches` of several epochs.

        Words without a vector are removed before windows are made, as in the authors' program.

        Args:
            texts: see `batches`.
            block_words: int, the number of words of the text in memory.

        Returns:
            `Cooccurrences`.

        Raises:
            ValueError: if no two words with a vector occur near each other.
        """
        blocks = self.read_blocks(texts, block_words)
        parts = blocks.read() if blocks.only is None else [blocks.only]
        found = count_cooccurrences(parts, len(self.words), self.window)
        if not len(found.counts):
            raise ValueError(
                "`texts` must have two words with vectors in one string, got none with two."
            )
        return found

    def batches(self, texts, pairs=16_384, seed=0):
        """Create the dataset for `fit`, with the pairs in a new order in each epoch.

        Args:
            texts: see `for_text`, or the result of `encode` or of `count`. Windows stay within a
                line. A long text must be an iterable that can be iterated several times.
            pairs: int, the number of pairs of words in a batch.
            seed: int or sequence of ints. With the same seed, the first iterations of two datasets
                yield the same batches, and so do the second ones, and so on.

        Returns:
            A `tf.data.Dataset` of dicts of `rows` and `columns`, int32 `(pairs,)`, and `counts`,
            float32 `(pairs,)`.

        Raises:
            ValueError: see `count`.
        """
        check_integer("pairs", pairs, minimum=1)
        found = texts if isinstance(texts, Cooccurrences) else self.count(texts)
        return pair_batches(found, pairs, seed_of(seed))

    def call(self, words):
        """Return the vectors of words, or the predictions for a batch of pairs."""
        if not isinstance(words, dict):
            return gather_rows(self.embeddings, words) + gather_rows(self.context_vectors, words)
        rows, columns = words["rows"], words["columns"]
        products = gather_rows(self.embeddings, rows) * gather_rows(self.context_vectors, columns)
        biases = gather_rows(self.biases, rows) + gather_rows(self.context_biases, columns)
        return tf.reduce_sum(products, axis=1) + biases

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """Compute the mean loss of a batch of pairs.

        With several replicas (`tf.distribute`), each one computes its part of the mean.
        """
        counts = x["counts"]
        weights = tf.minimum(1.0, tf.pow(counts / self.x_max, self.alpha))
        losses = weights * tf.square(y_pred - tf.math.log(counts))
        return part_of_mean(tf.reduce_sum(losses), tf.cast(tf.size(losses), tf.float32))

    def vectors(self):
        """Return the trained `WordVectors`, w + w̃."""
        matrix = self.embeddings.numpy() + self.context_vectors.numpy()
        return WordVectors(self.words, matrix)

    def get_config(self):
        """Return the constructor arguments."""
        return {**super().get_config(), "x_max": self.x_max, "alpha": self.alpha}
