"""Tokens that are pieces of text of a known list, each with an id."""

import collections

import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.tokenizers.text_tokenizer import SPECIAL_TOKENS, UNK, TextTokenizer
from keras_seqzoo.tokenizers.training import iterate_texts


class TableTokenizer(TextTokenizer):
    """Base of tokenizers that cut text into pieces and look each up in a vocabulary.

    Pieces that are not in the vocabulary become `[UNK]`. The ids of special tokens are those of
    `TextTokenizer`; the pieces follow them, in the order given. A subclass implements `cut` and
    `pieces_of`, and says by `separator` what stands between the pieces of a text.

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
        if vocabulary_size is not None and vocabulary_size <= len(SPECIAL_TOKENS):
            raise ValueError(
                f"`vocabulary_size` must be above {len(SPECIAL_TOKENS)}, the special tokens. "
                f"Received: {vocabulary_size}"
            )
        check_integer("minimum_count", minimum_count, minimum=1)
        counts = collections.Counter()
        for text in iterate_texts(texts):
            counts.update(cls.pieces_of(text))
        pieces = [piece for piece, count in counts.items() if count >= minimum_count]
        if not pieces:
            raise ValueError(f"`texts` must have a {cls.kind} that comes {minimum_count} times.")
        pieces.sort(key=lambda piece: (-counts[piece], piece))
        most = None if vocabulary_size is None else vocabulary_size - len(SPECIAL_TOKENS)
        return cls(pieces[:most], **kwargs)

    @staticmethod
    def pieces_of(text):
        """Cuts a text into a list of pieces, in Python."""
        raise NotImplementedError("a TableTokenizer must implement `pieces_of`.")

    def cut(self, texts):
        """Cuts texts `(rows,)` into pieces, in graph: a ragged string tensor `(rows, None)`."""
        raise NotImplementedError(f"{type(self).__name__} must implement `cut`.")

    def set_pieces(self, pieces):
        """Sets the pieces, a list of strings."""
        pieces = list(pieces)
        if len(set(pieces)) < len(pieces):
            twice = next(p for p, count in collections.Counter(pieces).items() if count > 1)
            raise ValueError(f"`{self.kind}s` must differ. Received {twice!r} twice.")
        self.pieces = pieces
        first = len(SPECIAL_TOKENS)
        with tf.init_scope(), tf.device("CPU"):
            self._table = tf.lookup.StaticHashTable(
                tf.lookup.KeyValueTensorInitializer(
                    tf.constant(pieces, tf.string),
                    tf.range(first, first + len(pieces), dtype=tf.int32),
                ),
                default_value=SPECIAL_TOKENS.index(UNK),
            )
            self._surfaces = tf.constant(["", UNK, "", "", "", *pieces])
        self.set_vocabulary([*SPECIAL_TOKENS, *pieces])

    def encode(self, texts):
        """Turns rows of text into ids; see the base class."""
        return self._table.lookup(self.cut(texts))

    def decode(self, ids):
        """Joins pieces; special tokens but `[UNK]` are left out."""
        ids = tf.cast(ids, tf.int32)
        if ids.shape.rank == 1:
            return self.decode(ids[tf.newaxis])[0]
        if not isinstance(ids, tf.RaggedTensor):
            ids = tf.RaggedTensor.from_tensor(ids, ragged_rank=ids.shape.rank - 1)
        written = (ids == SPECIAL_TOKENS.index(UNK)) | (ids >= len(SPECIAL_TOKENS))
        ids = tf.ragged.boolean_mask(ids, written)
        pieces = ids.with_flat_values(tf.gather(self._surfaces, ids.flat_values))
        return tf.strings.reduce_join(pieces, axis=-1, separator=self.separator)
