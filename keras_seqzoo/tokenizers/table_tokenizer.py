"""Base class of tokenizers with a lookup table of whole characters or words."""

import tensorflow as tf

from keras_seqzoo.tokenizers.text_tokenizer import SPECIAL_TOKENS, UNK, TextTokenizer
from keras_seqzoo.tokenizers.training_texts import count_pieces, frequent_pieces
from keras_seqzoo.tokenizers.vocabulary import check_pieces, join_pieces


class TableTokenizer(TextTokenizer):
    """Base class of tokenizers that split text into pieces and look them up in a vocabulary.

    Pieces outside the vocabulary become `[UNK]`. The ids of the pieces follow those of the special
    tokens (see `TextTokenizer`), in the order given. Subclasses implement `cut` and `encode`, and
    set `space` to `"prefix"` if there is a space between two pieces of a text.

    Args:
        pieces: list of different strings, or `None` to load them later by `load_assets`.
        **kwargs: Arguments of `TextTokenizer`.
    """

    kind = "piece"

    def __init__(self, pieces=None, **kwargs):
        super().__init__(**kwargs)
        self.pieces = None
        if pieces is not None:
            self.set_pieces(pieces)

    @classmethod
    def train(cls, texts, vocabulary_size=None, minimum_count=1, **kwargs):
        """Train a tokenizer on the most frequent pieces, in alphabetical order if equally frequent.

        Args:
            texts: Path of a text file (plain or `.gz`), list of `pathlib.Path`s, iterable of
                strings, or `tf.data.Dataset` of strings, batched or not.
            vocabulary_size: int, the maximum number of tokens, including the 5 special tokens, or
                `None` for all.
            minimum_count: int, the minimum count of a piece.
            **kwargs: Other arguments of the constructor.

        Returns:
            A tokenizer of this class.

        Raises:
            ValueError: if `vocabulary_size` is below 6 or no piece is frequent enough.
        """
        _most_pieces(vocabulary_size)  # before the text is read
        tokenizer = cls(**kwargs)
        counts = count_pieces(texts, lambda rows: tokenizer.cut(tokenizer.normalize(rows)))
        return cls.from_counts(counts, vocabulary_size, minimum_count, **kwargs)

    @classmethod
    def from_counts(cls, counts, vocabulary_size=None, minimum_count=1, **kwargs):
        """Create a tokenizer of the most frequent pieces, with the same result as `train`.

        Args:
            counts: dict from pieces to their counts in a text, such as `read_counts` returns.
            vocabulary_size: see `train`.
            minimum_count: see `train`.
            **kwargs: Other arguments of the constructor, the same as for the counts.

        Returns:
            A tokenizer of this class.

        Raises:
            ValueError: if `vocabulary_size` is below 6 or no piece is frequent enough.

        Example:
        >>> from keras_seqzoo.tokenizers import WordTokenizer
        >>> WordTokenizer.from_counts({"the": 3, "dog": 1, "cat": 2}, 7).pieces
        ['the', 'cat']
        """
        pieces = frequent_pieces(counts, _most_pieces(vocabulary_size), minimum_count, cls.kind)
        return cls(pieces, **kwargs)

    def cut(self, texts):
        """Split texts `(rows,)` into pieces, in graph: a ragged string tensor `(rows, None)`."""
        raise NotImplementedError(f"{type(self).__name__} must implement `cut`.")

    def set_pieces(self, pieces):
        """Set the pieces, a list of strings."""
        self.pieces = check_pieces(f"{self.kind}s", pieces)
        space = b" " if self.space == "prefix" else b""
        known = [space + tf.compat.as_bytes(piece) for piece in (UNK, *self.pieces)]
        surfaces = [b"", known[0], b"", b"", b"", *known[1:]]
        with tf.init_scope(), tf.device("CPU"):
            self._surfaces = tf.constant(surfaces)
        self.set_vocabulary([*SPECIAL_TOKENS, *map(self.piece_name, self.pieces)], surfaces)

    def piece_name(self, piece):
        """Return the token of a piece, a string."""
        return piece

    def decode(self, ids):
        """Join pieces, without special tokens other than `[UNK]`."""
        return join_pieces(self._surfaces, ids, first=" " if self.space else "")


def _most_pieces(vocabulary_size):
    """Return the largest number of pieces, or `None` for all."""
    if vocabulary_size is None:
        return None
    if vocabulary_size <= len(SPECIAL_TOKENS):
        raise ValueError(
            f"`vocabulary_size` must be above {len(SPECIAL_TOKENS)}, the special tokens, "
            f"got {vocabulary_size}."
        )
    return vocabulary_size - len(SPECIAL_TOKENS)
