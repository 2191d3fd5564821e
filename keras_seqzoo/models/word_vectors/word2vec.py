"""Word vectors learned by predicting neighbours."""

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_choice, check_integer, check_number
from keras_seqzoo.layers.large_softmax.hierarchical import huffman_paths, huffman_tree
from keras_seqzoo.models.common.reloadable_model import ReloadableModel
from keras_seqzoo.models.word_vectors.row_adagrad import RowAdagrad
from keras_seqzoo.models.word_vectors.vectors import WordVectors
from keras_seqzoo.models.word_vectors.windows import keep_probabilities, neighbours, windows
from keras_seqzoo.tokenizers import WordTokenizer
from keras_seqzoo.tokenizers.text_tokenizer import SPECIAL_TOKENS
from keras_seqzoo.tokenizers.texts import count_pieces, frequent_pieces, text_batches
from keras_seqzoo.tokenizers.words import split_words

NOISE_WORDS = {"skip-gram": 64, "cbow": 32}
ARCHITECTURES = tuple(NOISE_WORDS)
OBJECTIVES = ("negative-sampling", "hierarchical", "full")
FIRST = len(SPECIAL_TOKENS)


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class Word2Vec(ReloadableModel, keras.Model):
    """Word2vec (Mikolov et al., 2013): vectors that predict which words stand near each other.

    In a text of words w_1 … w_N with vectors v_w and output vectors u_w, the skip-gram model
    predicts each neighbour from a word, and the continuous bag of words (CBOW) a word from the mean
    of its neighbours:

        skip-gram:  Σ_i Σ_{j near i} log P(w_j | v_{w_i})
        CBOW:       Σ_i log P(w_i | mean_{j near i} v_{w_j})

    with P(w | h) one of

        full:               exp(u_w·h) / Σ_w' exp(u_w'·h)
        hierarchical:       Π_{n on the path to w} σ(± u_n·h), in Huffman's tree
        negative sampling:  log σ(u_w·h) + k E_{w' ~ count^0.75} log σ(-u_w'·h) in place of log P

    Near is what lies within a distance that is drawn for each word, from 1 to `window`.

    Words are read in rows; the products of a row's words with all words around them, and with
    noise words that the row shares, are matrix products, of which windows take a band (the idea is
    that of Ji et al., 2016, Parallelizing Word2Vec in Shared and Distributed Memory). `noise_words`
    of them weighted with k / `noise_words` estimate the same expectation as k drawn for each pair.

    Args:
        words: list of strings.
        counts: integers `(V,)`, how often each word comes: noise, tree and thinning follow them.
        dimensions: int, the size of the vectors.
        architecture: `"skip-gram"` or `"cbow"`.
        objective: `"negative-sampling"`, `"hierarchical"` or `"full"`.
        window: int, the most words to one side.
        negatives: int, k.
        noise_words: int, noise words of a row; by default 64, and 32 with CBOW, where a word makes
            one prediction, not one for each neighbour.
        subsample: float, t: of frequent words only so many are read that each is about as if its
            share of the text were near t, see `keep_probabilities`; 0 reads all.
        **kwargs: `name`.

    Call arguments:
        words: integers of any shape `(...)`, numbers of words.

    Returns:
        Their vectors, float32 `(..., dimensions)`.

    Raises:
        ValueError: if an argument is outside its range or unknown.

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
        super().__init__(**kwargs)
        check_choice("architecture", architecture, ARCHITECTURES)
        check_choice("objective", objective, OBJECTIVES)
        self.words = list(words)
        self.counts = np.asarray(counts, np.int64)
        if self.counts.shape != (len(self.words),) or (self.counts < 0).any():
            raise ValueError(
                f"`counts` must be {len(self.words)} integers of at least 0, got an array of "
                f"shape {self.counts.shape}."
            )
        check_integer("number of words", len(self.words), minimum=2)
        self.dimensions = check_integer("dimensions", dimensions, minimum=1)
        self.architecture = architecture
        self.objective = objective
        self.window = check_integer("window", window, minimum=1)
        self.negatives = check_integer("negatives", negatives, minimum=1)
        if noise_words is None:
            noise_words = NOISE_WORDS[architecture]
        self.noise_words = check_integer("noise_words", noise_words, minimum=1)
        self.subsample = check_number("subsample", subsample, minimum=0.0)
        self.supports_jit = False  # a batch has any number of different words
        self._tokenizer = WordTokenizer(self.words)
        self._make_weights()
        self.built = True

    def _make_weights(self):
        size, half = len(self.words), 0.5 / self.dimensions
        rows = size - 1 if self.objective == "hierarchical" else size
        self.embeddings = self.add_weight(
            shape=(size, self.dimensions),
            initializer=keras.initializers.RandomUniform(-half, half),
            autocast=False,
            name="embeddings",
        )
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

    @classmethod
    def for_text(cls, texts, minimum_count=None, vocabulary_size=None, **kwargs):
        """Make a model for the words of a text, the most frequent first.

        Args:
            texts: what `WordTokenizer.train` takes; words are what stands between white space.
            minimum_count: int, how often a word must come, or `None` for 5, and for 1 with a
                warning where no word comes so often.
            vocabulary_size: int, the most words, or `None` for all.
            **kwargs: other arguments of the constructor.

        Returns:
            A `Word2Vec` model, not trained.
        """
        counts = count_pieces(texts, split_words)
        words = frequent_pieces(counts, vocabulary_size, minimum_count, "word", 5)
        return cls(words, [counts[word] for word in words], **kwargs)

    def batches(self, texts, words=16_384, row_length=64, seed=0):
        """Makes the dataset for `fit`: the windows of a text, drawn anew in each epoch.

        Words without a vector are left out before windows are made, as in word2vec's program.

        Args:
            texts: as for `for_text`; windows do not leave a line.
            words: int, words of the text that a batch is made of.
            row_length: int, words that share their noise words.
            seed: int.

        Returns:
            A `tf.data.Dataset`, see `windows`; an epoch reads the text once.

        Raises:
            ValueError: if no word of the text has a vector.
        """
        ids, sentences = _numbers_of(self._tokenizer, texts)
        if not len(ids):
            raise ValueError("`texts` must have a word that has a vector, got none.")
        keep = keep_probabilities(self.counts, self.subsample)
        return windows(ids, sentences, keep, self.window, row_length, words, seed)

    def compile(self, optimizer=None, **kwargs):
        """Configures training, by default with `RowAdagrad(0.25)`; see `keras.Model.compile`."""
        kwargs.setdefault("jit_compile", False)
        super().compile(RowAdagrad(0.25) if optimizer is None else optimizer, **kwargs)

    def call(self, words):
        """Gives the vectors of words, or of the words of a batch of windows."""
        words = words["words"] if isinstance(words, dict) else words
        return tf.gather(self.embeddings, words)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """Computes the mean loss of a pair (of a word with CBOW) over a batch of windows."""
        near = neighbours(x["sentences"], x["reach"], self.window)
        inside = slice(self.window, -self.window)
        if self.architecture == "skip-gram":
            hidden, words, wanted = y_pred[:, inside], x["words"], near
        else:
            number = tf.reduce_sum(near, axis=2, keepdims=True)
            hidden = tf.matmul(near, y_pred) / tf.maximum(number, 1.0)
            words, wanted = x["words"][:, inside], tf.minimum(number, 1.0)
        losses = {
            "negative-sampling": self._negative_sampling,
            "hierarchical": self._hierarchical,
            "full": self._full,
        }[self.objective](hidden, words, wanted)
        return tf.reduce_sum(losses) / tf.maximum(tf.reduce_sum(wanted), 1.0)

    # hidden: (rows, length, dimensions). Each is to predict all words of its row that are wanted:
    # words (rows, width), wanted (rows, length, width). With CBOW it predicts the word in its place
    # alone: words (rows, length), wanted (rows, length, 1).

    def _products(self, hidden, vectors):
        if self.architecture == "skip-gram":
            return tf.matmul(hidden, vectors, transpose_b=True)
        return tf.reduce_sum(hidden * vectors, axis=2, keepdims=True)

    def _negative_sampling(self, hidden, words, wanted):
        scores = self._products(hidden, tf.gather(self.output_vectors, words))
        losses = tf.reduce_sum(wanted * tf.nn.softplus(-scores), axis=2)
        drawn = tf.random.uniform([tf.shape(words)[0], self.noise_words])
        noise = tf.searchsorted(self._noise, tf.reshape(drawn, [-1]))
        noise = tf.reshape(tf.minimum(noise, len(self.words) - 1), tf.shape(drawn))
        scores = tf.matmul(hidden, tf.gather(self.output_vectors, noise), transpose_b=True)
        weight = tf.reduce_sum(wanted, axis=2) * (self.negatives / self.noise_words)
        return losses + weight * tf.reduce_sum(tf.nn.softplus(scores), axis=2)

    def _hierarchical(self, hidden, words, wanted):
        nodes, turns = tf.gather(self._nodes, words), tf.gather(self._turns, words)
        rows = tf.gather(self.output_vectors, nodes)  # (rows, width, longest path, dimensions)
        if self.architecture == "skip-gram":
            scores, turns = tf.einsum("rld,rwpd->rlwp", hidden, rows), turns[:, tf.newaxis]
        else:
            scores = tf.einsum("rld,rlpd->rlp", hidden, rows)[:, :, tf.newaxis]
            turns = turns[:, :, tf.newaxis]
        turned = tf.where(turns == 0, 0.0, tf.nn.softplus(-turns * scores))
        return tf.reduce_sum(wanted * tf.reduce_sum(turned, axis=3), axis=2)

    def _full(self, hidden, words, wanted):
        scores = self._products(hidden, tf.gather(self.output_vectors, words))
        everything = tf.einsum("rld,vd->rlv", hidden, tf.convert_to_tensor(self.output_vectors))
        total = tf.reduce_logsumexp(everything, axis=2)
        return tf.reduce_sum(wanted, axis=2) * total - tf.reduce_sum(wanted * scores, axis=2)

    def vectors(self):
        """Gives the learned `WordVectors`."""
        return WordVectors(self.words, keras.ops.convert_to_numpy(self.embeddings))

    def get_config(self):
        """Gives the constructor's arguments."""
        return {
            **super().get_config(),
            "words": self.words,
            "counts": self.counts.tolist(),
            "dimensions": self.dimensions,
            "architecture": self.architecture,
            "objective": self.objective,
            "window": self.window,
            "negatives": self.negatives,
            "noise_words": self.noise_words,
            "subsample": self.subsample,
        }


def _numbers_of(tokenizer, texts):
    """Gives the numbers of the known words of texts, and of each the number of its text."""
    nothing, first = np.zeros(0, np.int32), 0
    ids, sentences = [nothing], [nothing]
    for batch in text_batches(texts):
        rows = tokenizer(batch)
        known = rows.flat_values.numpy() >= FIRST
        ids.append(rows.flat_values.numpy()[known] - FIRST)
        sentences.append(rows.value_rowids().numpy()[known].astype(np.int32) + first)
        first += len(batch)
    return np.concatenate(ids), np.concatenate(sentences)
