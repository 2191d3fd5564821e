"""Whole words."""

import os

import keras
import tensorflow as tf

from keras_seqzoo.tokenizers.table_tokenizer import TableTokenizer
from keras_seqzoo.tokenizers.text_tokenizer import SPECIAL_TOKENS, UNK
from keras_seqzoo.tokenizers.vocabulary import (
    check_words,
    create_string_table,
    join_pieces,
    read_pieces,
    write_pieces,
)
from keras_seqzoo.tokenizers.words import encode_by_words, split_words

VOCABULARY_FILENAME = "words.txt"


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class WordTokenizer(TableTokenizer):
    """Tokenizer by words, split at white space.

    Words outside the vocabulary become `[UNK]`. The ids of the words follow those of the special
    tokens (see `TextTokenizer`), in the order given. White space is as in `str.split()`.
    `detokenize(tokenize(text))` is `" ".join(normalize(text).split())` if all its words are known;
    with `split_punctuation`, each mark also has spaces around it.

    Args:
        words: list of different strings without white space, or `None` to load them later by
            `load_assets`.
        split_punctuation: bool. Whether each punctuation mark and symbol (Unicode categories P and
            S) is a separate word.
        **kwargs: Arguments of `TextTokenizer`.

    Raises:
        ValueError: if a word is blank, contains white space or is repeated.

    Example:
    >>> tokenizer = WordTokenizer.train(["the cat sat", "the dog"], add_eos=True)
    >>> tokenizer("the dog barked").numpy().tolist()
    [5, 7, 1, 3]
    >>> tokenizer.get_vocabulary()[5:]
    ['the', 'cat', 'dog', 'sat']
    """

    space = "prefix"
    kind = "word"

    def __init__(self, words=None, split_punctuation=False, **kwargs):
        super().__init__(words, **kwargs)
        self.split_punctuation = split_punctuation
        self.file_assets = [VOCABULARY_FILENAME]

    @property
    def words(self):
        """The words, in the order of their ids."""
        return self.pieces

    def cut(self, texts):
        """Split texts into words, in graph."""
        return split_words(texts, self.split_punctuation)

    def written_words(self, text):
        """Split a text into words; with `split_punctuation`, punctuation marks are words too."""
        return [word.decode() for word in self.cut([text])[0].numpy()]

    def split_in_graph(self, texts):
        """Split texts `(rows,)` into words, in graph: ragged strings.

        Known words are those of the vocabulary, unknown ones as `split_text` writes them.
        """
        written, normal = self.cut(texts), self.cut(self.normalize(texts))
        same = written.row_lengths() == normal.row_lengths()
        rows = tf.range(tf.size(texts)) + tf.where(same, 0, tf.size(texts))
        chosen = tf.gather(tf.concat([written, normal], axis=0), rows)
        unknown = self._table.lookup(normal.values) == self.unk_token_id
        return normal.with_values(tf.where(unknown, chosen.values, normal.values))

    def join_in_graph(self, ids, unknown):
        """Join ids to text as `detokenize` does, in graph, with a given text for each `[UNK]`.

        Args:
            ids: ragged integers `(rows, None)`.
            unknown: ragged strings of the same shape, the text of the unknown tokens.

        Returns:
            String tensor `(rows,)`.
        """
        flat = self._without_control_tokens(ids.flat_values)
        pieces = tf.concat([self._surfaces, tf.strings.join([" ", unknown.flat_values])], axis=0)
        own = tf.cast(tf.size(self._surfaces) + tf.range(tf.size(flat)), flat.dtype)
        ids = ids.with_flat_values(tf.where(flat == self.unk_token_id, own, flat))
        return join_pieces(pieces, ids, first=" ")

    def encode(self, texts):
        """Convert rows of text to ids; see the base class."""
        return encode_by_words(texts, lambda words: self._table.lookup(self.cut(words)))

    def word_ids(self, words):
        """Return the ids of words, strings of any shape, dense or ragged."""
        self._check_vocabulary()
        if isinstance(words, tf.RaggedTensor):
            return words.with_flat_values(self.word_ids(words.flat_values))
        with tf.device("CPU"):
            return self._table.lookup(self.normalize(words))

    def set_pieces(self, pieces):
        """Set the words, a list of strings."""
        words = check_words("words", pieces)
        if not words:
            raise ValueError("`words` must have at least one word, got none.")
        super().set_pieces(words)
        first = len(SPECIAL_TOKENS)
        ids = range(first, first + len(self.words))
        self._table = create_string_table(self.words, ids, default=SPECIAL_TOKENS.index(UNK))

    def save_assets(self, dir_path):
        """Write the words to the folder `dir_path`, one per line."""
        self._check_vocabulary()
        write_pieces(os.path.join(dir_path, VOCABULARY_FILENAME), self.words)

    def load_assets(self, dir_path):
        """Read the words from the folder `dir_path`."""
        self.set_pieces(read_pieces(os.path.join(dir_path, VOCABULARY_FILENAME)))

    def get_config(self):
        """Return the constructor arguments, with `words` as `None`: they are an asset."""
        return {
            **super().get_config(),
            "words": None,
            "split_punctuation": self.split_punctuation,
        }
