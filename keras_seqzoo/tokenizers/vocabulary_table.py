"""Tokens that are pieces of text of a known list, each with an id."""

import tensorflow as tf

from keras_seqzoo.tokenizers.pieces import check_pieces, join_surfaces
from keras_seqzoo.tokenizers.text_tokenizer import SPECIAL_TOKENS, UNK, TextTokenizer
from keras_seqzoo.tokenizers.texts import count_pieces, frequent_pieces


class TableTokenizer(TextTokenizer):
    """Base of tokenizers that cut text into pieces and look each up in a vocabulary.

    Pieces that are not in the vocabulary become `[UNK]`. The ids of special tokens are those of
    `TextTokenizer`; the pieces follow them, in the order given. A subclass implements `cut` and
    `encode`, and says by `separator` what stands between the pieces of a text.

    Args:
        pieces: list of strings, none of them twice, or `None` for a tokenizer whose pieces come
            later by `load_assets`.
        **kwargs: those of `TextTokenizer`.
    """

    separator = ""
    kind = "piece"

    def __init__(self, pieces=None, **kwargs):
        super().__init__(**kwargs)
        self.pieces = None
        if pieces is not None:
            self.set_pieces(pieces)

    @classmethod
    def train(cls, texts, vocabulary_size=None, minimum_count=1, **kwargs):
        """Makes a tokenizer of the most frequent pieces; those equally frequent by the alphabet.

        Args:
            texts: The text: the path of a text file (plain or `.gz`), a list of paths
                (`pathlib.Path`; strings in a list are text), a list or other iterable of strings,
                or a `tf.data.Dataset` of strings, batched or not.
            vocabulary_size: int, the most tokens, the 5 special ones counted, or `None` for all.
            minimum_count: int, how often a piece must come.
            **kwargs: The other arguments of the constructor.

        Returns:
            A tokenizer of this class.

        Raises:
            ValueError: if `vocabulary_size` is below 6 or no piece is left.
        """
        most = None if vocabulary_size is None else vocabulary_size - len(SPECIAL_TOKENS)
        if most is not None and most < 1:
            raise ValueError(
                f"`vocabulary_size` must be above {len(SPECIAL_TOKENS)}, the special tokens, "
                f"got {vocabulary_size}."
            )
        tokenizer = cls(**kwargs)
        counts = count_pieces(texts, lambda rows: tokenizer.cut(tokenizer.normalize(rows)))
        tokenizer.set_pieces(frequent_pieces(counts, most, minimum_count, cls.kind))
        return tokenizer

    def cut(self, texts):
        """Cuts texts `(rows,)` into pieces, in graph: a ragged string tensor `(rows, None)`."""
        raise NotImplementedError(f"{type(self).__name__} must implement `cut`.")

    def set_pieces(self, pieces):
        """Sets the pieces, a list of strings."""
        self.pieces = check_pieces(f"{self.kind}s", pieces)
        first = len(SPECIAL_TOKENS)
        with tf.init_scope(), tf.device("CPU"):
            known = tf.strings.join([self.separator, [UNK, *self.pieces]])
            self._surfaces = tf.concat([[""], known[:1], [""] * (first - 2), known[1:]], 0)
        self.set_vocabulary([*SPECIAL_TOKENS, *self.pieces])

    def decode(self, ids):
        """Joins pieces; special tokens but `[UNK]` are left out."""
        return join_surfaces(self._surfaces, ids, first=self.separator)
