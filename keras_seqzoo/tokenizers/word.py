"""Whole words."""

import os

import keras

from keras_seqzoo.tokenizers.vocabulary_table import TableTokenizer
from keras_seqzoo.tokenizers.white_space import split_words

VOCABULARY_FILENAME = "words.txt"


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class WordTokenizer(TableTokenizer):
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

    separator = " "
    kind = "word"

    def __init__(self, words=None, **kwargs):
        super().__init__(words, **kwargs)
        self.file_assets = [VOCABULARY_FILENAME]

    @property
    def words(self):
        """The words, in the order of their ids."""
        return self.pieces

    @staticmethod
    def pieces_of(text):
        """Splits a text into words."""
        return text.split()

    def cut(self, texts):
        """Splits texts into words, in graph."""
        return split_words(texts)

    def set_pieces(self, pieces):
        """Sets the words, a list of strings."""
        pieces = list(pieces)
        for word in pieces:
            if word.split() != [word]:
                raise ValueError(f"`words` must have no white space. Received: {word!r}")
        super().set_pieces(pieces)

    def save_assets(self, dir_path):
        """Writes the words to the folder `dir_path`, one a line."""
        self._check_vocabulary()
        path = os.path.join(dir_path, VOCABULARY_FILENAME)
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{word}\n" for word in self.words)

    def load_assets(self, dir_path):
        """Reads the words from the folder `dir_path`."""
        path = os.path.join(dir_path, VOCABULARY_FILENAME)
        with open(path, encoding="utf-8", newline="\n") as file:
            self.set_pieces(file.read().removesuffix("\n").split("\n"))

    def get_config(self):
        """Returns the arguments of the constructor, `words` as `None`: they are an asset."""
        return {**super().get_config(), "words": None}
