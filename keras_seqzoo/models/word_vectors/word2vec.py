"""Word2vec: word vectors trained to predict neighbouring words."""

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_choice, check_integer, check_number
from keras_seqzoo.layers.large_softmax.hierarchical import huffman_paths, huffman_tree
from keras_seqzoo.models.word_vectors.model import WordVectorModel, seed_of
from keras_seqzoo.models.word_vectors.vectors import WordVectors
from keras_seqzoo.models.word_vectors.windows import (
    block_windows,
    keep_probabilities,
    neighbours,
    windows,
)
from keras_seqzoo.replicas import part_of_mean
from keras_seqzoo.tensors import gather_rows

# CBOW makes one prediction for each word, skip-gram one for each neighbour.
NOISE_WORDS = {"skip-gram": 64, "cbow": 32}
ARCHITECTURES = tuple(NOISE_WORDS)
OBJECTIVES = ("negative-sampling", "hierarchical", "full")


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class Word2Vec(WordVectorModel):
    """Word2vec (Mikolov et al., 2013): word vectors trained to predict neighbouring words.

    A text has words w_1 … w_N with vectors v_w and output vectors u_w. The skip-gram model predicts
    each neighbour from a word. The continuous bag of words (CBOW) predicts a word from the mean of
    its neighbours:

        skip-gram:  Σ_i Σ_{j near i} log P(w_j | v_{w_i})
        CBOW:       Σ_i log P(w_i | mean_{j near i} v_{w_j})

    with P(w | h) one of

        full:               exp(u_w·h) / Σ_w' exp(u_w'·h)
        hierarchical:       Π_{n on the path to w} σ(± u_n·h), in Huffman's tree
        negative sampling:  log σ(u_w·h) + k E_{w' ~ count^0.75} log σ(-u_w'·h) in place of log P

    "Near" means within a distance drawn from 1 to `window` for each word.

    Words are read in rows that share their noise words, so that scores are matrix products (Ji et
    al., 2016, Parallelizing Word2Vec in Shared and Distributed Memory). A row draws `noise_words`,
    weighted by k / `noise_words`. The expected loss is the same as with k noise words for each
    pair.

    Args:
        words: list of strings.
        counts: integers `(V,)`, the count of each word, for noise, tree and subsampling.
        dimensions: int, the size of the vectors.
        architecture: `"skip-gram"` or `"cbow"`.
        objective: `"negative-sampling"`, `"hierarchical"` or `"full"`.
        window: int, the maximum number of words on each side.
        negatives: int, k.
        noise_words: int, noise words of a row; by default 64 for skip-gram and 32 for CBOW.
        subsample: float, t, the relative frequency above which words are subsampled, see
            `keep_probabilities`; 0 keeps all words.
        **kwargs: `name`.

    Call arguments:
        words: int tensor of any shape `(...)`, the row numbers of words.

    Returns:
        The vectors, a float32 tensor `(..., dimensions)`.

    Raises:
        ValueError: if an argument is out of its range.

    Example:
    ```python
    model = Word2Vec.for_text(lines, dimensions=100, minimum_count=5)
    model.compile()
    model.fit(model.batches(lines), epochs=5)
    model.vectors().most_similar("film")
    ```
    """

    def __init__(
        self,
        words,
        counts,
        dimensions=100,
        architecture="skip-gram",
        objective="negative-sampling",
        window=5,
        negatives=5,
        noise_words=None,
        subsample=1e-3,
        **kwargs,
    ):
        super().__init__(words, counts, dimensions, window, **kwargs)
        check_choice("architecture", architecture, ARCHITECTURES)
        check_choice("objective", objective, OBJECTIVES)
        self.architecture = architecture
        self.objective = objective
        self.negatives = check_integer("negatives", negatives, minimum=1)
        if noise_words is None:
            noise_words = NOISE_WORDS[architecture]
        self.noise_words = check_integer("noise_words", noise_words, minimum=1)
        self.subsample = check_number("subsample", subsample, minimum=0.0)
        self.seed_generator = keras.random.SeedGenerator()  # of the noise words
        self._create_weights()
        self.built = True

    def _create_weights(self):
        size = len(self.words)
        rows = size - 1 if self.objective == "hierarchical" else size
        self.embeddings = self.add_vectors(size, "embeddings")
        self.output_vectors = self.add_weight(
            shape=(rows, self.dimensions),
            initializer="zeros",
            autocast=False,
            name="output_vectors",
        )
        if self.objective == "hierarchical":
            tree = huffman_tree(self.counts.astype(np.float64))
            self._nodes, self._turns, _ = huffman_paths(*tree, size)
        if self.objective == "negative-sampling":
            noise = np.maximum(self.counts, 1) ** 0.75
            self._noise = tf.constant(np.cumsum(noise / noise.sum()), tf.float32)

    def batches(self, texts, words=16_384, row_length=64, seed=0, block_words=2**24):
        """Create the dataset for `fit`, with windows drawn again in each epoch.

        Words without a vector are removed before windows are made, as in word2vec's program. A text
        of more than `block_words` is first counted, then read again in each epoch, one block at a
        time. Its batches are shuffled within their block.

        Args:
            texts: see `for_text`, or the result of `encode`; windows stay within a line. A long
                text must be an iterable that can be iterated several times.
            words: int, the number of words of the text in a batch.
            row_length: int, the number of words that share their noise words.
            seed: int or sequence of ints. With the same seed, the first iterations of two datasets
                yield the same batches, and so do the second ones, and so on.
            block_words: int, the number of words of the text in memory, 8 bytes each, rounded up to
                whole batches.

        Returns:
            A `tf.data.Dataset`, see `windows`.

        Raises:
            ValueError: if no word of the text has a vector, or an argument is out of its range.
        """
        check_integer("words", words, minimum=1)
        blocks = self.read_blocks(texts, block_words, words)
        keep = keep_probabilities(self.counts, self.subsample)
        options = {"row_length": row_length, "words": words, "seed": seed_of(seed)}
        if blocks.only is not None:
            return windows(*blocks.only, keep, self.window, **options)
        return block_windows(blocks.read, -(-blocks.words // words), keep, self.window, **options)

    def call(self, words):
        """Return the vectors of words, or of the words of a batch of windows."""
        words = words["words"] if isinstance(words, dict) else words
        return gather_rows(self.embeddings, words)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """Compute the mean loss of the predictions in a batch of windows.

        With several replicas (`tf.distribute`), each one computes its part of the mean.
        """
        near = neighbours(x["sentences"], x["reach"], self.window)
        inside = slice(self.window, -self.window)
        if self.architecture == "skip-gram":
            hidden, words, targets = y_pred[:, inside], x["words"], near
        else:
            number = tf.reduce_sum(near, axis=2, keepdims=True)
            hidden = tf.matmul(near, y_pred) / tf.maximum(number, 1.0)
            words, targets = x["words"][:, inside], tf.minimum(number, 1.0)
        losses = {
            "negative-sampling": self._negative_sampling,
            "hierarchical": self._hierarchical,
            "full": self._full,
        }[self.objective](hidden, words, targets)
        return part_of_mean(tf.reduce_sum(losses), tf.reduce_sum(targets))

    # hidden: (rows, length, dimensions). With skip-gram each position predicts the words of its row
    # whose target is 1: words (rows, width), targets (rows, length, width). With CBOW it predicts
    # only the word at the same position: words (rows, length), targets (rows, length, 1).

    def _products(self, hidden, vectors):
        if self.architecture == "skip-gram":
            return tf.matmul(hidden, vectors, transpose_b=True)
        return tf.reduce_sum(hidden * vectors, axis=2, keepdims=True)

    def _negative_sampling(self, hidden, words, targets):
        scores = self._products(hidden, gather_rows(self.output_vectors, words))
        losses = tf.reduce_sum(targets * tf.nn.softplus(-scores), axis=2)
        shape = [tf.shape(words)[0], self.noise_words]
        drawn = tf.random.stateless_uniform(shape, self.seed_generator.next())
        noise = tf.searchsorted(self._noise, tf.reshape(drawn, [-1]))
        noise = tf.reshape(tf.minimum(noise, len(self.words) - 1), tf.shape(drawn))
        scores = tf.matmul(hidden, gather_rows(self.output_vectors, noise), transpose_b=True)
        weight = tf.reduce_sum(targets, axis=2) * (self.negatives / self.noise_words)
        return losses + weight * tf.reduce_sum(tf.nn.softplus(scores), axis=2)

    def _hierarchical(self, hidden, words, targets):
        nodes, turns = tf.gather(self._nodes, words), tf.gather(self._turns, words)
        rows = gather_rows(self.output_vectors, nodes)  # (rows, width, longest path, dimensions)
        if self.architecture == "skip-gram":
            scores, turns = tf.einsum("rld,rwpd->rlwp", hidden, rows), turns[:, tf.newaxis]
        else:
            scores = tf.einsum("rld,rlpd->rlp", hidden, rows)[:, :, tf.newaxis]
            turns = turns[:, :, tf.newaxis]
        turned = tf.where(turns == 0, 0.0, tf.nn.softplus(-turns * scores))
        return tf.reduce_sum(targets * tf.reduce_sum(turned, axis=3), axis=2)

    def _full(self, hidden, words, targets):
        scores = self._products(hidden, gather_rows(self.output_vectors, words))
        everything = tf.einsum("rld,vd->rlv", hidden, tf.convert_to_tensor(self.output_vectors))
        total = tf.reduce_logsumexp(everything, axis=2)
        return tf.reduce_sum(targets, axis=2) * total - tf.reduce_sum(targets * scores, axis=2)

    def vectors(self):
        """Return the trained `WordVectors`."""
        return WordVectors(self.words, keras.ops.convert_to_numpy(self.embeddings))

    def get_config(self):
        """Return the constructor arguments."""
        return {
            **super().get_config(),
            "architecture": self.architecture,
            "objective": self.objective,
            "negatives": self.negatives,
            "noise_words": self.noise_words,
            "subsample": self.subsample,
        }
