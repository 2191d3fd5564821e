"""Signatures of word vectors."""

import numpy as np
import tensorflow as tf

from keras_seqzoo.models.word_vectors.vectors import WordVectors
from keras_seqzoo.serving.family import FamilySignatures, Signature, text_input
from keras_seqzoo.tokenizers.vocabulary import create_string_table

NEIGHBOURS = 10


class WordVectorSignatures(FamilySignatures):
    """Signatures of word vectors: `serving_default` and `similar`.

    Args:
        model: `WordVectors`.
        n_best: int, the number of similar words; by default 10, or all others if there are fewer.
    """

    model_class = WordVectors
    kind = "word vectors"
    options = ("n_best",)

    def __init__(self, model, n_best=None):
        super().__init__(model)
        if len(model) < 2:
            raise ValueError(f"`model` must have at least two words, got {len(model)}.")
        others = len(model) - 1
        self._n_best = self.set_limit(
            "n_best", n_best, min(NEIGHBOURS, others), others, "the number of other words"
        )
        self._words = tf.constant(model.words)
        self._table = create_string_table(model.words, range(len(model)), default=-1)
        self.resources = [self._table]
        norms = np.linalg.norm(model.matrix, axis=1)
        # Variables, so that the graph stays small.
        self._matrix = tf.Variable(model.matrix, trainable=False)
        self._norms = tf.Variable(np.maximum(norms, np.finfo(np.float32).tiny), trainable=False)

    def signatures(self):
        """Return the signatures; see the base class."""
        given = text_input("one word each, as in the list of words")
        known = {
            "known": "whether the word has a vector",
            "truncated": "false: a word is never cut",
        }
        vectors = {"vectors": "the vector of each word, zeros if it has none", **known}
        similar = {
            "words": "the words with the most similar vectors, best first, or empty strings",
            "similarities": "the cosines of their vectors with that of the word, or 0",
            **known,
        }
        return {
            "serving_default": Signature(self.look_up, given, vectors),
            "similar": Signature(self.find_similar, given, similar),
        }

    def examples(self, rows):
        """Return inputs of a warm-up request: the first words; see the base class."""
        words = self.model.words
        return {"text": [words[row % len(words)] for row in range(rows)]}

    def look_up(self, text):
        """Return the vectors of words `(batch,)`."""
        rows, flags = self._rows(text)
        vectors = tf.gather(self._matrix, tf.maximum(rows, 0))
        return {"vectors": tf.where(flags["known"][:, tf.newaxis], vectors, 0.0), **flags}

    def find_similar(self, text):
        """Return the neighbours of words `(batch,)`, without the words themselves."""
        rows, flags = self._rows(text)
        own = tf.maximum(rows, 0)
        directions = tf.gather(self._matrix, own) / tf.gather(self._norms, own)[:, tf.newaxis]
        cosines = tf.matmul(directions, self._matrix, transpose_b=True) / self._norms
        is_own = tf.range(len(self.model)) == own[:, tf.newaxis]  # (batch, words)
        similarities, found = tf.math.top_k(tf.where(is_own, -np.inf, cosines), self._n_best)
        known = flags["known"][:, tf.newaxis]
        return {
            "words": tf.where(known, tf.gather(self._words, found), ""),
            "similarities": tf.where(known, similarities, 0.0),
            **flags,
        }

    def _rows(self, text):
        rows = self._table.lookup(text)
        known = rows >= 0
        return rows, {"known": known, "truncated": tf.zeros_like(known)}
