"""Byte-pair encoding."""

import itertools

import keras

from keras_seqzoo.checks import check_rate
from keras_seqzoo.tokenizers.sentence_piece import SentencePieceTokenizer
from keras_seqzoo.tokenizers.sentence_piece_model import RESERVED, SPACE, proto_of_pieces


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class BytePairTokenizer(SentencePieceTokenizer):
    """Subword tokenizer by byte-pair encoding (Sennrich et al., 2016).

    Training starts from characters and joins, again and again, the pair of neighbours that is most
    frequent in the text, never across a space. Tokenizing replays these joins in the order in which
    they were learned. Characters outside the vocabulary become their UTF-8 bytes, so nothing is
    ever unknown. At byte level (Radford et al., 2019) training starts from the 256 bytes instead:
    no character is special, and pieces may be parts of characters.

    BPE-dropout (Provilkov et al., 2020): called with `training=True`, itself or by a
    preprocessor, a tokenizer with `dropout` leaves out each join with that probability, which gives
    other segmentations of the same text. They are drawn in SentencePiece, whose generator no seed
    of TensorFlow sets.

    Special tokens and the exact round trip are those of `SentencePieceTokenizer`.

    Args:
        proto: bytes, a serialised SentencePiece model as made by `train`, or `None` for a tokenizer
            whose model comes later by `load_assets`.
        dropout: float in [0, 1), how often a join is left out in training.
        **kwargs: those of `TextTokenizer`.

    Raises:
        ValueError: if `dropout` is outside its range, or as `SentencePieceTokenizer`.

    Example:
    ```python
    lines = ["the cat sat on the mat", "the dog sat on the log"]
    tokenizer = BytePairTokenizer.train(lines, vocabulary_size=290)
    ids = tokenizer(["the dog sat"])  # a RaggedTensor of shape (1, None)
    tokenizer.detokenize(ids)  # ["the dog sat"]
    ```

    References:
        - Sennrich, Haddow and Birch, "Neural Machine Translation of Rare Words with Subword
          Units", 2016, https://arxiv.org/abs/1508.07909
        - Radford et al., "Language Models are Unsupervised Multitask Learners", 2019, section 2.2
        - Provilkov, Emelianenko and Voita, "BPE-Dropout: Simple and Effective Subword
          Regularization", 2020, https://arxiv.org/abs/1910.13267
    """

    model_type = "bpe"

    def __init__(self, proto=None, dropout=0.0, **kwargs):
        check_rate("dropout", dropout)
        super().__init__(proto, **kwargs)
        self.dropout = dropout

    @classmethod
    def train(
        cls,
        texts,
        vocabulary_size,
        *,
        at_most=False,
        character_coverage=0.9995,
        byte_level=False,
        end_of_word=False,
        **kwargs,
    ):
        """Train a tokenizer on text. The same text and arguments give the same tokenizer.

        Args:
            texts: The text: the path of a text file (plain or `.gz`), a list of paths
                (`pathlib.Path`; strings in a list are text), a list or other iterable of strings,
                or a `tf.data.Dataset` of strings, batched or not.
            vocabulary_size: int. The number of tokens, including 5 special tokens and 256 bytes.
            at_most: bool. Whether a text that has not so many tokens gives fewer, with a warning,
                and not an error.
            character_coverage: float in (0, 1]. The share of the text's characters that become
                tokens; the rarest ones beyond it are written as bytes. Without meaning at byte
                level.
            byte_level: bool. Whether to join bytes, not characters. The tokens of
                `get_vocabulary` then have, for each byte, the character with its number.
            end_of_word: bool. Whether a word is marked at its end ("the▁") and not at its
                beginning ("▁the").
            **kwargs: The other arguments of the constructor.

        Returns:
            A tokenizer of this class.

        Raises:
            ValueError: if the text is empty or not UTF-8, or too small or too rich for
                `vocabulary_size`; the message gives the possible value.
            TypeError: if `texts` holds something else, or `vocabulary_size` is not an int.
        """
        return cls._trained(
            texts,
            vocabulary_size,
            kwargs,
            at_most=at_most,
            character_coverage=character_coverage,
            byte_level=byte_level,
            suffix=end_of_word,
        )

    @classmethod
    def from_merges(cls, merges, characters="", end_of_word=None, **kwargs):
        """Makes a tokenizer of a table of merges, such as other programs have learned.

        Args:
            merges: list of pairs of strings, in the order in which they are done. A text is cut by
                the concatenations alone: each must come of its pair when the others are done.
            characters: string, characters that are in no merge; others become bytes.
            end_of_word: string or `None`. What stands at the end of a word's last symbol in the
                merges, such as `"</w>"`. Without it words have no mark, and a space is a character
                between them.
            **kwargs: The other arguments of the constructor.

        Returns:
            A tokenizer of this class.

        Raises:
            ValueError: if a merge is not a pair of strings that are not empty, or the tokenizer's
                own `merges` make a symbol of another pair, or in another order.

        Example:
        >>> tokenizer = BytePairTokenizer.from_merges([("a", "b"), ("d", "ab")])
        >>> [tokenizer.id_to_token(id) for id in tokenizer("dabba").numpy()]
        ['dab', 'b', 'a']
        """
        table, alphabet = [], dict.fromkeys(characters)
        for merge in merges:
            if len(merge) != 2 or not all(isinstance(part, str) and part for part in merge):
                raise ValueError(f"`merges` must hold pairs of strings, got {merge!r}.")
            left, right = merge
            if end_of_word is not None:
                right = right.removesuffix(end_of_word) + SPACE * right.endswith(end_of_word)
            alphabet.update(dict.fromkeys(left + right))
            table.append((left, right))
        alphabet.setdefault(SPACE)
        if end_of_word is not None:  # a last character and its mark are one symbol from the start
            table = [(character, SPACE) for character in alphabet if character != SPACE] + table
        scores = {}
        for piece in [*map("".join, table), *alphabet]:
            scores.setdefault(piece, -float(len(scores)))
        mark = None if end_of_word is None else "suffix"
        tokenizer = cls(proto_of_pieces(scores, cls.model_type, mark=mark), **kwargs)
        _check_replay(table, tokenizer.merges)
        return tokenizer

    @property
    def byte_level(self):
        """Whether its tokens are made of bytes."""
        self._check_vocabulary()
        return self._segmenter.byte_level

    @property
    def merges(self):
        """The table of merges: a list of pairs of strings, in the order in which they are done."""
        rank = {}
        for piece in self.get_vocabulary()[RESERVED:]:
            if len(piece) > 1:
                rank[piece] = len(rank)
        return [_last_merge(piece, rank) for piece in rank]

    def sample(self, texts):
        """Draws a segmentation of each text; see the base class."""
        if not self.dropout:
            return self.encode(texts)
        return self._segmenter.tokenize(texts, nbest_size=-1, alpha=self.dropout)

    def get_config(self):
        """Returns the arguments of the constructor, `proto` as `None`: it is saved as an asset."""
        return {**super().get_config(), "dropout": self.dropout}


def _check_replay(table, merges):
    """Raises `ValueError` where a table's merges are not done as it has them.

    SentencePiece joins all neighbours whose concatenation is a piece. In a table whose order is
    right, only one pair of each piece ever stands side by side: that of `merges`.
    """
    done = set(merges)
    given = [merge for merge in dict.fromkeys(table) if merge in done]
    for wanted, merge in itertools.zip_longest(merges, given):
        if wanted != merge:
            piece = "".join(wanted)
            same = [merge for merge in table if "".join(merge) == piece]
            raise ValueError(
                f"`merges` must make {piece!r} of {wanted}, which earlier merges leave "
                f"side by side, got {same}."
            )


def _last_merge(piece, rank):
    """Finds the two symbols of which a piece is made, by the merges before its own."""
    symbols = list(piece)
    while len(symbols) > 2:
        pairs = ["".join(pair) for pair in zip(symbols[:-1], symbols[1:], strict=True)]
        place = min(range(len(pairs)), key=lambda place: rank.get(pairs[place], len(rank)))
        symbols[place : place + 2] = [pairs[place]]
    return tuple(symbols)
