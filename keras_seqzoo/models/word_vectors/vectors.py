"""Words and their vectors: neighbours, analogies, files, and an embedding layer."""

import difflib
import io
import json

import h5py
import keras
import numpy as np

from keras_seqzoo.checks import check_integer
from keras_seqzoo.data.output_files import replacing, write_text, writing_into
from keras_seqzoo.models.word_vectors.vector_files import read_vectors, write_vectors
from keras_seqzoo.preset_folders import CONFIG_FILE, METADATA_FILE, read_json_object
from keras_seqzoo.tokenizers import WordTokenizer
from keras_seqzoo.tokenizers.text_tokenizer import SPECIAL_TOKENS
from keras_seqzoo.zoo import preset_path

VECTORS_FILE = "vectors.h5"
TINY = np.finfo(np.float32).tiny


class WordVectors:
    """Words and their vectors, from a model such as `Word2Vec` or from a file.

    Args:
        words: list of different strings, usually the most frequent first.
        matrix: floats `(words, dimensions)`.

    Raises:
        ValueError: if the numbers of words and rows differ or a word occurs twice.

    Example:
    >>> vectors = WordVectors(["king", "queen", "man", "woman"], [[3, 1], [3, 2], [1, 1], [1, 2]])
    >>> vectors.most_similar("king", 1)[0][0]
    'queen'
    >>> vectors.analogy("man", "king", "woman", 1)[0][0]  # man is to king as woman is to ...
    'queen'
    """

    # What a preset has besides the words: arrays and options, by their argument names.
    _datasets = {"vectors": "matrix"}
    _options = ()

    def __init__(self, words, matrix):
        self.words = list(words)
        self.matrix = np.asarray(matrix, np.float32)
        if self.matrix.ndim != 2 or len(self.matrix) != len(self.words):
            raise ValueError(
                f"`matrix` must have a row for each of the {len(self.words)} words, got "
                f"shape {self.matrix.shape}."
            )
        self._rows = {word: row for row, word in enumerate(self.words)}
        if len(self._rows) < len(self.words):
            raise ValueError("`words` must differ, got one twice.")
        norms = np.linalg.norm(self.matrix, axis=1, keepdims=True)
        self._directions = self.matrix / np.maximum(norms, TINY)

    @classmethod
    def load(cls, path, format="word2vec"):
        """Read `WordVectors` from a file; see `read_vectors`."""
        return WordVectors(*read_vectors(path, format))

    def save(self, path, format="word2vec"):
        """Write a file of vectors; see `write_vectors`."""
        write_vectors(path, self.words, self.matrix, format)

    @classmethod
    def from_preset(cls, preset):
        """Load a preset; `keras_seqzoo.tokenizers.TextTokenizer.from_preset` loads its tokenizer.

        Args:
            preset: string, a name such as `"skipgram_imdb_100d"` (see `keras_seqzoo.list_presets`),
                or the path of a folder.

        Returns:
            `WordVectors`, or the subclass that was saved.

        Raises:
            ValueError: if the preset does not exist, does not hold word vectors, or is damaged.
        """
        folder = preset_path(preset)
        try:
            config = read_json_object(folder / CONFIG_FILE)
            name = config.get("class_name")
            kinds = {kind.__name__: kind for kind in (cls, *cls.__subclasses__())}
            if name not in kinds:
                raise ValueError(f"it must be {cls.__name__}, got {name}")
            kind = kinds[name]
            options = {option: config["config"][option] for option in kind._options}
            with h5py.File(folder / VECTORS_FILE) as file:
                for dataset, argument in kind._datasets.items():
                    options[argument] = file[dataset][()].astype(np.float32)
            return kind(WordTokenizer.from_preset(folder).words, **options)
        except (OSError, ValueError, KeyError) as error:
            raise ValueError(f"the preset {str(preset)!r} cannot be loaded: {error}") from error

    def save_to_preset(self, directory, tokenizer=None, metadata=None):
        """Save a preset: `config.json`, `metadata.json`, `vectors.h5` (float16) and a tokenizer.

        Args:
            directory: path of the folder, which is created if it does not exist.
            tokenizer: a `WordTokenizer` with these words, which records how text is split into
                words. The default splits at white space.
            metadata: dict of values for `metadata.json`, see `keras_seqzoo.list_presets`.

        Raises:
            ValueError: if the tokenizer has other words, or a number is too large for float16.
        """
        tokenizer = WordTokenizer(self.words) if tokenizer is None else tokenizer
        if not isinstance(tokenizer, WordTokenizer) or tokenizer.words != self.words:
            raise ValueError(
                "`tokenizer` must be a WordTokenizer with the words of the vectors, got another."
            )
        size = 0
        vectors = io.BytesIO()  # HDF5 would end the process on a full disk
        with h5py.File(vectors, "w") as file:
            for dataset, argument in self._datasets.items():
                array = _as_half(argument, getattr(self, argument))
                size += array.size
                file.create_dataset(
                    dataset, data=array, chunks=array.shape, compression="gzip", shuffle=True
                )
        options = {option: getattr(self, option) for option in ("dimensions", *self._options)}
        config = {"class_name": type(self).__name__, "config": options}
        metadata = {"description": "", "parameter_count": size, **(metadata or {})}
        with writing_into(directory) as directory:
            tokenizer.save_to_preset(str(directory))
            with replacing(directory / VECTORS_FILE) as path:
                path.write_bytes(vectors.getvalue())
            for name, content in ((METADATA_FILE, metadata), (CONFIG_FILE, config)):
                write_text(directory / name, json.dumps(content, indent=4) + "\n")

    @property
    def dimensions(self):
        """The size of a vector."""
        return self.matrix.shape[1]

    def check_dimensions(self, embedding_dim):
        """Raise `ValueError` unless an embedding has the dimension of the vectors."""
        if embedding_dim != self.dimensions:
            raise ValueError(
                f"`embedding_dim` must be the dimension of `vectors`, {self.dimensions}, got "
                f"{embedding_dim}."
            )

    def __len__(self):
        """Return the number of words."""
        return len(self.words)

    def __contains__(self, word):
        """Return whether a word has a vector."""
        return word in self._rows

    def __getitem__(self, word):
        """Return the vector of a word, float32 `(dimensions,)`, or raise `KeyError`."""
        return self.matrix[self.row_of(word)]

    def row_of(self, word):
        """Return the row of a word, or raise `KeyError` with similarly spelled words."""
        if word not in self._rows:
            raise KeyError(self.describe_missing(word))
        return self._rows[word]

    def describe_missing(self, word):
        """Return an error message for a word without vector, with similarly spelled words."""
        near = [word.lower()] if word.lower() in self else []
        near += difflib.get_close_matches(word, self.words[:50_000], n=3)
        near = list(dict.fromkeys(near))[:3]
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        return f"no vector for {word!r}{hint}"

    def similarity(self, one, other):
        """Return the cosine of the angle between the vectors of two words."""
        one, other = self.directions([one, other])
        return float(one @ other)

    def most_similar(self, word, number=10):
        """Find the words whose vectors have the smallest angles to the vector of a word.

        Args:
            word: string, or a vector `(dimensions,)`.
            number: int, the number of words to return.

        Returns:
            A list of pairs of a word and its cosine, nearest first, without the word itself.

        Raises:
            KeyError: if the word has no vector.
        """
        check_integer("number", number, minimum=1)
        if isinstance(word, str):
            return self._nearest(self.directions([word])[0], number, [word])
        return self._nearest(_direction(np.asarray(word, np.float32)), number, [])

    def analogy(self, one, other, third, number=10):
        """Find the word that is to `third` as `other` is to `one`.

        The answer has the largest cosine to `other - one + third`, with all vectors scaled to
        length 1 (Mikolov et al., 2013; 3CosAdd of Levy and Goldberg, 2014).

        Args:
            one: string, such as "man".
            other: string, such as "king".
            third: string, such as "woman".
            number: int, the number of words to return.

        Returns:
            A list of pairs of a word and its cosine, best first, without the three words.

        Raises:
            KeyError: if a word has no vector.
        """
        check_integer("number", number, minimum=1)
        words = [one, other, third]
        one, other, third = self.directions(words)
        return self._nearest(_direction(other - one + third), number, words)

    def fill(self, embedding, tokenizer, scale=1.0):
        """Copy vectors into the rows of an embedding. Special and unknown tokens keep their rows.

        Args:
            embedding: a built `keras.layers.Embedding` with the dimension of the vectors.
            tokenizer: the tokenizer of the ids that the layer reads.
            scale: float, the factor of the vectors.

        Returns:
            int, the number of rows that were set.

        Raises:
            ValueError: if the sizes differ, or the layer is quantized or has a low-rank update.
        """
        if embedding.quantization_mode is not None or embedding.lora_enabled:
            raise ValueError(
                "`embedding` must have float weights without a low-rank update, got a quantized "
                "or adapted layer. Fill it before."
            )
        tokens = tokenizer.get_vocabulary()
        shape = (len(tokens), self.dimensions)
        if tuple(embedding.embeddings.shape) != shape:
            raise ValueError(
                f"`embedding` must have the shape {shape} of the tokenizer and the vectors, "
                f"got {tuple(embedding.embeddings.shape)}."
            )
        known = [id for id in range(len(SPECIAL_TOKENS), len(tokens)) if tokens[id] in self]
        weights = keras.ops.convert_to_numpy(embedding.embeddings).copy()
        for id in known:
            weights[id] = scale * self[tokens[id]]
        embedding.embeddings.assign(weights)
        return len(known)

    def embedding_layer(self, tokenizer=None, trainable=False, **kwargs):
        """Create a `keras.layers.Embedding` with these vectors.

        Args:
            tokenizer: the tokenizer of the ids that the layer reads; special tokens and tokens
                without a vector get zeros. By default ids are the rows of `matrix`.
            trainable: bool, whether the vectors are trained.
            **kwargs: other arguments of the layer, such as `mask_zero`.

        Returns:
            The layer, built, with weights `(vocabulary, dimensions)`.
        """
        rows = len(self) if tokenizer is None else tokenizer.vocabulary_size()
        layer = keras.layers.Embedding(
            rows, self.dimensions, "zeros", trainable=trainable, **kwargs
        )
        layer.build()
        if tokenizer is None:
            layer.set_weights([self.matrix])
        else:
            self.fill(layer, tokenizer)
        return layer

    def directions(self, words=None):
        """Return the vectors of all or of the given words, scaled to length 1."""
        if words is None:
            return self._directions
        return np.stack([_direction(self[word]) for word in words])

    def _nearest(self, direction, number, words):
        cosines = self._directions @ direction
        excluded = [self._rows[word] for word in words if word in self._rows]
        cosines[excluded] = -np.inf
        number = min(number, len(self.words) - len(set(excluded)))
        rows = np.argpartition(-cosines, max(number - 1, 0))[:number]
        rows = rows[np.argsort(-cosines[rows], kind="stable")]
        return [(self.words[row], float(cosines[row])) for row in rows]


def _as_half(name, array):
    """Return an array as float16; raise `ValueError` if a number is too large."""
    with np.errstate(over="ignore"):
        half = array.astype(np.float16)
    if not np.isfinite(half).all():
        raise ValueError(f"`{name}` must have numbers within float16, got {np.abs(array).max()}.")
    return half


def _direction(vector):
    return vector / max(np.linalg.norm(vector), TINY)
