"""Whole words."""

import collections
import os

import keras
import tensorflow as tf

from keras_seqzoo.tokenizers.text_tokenizer import SPECIAL_TOKENS, UNK, TextTokenizer
from keras_seqzoo.tokenizers.training import iterate_texts
from keras_seqzoo.tokenizers.white_space import split_words

VOCABULARY_FILENAME = "words.txt"


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class WordTokenizer(TextTokenizer):
    """Splits text at white space and gives each word of a vocabulary its id.

    Words that are not in the vocabulary become `[UNK]`. The ids of special tokens are those of
    `TextTokenizer`; the words follow them, in the order given. White space is that of
    `str.split()`. `detokenize(tokenize(text))` is `" ".join(text.split())` if all its words are
    known.

    Args:
        words: list of strings, none of them blank or twice or with white space in it, or `None` for
            a tokenizer whose words come later by `load_assets`.
        **kwargs: those of `TextTokenizer`: `sequence_length`, `add_bos`, `add_eos`, `dtype`.

    Raises:
        ValueError: if a word is blank, has white space or comes twice.

    Example:
    >>> tokenizer = WordTokenizer.train(["the cat sat", "the dog"], add_eos=True)
    >>> tokenizer("the dog barked").numpy().tolist()
    [5, 7, 1, 3]
    >>> tokenizer.get_vocabulary()[5:]
    ['the', 'cat', 'dog', 'sat']
    """

    def __init__(self, words=None, **kwargs):
        super().__init__(**kwargs)
        self.file_assets = [VOCABULARY_FILENAME]
        if words is not None:
            self.set_words(words)

    @classmethod
    def train(cls, texts, vocabulary_size=None, minimum_count=1, **kwargs):
        """Makes a tokenizer of the most frequent words; those equally frequent by the alphabet.

        Args:
            texts: The text: the path of a text file (plain or `.gz`), a list of paths
                (`pathlib.Path`; strings in a list are text), a list or other iterable of strings,
                or a `tf.data.Dataset` of strings, batched or not.
            vocabulary_size: int, the most tokens, the 5 special ones counted, or `None` for all.
            minimum_count: int, how often a word must come.
            **kwargs: The other arguments of the constructor.

        Returns:
            A tokenizer of this class.

        Raises:
            ValueError: if `vocabulary_size` is below 6 or no word is left.
        """
        if vocabulary_size is not None and vocabulary_size <= len(SPECIAL_TOKENS):
            raise ValueError(
                f"`vocabulary_size` must be above {len(SPECIAL_TOKENS)}, the special tokens. "
                f"Received: {vocabulary_size}"
            )
        counts = collections.Counter()
        for text in iterate_texts(texts):
            counts.update(text.split())
        words = [word for word, count in counts.items() if count >= minimum_count]
        if not words:
            raise ValueError(f"`texts` must have a word that comes {minimum_count} times.")
        words.sort(key=lambda word: (-counts[word], word))
        most = None if vocabulary_size is None else vocabulary_size - len(SPECIAL_TOKENS)
        return cls(words=words[:most], **kwargs)

    def set_words(self, words):
        """Sets the words, a list of strings."""
        words = list(words)
        for word in words:
            if word.split() != [word]:
                raise ValueError(f"`words` must have no white space. Received: {word!r}")
        if len(set(words)) < len(words):
            twice = next(word for word, count in collections.Counter(words).items() if count > 1)
            raise ValueError(f"`words` must differ. Received {twice!r} twice.")
        self.words = words
        first = len(SPECIAL_TOKENS)
        with tf.init_scope(), tf.device("CPU"):
            self._table = tf.lookup.StaticHashTable(
                tf.lookup.KeyValueTensorInitializer(
                    tf.constant(words, tf.string),
                    tf.range(first, first + len(words), dtype=tf.int32),
                ),
                default_value=SPECIAL_TOKENS.index(UNK),
            )
            self._surfaces = tf.constant(["", UNK, "", "", "", *words])
        self.set_vocabulary([*SPECIAL_TOKENS, *words])

    def encode(self, texts):
        """Turns rows of text into ids; see the base class."""
        return self._table.lookup(split_words(texts))

    def decode(self, ids):
        """Joins words by spaces; special tokens but `[UNK]` are left out."""
        ids = tf.cast(ids, tf.int32)
        if ids.shape.rank == 1:
            return self.decode(ids[tf.newaxis])[0]
        if not isinstance(ids, tf.RaggedTensor):
            ids = tf.RaggedTensor.from_tensor(ids, ragged_rank=ids.shape.rank - 1)
        written = (ids == SPECIAL_TOKENS.index(UNK)) | (ids >= len(SPECIAL_TOKENS))
        ids = tf.ragged.boolean_mask(ids, written)
        words = ids.with_flat_values(tf.gather(self._surfaces, ids.flat_values))
        return tf.strings.reduce_join(words, axis=-1, separator=" ")

    def save_assets(self, dir_path):
        """Writes the words to the folder `dir_path`, one a line."""
        self._check_vocabulary()
        with open(
            os.path.join(dir_path, VOCABULARY_FILENAME), "w", encoding="utf-8", newline="\n"
        ) as file:
            file.writelines(f"{word}\n" for word in self.words)

    def load_assets(self, dir_path):
        """Reads the words from the folder `dir_path`."""
        path = os.path.join(dir_path, VOCABULARY_FILENAME)
        with open(path, encoding="utf-8", newline="\n") as file:
            self.set_words(file.read().removesuffix("\n").split("\n"))

    def get_config(self):
        """Returns the arguments of the constructor, `words` as `None`: they are an asset."""
        return {**super().get_config(), "words": None}
