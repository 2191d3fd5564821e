"""Single characters."""

import json
import os

import keras
import tensorflow as tf

from keras_seqzoo.tokenizers.vocabulary_table import TableTokenizer

VOCABULARY_FILENAME = "characters.json"


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class CharacterTokenizer(TableTokenizer):
    """Gives each Unicode character of a vocabulary its id.

    White space is a character as any other: `detokenize(tokenize(text))` is the text if all its
    characters are known. Others become `[UNK]`. Bytes that are no UTF-8 are read as U+FFFD. The ids
    of special tokens are those of `TextTokenizer`; the characters follow them, in the order given.

    Args:
        characters: string or list of characters, none of them twice, or `None` for a tokenizer
            whose characters come later by `load_assets`.
        **kwargs: those of `TextTokenizer`: `sequence_length`, `add_bos`, `add_eos`, `dtype`.

    Raises:
        ValueError: if a character comes twice, or one is not a single character.

    Example:
    >>> tokenizer = CharacterTokenizer.train(["noon on"], add_eos=True)
    >>> tokenizer("no one").numpy().tolist()
    [5, 6, 7, 6, 5, 1, 3]
    >>> tokenizer.get_vocabulary()[5:]
    ['n', 'o', ' ']
    """

    kind = "character"

    def __init__(self, characters=None, **kwargs):
        super().__init__(characters, **kwargs)
        self.file_assets = [VOCABULARY_FILENAME]

    @property
    def characters(self):
        """The characters, in the order of their ids."""
        return self.pieces

    @staticmethod
    def pieces_of(text):
        """Lists the characters of a text."""
        return list(text)

    def cut(self, texts):
        """Splits texts into characters, in graph."""
        return tf.strings.unicode_split(texts, "UTF-8", errors="replace")

    def set_pieces(self, pieces):
        """Sets the characters, a string or a list."""
        pieces = list(pieces)
        for character in pieces:
            if len(character) != 1:
                raise ValueError(f"`characters` must be single ones. Received: {character!r}")
        super().set_pieces(pieces)

    def save_assets(self, dir_path):
        """Writes the characters to the folder `dir_path`, as a JSON list."""
        self._check_vocabulary()
        path = os.path.join(dir_path, VOCABULARY_FILENAME)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.characters, file)

    def load_assets(self, dir_path):
        """Reads the characters from the folder `dir_path`."""
        path = os.path.join(dir_path, VOCABULARY_FILENAME)
        with open(path, encoding="utf-8") as file:
            self.set_pieces(json.load(file))

    def get_config(self):
        """Returns the arguments of the constructor, `characters` as `None`: they are an asset."""
        return {**super().get_config(), "characters": None}
