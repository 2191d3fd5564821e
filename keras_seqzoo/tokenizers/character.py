"""Single characters or bytes."""

import json
import os

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.tokenizers.table_tokenizer import TableTokenizer
from keras_seqzoo.tokenizers.text_tokenizer import SPECIAL_TOKENS, UNK

VOCABULARY_FILENAME = "characters.json"
BYTES = [bytes([byte]) for byte in range(256)]


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class CharacterTokenizer(TableTokenizer):
    """Tokenizer by Unicode characters or bytes.

    White space is a character like any other: `detokenize(tokenize(text))` is `normalize(text)` if
    all its characters are known. Unknown ones become `[UNK]`. Invalid UTF-8 is read as U+FFFD. The
    ids of the characters follow those of the special tokens (see `TextTokenizer`), in the order
    given.

    With `byte_level` the tokens are the 256 bytes, in order: there is nothing to train, and nothing
    is unknown.

    Args:
        characters: string or list of different characters, or `None` to load them later by
            `load_assets`.
        byte_level: bool. Whether the tokens are bytes.
        **kwargs: Arguments of `TextTokenizer`.

    Raises:
        ValueError: if a character is repeated, one is not a single character, or `characters` and
            `byte_level` are both set.

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
        """Train a tokenizer on the most frequent characters; see `TableTokenizer.train`.

        Raises:
            ValueError: also if `byte_level` is set, which needs no training.
        """
        if kwargs.get("byte_level"):
            raise ValueError(
                "`byte_level` must be False in training, got True: use "
                "`CharacterTokenizer(byte_level=True)`, which has nothing to train."
            )
        return super().train(texts, vocabulary_size, minimum_count, **kwargs)

    def cut(self, texts):
        """Split texts into characters or bytes, in graph."""
        if self.byte_level:
            return tf.strings.bytes_split(texts)
        return tf.strings.unicode_split(texts, "UTF-8", errors="replace")

    def encode(self, texts):
        """Convert rows of text to ids; see the base class."""
        # ISO 8859-1 reads byte b as code point b.
        encoding = "ISO-8859-1" if self.byte_level else "UTF-8"
        points = tf.strings.unicode_decode(texts, encoding, errors="replace")
        last = tf.size(self._ids_of_points) - 1
        return points.with_values(tf.gather(self._ids_of_points, tf.minimum(points.values, last)))

    def decode(self, ids):
        """Join characters, without special tokens other than `[UNK]`."""
        texts = super().decode(ids)
        if not self.byte_level:
            return texts
        return tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")

    def set_pieces(self, pieces):
        """Set the characters, a string or a list."""
        pieces = list(pieces)
        for character in pieces:
            if len(character) != 1:
                raise ValueError(f"`characters` must be single characters, got {character!r}.")
        super().set_pieces(pieces)
        # The id of each code point up to the highest known one, and one entry for all above it.
        points = [ord(character) for character in pieces]
        ids = np.full(max(points, default=0) + 2, SPECIAL_TOKENS.index(UNK), np.int32)
        ids[points] = range(len(SPECIAL_TOKENS), len(SPECIAL_TOKENS) + len(points))
        with tf.init_scope(), tf.device("CPU"):
            self._ids_of_points = tf.constant(ids)

    def piece_name(self, piece):
        """Return the token of a character, or of a byte such as `<0x41>`."""
        return f"<0x{piece[0]:02X}>" if self.byte_level else piece

    def save_assets(self, dir_path):
        """Write the characters to the folder `dir_path`, as a JSON list (empty at byte level)."""
        self._check_vocabulary()
        path = os.path.join(dir_path, VOCABULARY_FILENAME)
        with open(path, "w", encoding="utf-8") as file:
            json.dump([] if self.byte_level else self.characters, file)

    def load_assets(self, dir_path):
        """Read the characters from the folder `dir_path`."""
        if self.byte_level:
            return
        path = os.path.join(dir_path, VOCABULARY_FILENAME)
        with open(path, encoding="utf-8") as file:
            self.set_pieces(json.load(file))

    def get_config(self):
        """Return the constructor arguments, with `characters` as `None`: they are an asset."""
        return {**super().get_config(), "characters": None, "byte_level": self.byte_level}
