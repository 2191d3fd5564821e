"""Byte-pair encoding."""

import itertools

import keras

from keras_seqzoo.checks import check_rate
from keras_seqzoo.tokenizers.sentence_piece import SentencePieceTokenizer
from keras_seqzoo.tokenizers.sentence_piece_model import (
    RESERVED,
    SPACE,
    count_spaced_words,
    proto_of_pieces,
    train_bpe,
)
from keras_seqzoo.tokenizers.subword_sampling import BytePairSampler


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class BytePairTokenizer(SentencePieceTokenizer):
    """Subword tokenizer by byte-pair encoding (Sennrich et al., 2016).

    Training starts from characters and repeatedly merges the most frequent pair of neighbors in the
    text, never across a space. Tokenizing replays the merges in the order in which they were
    learned. Characters outside the vocabulary become their UTF-8 bytes, so nothing is unknown. At
    byte level (Radford et al., 2019) training starts from the 256 bytes instead, and pieces may be
    parts of characters.

    BPE-dropout (Provilkov et al., 2020): with `training=True`, each merge is skipped with
    probability `dropout`, which gives other segmentations of the same text. SentencePiece draws
    them, and its generator ignores all seeds. `redraw` draws by a seed, with the dropout as its
    `rate`; as in the paper, it may do a skipped merge later.

    Special tokens and round trips: see `SentencePieceTokenizer`.

    Args:
        proto: bytes, a serialized SentencePiece model as created by `train`, or `None` to load it
            later by `load_assets`.
        dropout: float in [0, 1), the probability of skipping a merge in training.
        **kwargs: Arguments of `TextTokenizer`.

    Raises:
        ValueError: if `dropout` is outside its range; see also `SentencePieceTokenizer`.

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
    sampler_class = BytePairSampler

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
        """Train a tokenizer on text; see `SentencePieceTokenizer.train`.

        Args:
            texts: See the base class.
            vocabulary_size: See the base class.
            at_most: See the base class.
            character_coverage: See the base class; ignored at byte level.
            byte_level: bool. Whether to merge bytes instead of characters. `get_vocabulary` shows
                each byte as the character with its number.
            end_of_word: bool. Whether words are marked at their end ("the▁") instead of their
                beginning ("▁the").
            **kwargs: Other arguments of the constructor.

        Returns:
            A tokenizer of this class.
        """
        return cls._train(
            texts,
            vocabulary_size,
            kwargs,
            at_most=at_most,
            character_coverage=character_coverage,
            byte_level=byte_level,
            suffix=end_of_word,
        )

    @staticmethod
    def _train_proto(texts, vocabulary_size, **options):
        return train_bpe(count_spaced_words(texts), vocabulary_size, **options)

    @classmethod
    def from_counts(
        cls,
        counts,
        vocabulary_size,
        *,
        at_most=False,
        character_coverage=0.9995,
        byte_level=False,
        end_of_word=False,
        **kwargs,
    ):
        """Train a tokenizer on word counts, with the same result as `train` on the text.

        Args:
            counts: dict from the words between spaces (U+0020) to their counts in a normalized
                text, such as `read_counts` returns for counts from `seqzoo count spaced-words`.
            vocabulary_size: see `train`.
            at_most: see `train`.
            character_coverage: see `train`.
            byte_level: see `train`.
            end_of_word: see `train`.
            **kwargs: Other arguments of the constructor; `normalization` must be that of the
                counts.

        Returns:
            A tokenizer of this class.

        Raises:
            ValueError: if there is no word, or `vocabulary_size` does not fit the words.

        Example:
        >>> counts = {"dab": 5, "cab": 4, "dub": 1}
        >>> BytePairTokenizer.from_counts(counts, vocabulary_size=269).merges[:1]
        [('a', 'b')]
        """
        tokenizer = cls(**kwargs)
        tokenizer.set_proto(
            train_bpe(
                counts,
                vocabulary_size,
                at_most=at_most,
                character_coverage=character_coverage,
                byte_level=byte_level,
                suffix=end_of_word,
            )
        )
        return tokenizer

    @classmethod
    def from_merges(cls, merges, characters="", end_of_word=None, **kwargs):
        """Create a tokenizer from a table of merges, such as other programs learn.

        Args:
            merges: list of pairs of strings, in order. SentencePiece sees only their
                concatenations, so each concatenation must result from its pair, given the merges
                before it.
            characters: string, characters that are in no merge; others become bytes.
            end_of_word: string or `None`. The mark after the last symbol of a word in the merges,
                such as `"</w>"`. Without it words have no mark, and a space is a character between
                them.
            **kwargs: Other arguments of the constructor.

        Returns:
            A tokenizer of this class.

        Raises:
            ValueError: if a merge is not a pair of non-empty strings, or the tokenizer would merge
                other pairs, or in another order.

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
        """Whether the tokens are sequences of bytes."""
        self._check_vocabulary()
        return self._segmenter.byte_level

    @property
    def merges(self):
        """The merges: a list of pairs of strings, in order."""
        rank = {}
        for piece in self.get_vocabulary()[RESERVED:]:
            if len(piece) > 1:
                rank[piece] = len(rank)
        return [_last_merge(piece, rank) for piece in rank]

    def __dir__(self):
        """Return the names of all attributes but `merges`.

        Keras loads weights into what it finds in these attributes, and would look for each pair in
        the file: with ten thousand pairs this takes half a second.
        """
        return [name for name in super().__dir__() if name != "merges"]

    def sample(self, texts):
        """Draw a segmentation of each text; see the base class."""
        if not self.dropout:
            return self.encode(texts)
        return self._segmenter.tokenize(texts, nbest_size=-1, alpha=self.dropout)

    def get_config(self):
        """Return the constructor arguments, with `proto` as `None`: it is saved as an asset."""
        return {**super().get_config(), "dropout": self.dropout}


def _check_replay(table, merges):
    """Raise `ValueError` if a tokenizer's merges differ from a table.

    SentencePiece merges all neighbors whose concatenation is a piece. In a consistent table each
    piece results from one pair only, the one in `merges`.
    """
    replayed = set(merges)
    requested = [merge for merge in dict.fromkeys(table) if merge in replayed]
    for expected, merge in itertools.zip_longest(merges, requested):
        if expected != merge:
            piece = "".join(expected)
            same = [merge for merge in table if "".join(merge) == piece]
            raise ValueError(
                f"`merges` must make {piece!r} of {expected}, which earlier merges leave "
                f"side by side, got {same}."
            )


def _last_merge(piece, rank):
    """Return the two symbols that the last merge of a piece joins."""
    symbols = list(piece)
    while len(symbols) > 2:
        pairs = ["".join(pair) for pair in zip(symbols[:-1], symbols[1:], strict=True)]
        place = min(range(len(pairs)), key=lambda place: rank.get(pairs[place], len(rank)))
        symbols[place : place + 2] = [pairs[place]]
    return tuple(symbols)
