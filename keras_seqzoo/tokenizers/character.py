"""Single characters or bytes."""

import json
import os

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.tokenizers.text_tokenizer import SPECIAL_TOKENS, UNK
from keras_seqzoo.tokenizers.vocabulary_table import TableTokenizer

VOCABULARY_FILENAME = "characters.json"
BYTES = [bytes([byte]) for byte in range(256)]


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class CharacterTokenizer(TableTokenizer):
    """Gives each Unicode character of a vocabulary its id, or each byte.

    White space is a character as any other: `detokenize(tokenize(text))` is `normalize(text)` if
    all its characters are known. Others become `[UNK]`. Bytes that are no UTF-8 are read as U+FFFD.
    The ids of special tokens are those of `TextTokenizer`; the characters follow them, in the order
    given.

    With `byte_level` the tokens are the 256 bytes of UTF-8, in their order: nothing needs to be
    trained, and nothing is unknown.

    Args:
        characters: string or list of characters, none of them twice, or `None` for a tokenizer
            whose characters come later by `load_assets`.
        byte_level: bool. Whether the tokens are bytes.
        **kwargs: those of `TextTokenizer`.

    Raises:
        ValueError: if a character comes twice, one is not a single character, or there are both
            `characters` and `byte_level`.

    Example:
    >>> tokenizer = CharacterTokenizer.train(["noon on"], add_eos=True)
    >>> tokenizer("no one").numpy().tolist()
    [5, 6, 7, 6, 5, 1, 3]
    >>> tokenizer.get_vocabulary()[5:]
    ['n', 'o', ' ']
    """

    kind = "character"

    def __init__(self, characters=None, byte_level=False, **kwargs):
        if byte_level and characters is not None:
            raise ValueError(f"`characters` must be None at byte level, got {characters!r}.")
        self.byte_level = byte_level
        super().__init__(BYTES if byte_level else characters, **kwargs)
        self.file_assets = [VOCABULARY_FILENAME]

    @property
    def characters(self):
        """The characters, in the order of their ids."""
        return self.pieces

    @classmethod
    def train(cls, texts, vocabulary_size=None, minimum_count=1, **kwargs):
        """Makes a tokenizer of the most frequent characters; see `TableTokenizer.train`.

        Raises:
            ValueError: also if `byte_level` is among the other arguments: its tokens are known.
        """
        if kwargs.get("byte_level"):
            raise ValueError("`byte_level` needs no training: CharacterTokenizer(byte_level=True).")
        return super().train(texts, vocabulary_size, minimum_count, **kwargs)

    def cut(self, texts):
        """Splits texts into characters, or bytes, in graph."""
        if self.byte_level:
            return tf.strings.bytes_split(texts)
        return tf.strings.unicode_split(texts, "UTF-8", errors="replace")

    def encode(self, texts):
        """Turns rows of text into ids; see the base class."""
        # ISO 8859-1 reads byte b as code point b.
        encoding = "ISO-8859-1" if self.byte_level else "UTF-8"
        points = tf.strings.unicode_decode(texts, encoding, errors="replace")
        last = tf.size(self._ids_of_points) - 1
        return points.with_values(tf.gather(self._ids_of_points, tf.minimum(points.values, last)))

    def decode(self, ids):
        """Joins characters; special tokens but `[UNK]` are left out."""
        texts = super().decode(ids)
        if not self.byte_level:
            return texts
        return tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")

    def set_pieces(self, pieces):
        """Sets the characters, a string or a list."""
        pieces = list(pieces)
        for character in pieces:
            if len(character) != 1:
                raise ValueError(f"`characters` must be single ones, got {character!r}.")
        super().set_pieces(pieces)
        if self.byte_level:
            self.set_vocabulary([*SPECIAL_TOKENS, *(f"<0x{byte[0]:02X}>" for byte in pieces)])
        # The id of each code point up to the highest that is known, and of all above it.
        points = [ord(character) for character in pieces]
        ids = np.full(max(points, default=0) + 2, SPECIAL_TOKENS.index(UNK), np.int32)
        ids[points] = range(len(SPECIAL_TOKENS), len(SPECIAL_TOKENS) + len(points))
        with tf.init_scope(), tf.device("CPU"):
            self._ids_of_points = tf.constant(ids)

    def save_assets(self, dir_path):
        """Writes the characters to the folder `dir_path`, as a JSON list; no bytes."""
        self._check_vocabulary()
        path = os.path.join(dir_path, VOCABULARY_FILENAME)
        with open(path, "w", encoding="utf-8") as file:
            json.dump([] if self.byte_level else self.characters, file)

    def load_assets(self, dir_path):
        """Reads the characters from the folder `dir_path`."""
        if self.byte_level:
            return
        path = os.path.join(dir_path, VOCABULARY_FILENAME)
        with open(path, encoding="utf-8") as file:
            self.set_pieces(json.load(file))

    def get_config(self):
        """Returns the arguments of the constructor, `characters` as `None`: they are an asset."""
        return {**super().get_config(), "characters": None, "byte_level": self.byte_level}
