"""Word vectors that also cover unknown words, by their character n-grams."""

import numpy as np

from keras_seqzoo.models.word_vectors.character_ngrams import CharacterNgrams
from keras_seqzoo.models.word_vectors.vectors import WordVectors


class SubwordVectors(WordVectors):
    """Words and their vectors, and vectors of character n-grams for all other words.

    The vector of an unknown word is the sum of its n-gram vectors. `words` and `matrix` hold the
    known words. Searches (`most_similar`, `analogy`) find only these, but the query may be an
    unknown word. `word in vectors` is true if the word has a vector: it is known or has an n-gram.
    `save` and `keras_seqzoo.serving.export` write only the vectors of known words; `save_to_preset`
    writes all.

    Args:
        words: list of different strings, usually the most frequent first.
        matrix: floats `(words, dimensions)`, the vector of each word, n-grams included.
        ngram_matrix: floats `(buckets, dimensions)`, the vectors of n-grams.
        minimum_ngram: int, the fewest characters of an n-gram, see `FastText`.
        maximum_ngram: int, the most.

    Raises:
        ValueError: as for `WordVectors`, or if `ngram_matrix` has vectors of another size, or a
            number is out of range.

    Example:
    >>> from keras_seqzoo.models.word_vectors import SubwordVectors
    >>> vectors = SubwordVectors(["cat", "dog"], [[1, 0], [0, 1]], [[1.0, 2.0]], 3, 3)
    >>> vectors["cats"]  # <ca, cat, ats, ts>
    array([4., 8.], dtype=float32)
    """

    _datasets = {**WordVectors._datasets, "ngrams": "ngram_matrix"}
    _options = ("minimum_ngram", "maximum_ngram")

    def __init__(self, words, matrix, ngram_matrix, minimum_ngram=3, maximum_ngram=6):
        super().__init__(words, matrix)
        self.ngram_matrix = np.asarray(ngram_matrix, np.float32)
        if self.ngram_matrix.ndim != 2 or self.ngram_matrix.shape[1] != self.dimensions:
            raise ValueError(
                f"`ngram_matrix` must have vectors of {self.dimensions} numbers, got shape "
                f"{self.ngram_matrix.shape}."
            )
        self._ngrams = CharacterNgrams.checked(minimum_ngram, maximum_ngram, len(self.ngram_matrix))
        self.minimum_ngram, self.maximum_ngram, _ = self._ngrams

    def __contains__(self, word):
        """Return whether a word is known or has an n-gram."""
        return super().__contains__(word) or len(self._ngrams.hash([word])[0]) > 0

    def __getitem__(self, word):
        """Return the vector of a word, float32 `(dimensions,)`.

        Raises:
            KeyError: if the word is unknown and too short for an n-gram.
        """
        if super().__contains__(word):
            return super().__getitem__(word)
        rows, _ = self._ngrams.hash([word])
        if not len(rows):
            raise KeyError(self.describe_missing(word))
        return self.ngram_matrix[rows].sum(axis=0)
