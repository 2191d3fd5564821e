"""Words and their vectors: neighbours, analogies, files, and an embedding layer."""

import difflib

import keras
import numpy as np

from keras_seqzoo.checks import check_integer
from keras_seqzoo.models.word_vectors.vector_files import read_vectors, write_vectors
from keras_seqzoo.models.word_vectors.vector_presets import read_preset, write_preset
from keras_seqzoo.tokenizers.text_tokenizer import SPECIAL_TOKENS


class WordVectors:
    """Words and their vectors, such as `Word2Vec` learns or a file holds.

    Args:
        words: list of strings, none of them twice, usually the most frequent first.
        matrix: floats `(words, dimensions)`.

    Raises:
        ValueError: if the numbers of words and rows differ or a word comes twice.

    Example:
    >>> vectors = WordVectors(["king", "queen", "man", "woman"], [[3, 1], [3, 2], [1, 1], [1, 2]])
    >>> vectors.most_similar("king", 1)[0][0]
    'queen'
    >>> vectors.analogy("man", "king", "woman", 1)[0][0]  # man is to king as woman is to ...
    'queen'
    """

    def __init__(self, words, matrix):
        self.words = list(words)
        self.matrix = np.asarray(matrix, np.float32)
        if self.matrix.ndim != 2 or len(self.matrix) != len(self.words):
            raise ValueError(
                f"`matrix` must have a row for each of the {len(self.words)} words, got "
                f"shape {self.matrix.shape}."
            )
        self._row = {word: row for row, word in enumerate(self.words)}
        if len(self._row) < len(self.words):
            raise ValueError("`words` must differ, got one twice.")
        norms = np.linalg.norm(self.matrix, axis=1, keepdims=True)
        self._directions = self.matrix / np.maximum(norms, np.finfo(np.float32).tiny)

    @classmethod
    def load(cls, path, format="word2vec"):
        """Reads a file of vectors; see `read_vectors`."""
        return cls(*read_vectors(path, format))

    def save(self, path, format="word2vec"):
        """Writes a file of vectors; see `write_vectors`."""
        write_vectors(path, self.words, self.matrix, format)

    @classmethod
    def from_preset(cls, preset):
        """Reads a preset, given by name or folder, such as `"skipgram_imdb_100d"`.

        `keras_seqzoo.tokenizers.TextTokenizer.from_preset` reads the tokenizer that goes with it.
        """
        return cls(*read_preset(preset))

    def save_to_preset(self, directory, tokenizer=None, metadata=None):
        """Writes a preset, float16; see `write_preset`."""
        write_preset(directory, self.words, self.matrix, tokenizer, metadata)

    @property
    def dimensions(self):
        """The size of a vector."""
        return self.matrix.shape[1]

    def check_dimensions(self, embedding_dim):
        """Raises `ValueError` where an embedding is not as wide as the vectors."""
        if embedding_dim != self.dimensions:
            raise ValueError(
                f"`embedding_dim` must be that of `vectors`, {self.dimensions}, got "
                f"{embedding_dim}."
            )

    def __len__(self):
        """Gives the number of words."""
        return len(self.words)

    def __contains__(self, word):
        """Tells whether a word has a vector."""
        return word in self._row

    def __getitem__(self, word):
        """Gives the vector of a word, float32 `(dimensions,)`; raises `KeyError` without one."""
        return self.matrix[self.row_of(word)]

    def row_of(self, word):
        """Gives the row of a word; raises `KeyError`, with words that are near, without one."""
        if word not in self._row:
            raise KeyError(self.why_not(word))
        return self._row[word]

    def why_not(self, word):
        """Says that a word has no vector, and which ones are spelled like it."""
        near = [word.lower()] if word.lower() in self else []
        near += difflib.get_close_matches(word, self.words[:50_000], n=3)
        near = list(dict.fromkeys(near))[:3]
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        return f"there is no vector of {word!r}{hint}"

    def similarity(self, one, other):
        """Gives the cosine of the angle between the vectors of two words."""
        return float(self._directions[self.row_of(one)] @ self._directions[self.row_of(other)])

    def most_similar(self, word, number=10):
        """Finds the words whose vectors have the smallest angles to that of a word.

        Args:
            word: string, or a vector `(dimensions,)`.
            number: int, how many to give.

        Returns:
            A list of pairs of a word and the cosine, the nearest first, without the word itself.

        Raises:
            KeyError: if the word has no vector.
        """
        check_integer("number", number, minimum=1)
        if isinstance(word, str):
            row = self.row_of(word)
            return self._nearest(self._directions[row], number, [row])
        return self._nearest(_direction(np.asarray(word, np.float32)), number, [])

    def analogy(self, one, other, third, number=10):
        """Finds what is to the third word as the other is to the one.

        The answer is the word with the largest cosine to `other - one + third`, each of them as a
        direction (Mikolov et al., 2013; 3CosAdd of Levy and Goldberg, 2014).

        Args:
            one: string, as in "man".
            other: string, as in "king".
            third: string, as in "woman".
            number: int, how many to give.

        Returns:
            A list of pairs of a word and the cosine, the best first, without the three words.

        Raises:
            KeyError: if a word has no vector.
        """
        check_integer("number", number, minimum=1)
        rows = [self.row_of(word) for word in (one, other, third)]
        one, other, third = self._directions[rows]
        return self._nearest(_direction(other - one + third), number, rows)

    def fill(self, embedding, tokenizer, scale=1.0):
        """Sets the rows of an embedding whose tokens have vectors.

        The others, and those of the special tokens, stay.

        Args:
            embedding: a built `keras.layers.Embedding` as wide as the vectors.
            tokenizer: the tokenizer whose ids the layer takes.
            scale: float, what the vectors are multiplied with.

        Returns:
            int, how many rows were set.

        Raises:
            ValueError: if the sizes differ, or the layer is quantized or has a low-rank update.
        """
        if embedding.quantization_mode is not None or embedding.lora_enabled:
            raise ValueError(
                "`embedding` must be neither quantized nor have a low-rank update: fill it before."
            )
        tokens = tokenizer.get_vocabulary()
        shape = (len(tokens), self.matrix.shape[1])
        if tuple(embedding.embeddings.shape) != shape:
            raise ValueError(
                f"`embedding` must have the shape {shape} of the tokenizer and the vectors, "
                f"got {tuple(embedding.embeddings.shape)}."
            )
        known = [id for id in range(len(SPECIAL_TOKENS), len(tokens)) if tokens[id] in self._row]
        weights = keras.ops.convert_to_numpy(embedding.embeddings).copy()
        weights[known] = scale * self.matrix[[self._row[tokens[id]] for id in known]]
        embedding.embeddings.assign(weights)
        return len(known)

    def embedding_layer(self, tokenizer=None, trainable=False, **kwargs):
        """Makes a `keras.layers.Embedding` with these vectors.

        Args:
            tokenizer: a tokenizer whose ids the layer is to take: tokens without a vector, the
                special ones among them, get zeros. By default ids are the rows of `matrix`.
            trainable: bool. Whether the vectors learn too.
            **kwargs: other arguments of the layer, such as `mask_zero`.

        Returns:
            The layer, built: `(vocabulary, dimensions)`.
        """
        rows = len(self) if tokenizer is None else tokenizer.vocabulary_size()
        layer = keras.layers.Embedding(
            rows, self.matrix.shape[1], "zeros", trainable=trainable, **kwargs
        )
        layer.build()
        if tokenizer is None:
            layer.set_weights([self.matrix])
        else:
            self.fill(layer, tokenizer)
        return layer

    def directions(self, words=None):
        """Gives the vectors as directions of length 1, of all words or of these."""
        if words is None:
            return self._directions
        return self._directions[[self.row_of(word) for word in words]]

    def _nearest(self, direction, number, without):
        cosines = self._directions @ direction
        cosines[without] = -np.inf
        number = min(number, len(self.words) - len(set(without)))
        rows = np.argpartition(-cosines, max(number - 1, 0))[:number]
        rows = rows[np.argsort(-cosines[rows], kind="stable")]
        return [(self.words[row], float(cosines[row])) for row in rows]


def _direction(vector):
    return vector / max(np.linalg.norm(vector), np.finfo(np.float32).tiny)
