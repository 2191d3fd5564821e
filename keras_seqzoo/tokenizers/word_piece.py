"""WordPiece."""

import os

import keras
import tensorflow as tf
import tensorflow_text

from keras_seqzoo.checks import check_integer
from keras_seqzoo.tokenizers.merges import learn_merges
from keras_seqzoo.tokenizers.text_tokenizer import SPECIAL_TOKENS, UNK, TextTokenizer
from keras_seqzoo.tokenizers.training_texts import count_pieces
from keras_seqzoo.tokenizers.vocabulary import check_words, join_pieces, read_pieces, write_pieces
from keras_seqzoo.tokenizers.words import encode_by_words, split_words

VOCABULARY_FILENAME = "vocabulary.txt"
INSIDE = "##"
MAX_WORD_BYTES = 100  # longer words are unknown
# The matcher cannot read U+0000 and aborts the process at U+0011, and words must not spell its
# marks of pieces inside a word and of special tokens. Words have no white space, so it replaces
# the former and serves as the latter.
UNREADABLE = {"\x00": "\u2028", "\x11": "\u202f"}
MATCHER_INSIDE, MATCHER_SPECIAL = "\u2029", "\u3000"


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class WordPieceTokenizer(TextTokenizer):
    """Subword tokenizer by the longest match from the left (Schuster and Nakajima, 2012).

    Text is split into words, at white space and around punctuation. The longest piece of the
    vocabulary is removed repeatedly from the beginning of each word; pieces inside a word begin
    with `##`. A word that cannot be spelled this way, or has more than 100 bytes, is one `[UNK]`.
    Matching takes linear time (Song et al., 2021).

    Training starts from characters and repeatedly merges the pair of neighbors in a word with the
    highest `freq(ab) / (freq(a) · freq(b))`. This prefers pairs whose parts rarely occur alone,
    however rare they are, so `minimum_count` excludes rare pairs.

    `detokenize(tokenize(text))` gives the words of `normalize(text)` with single spaces between
    them, if none is unknown.

    Args:
        pieces: list of different strings, or `None` to load them later by `load_assets`.
        split_punctuation: bool. Whether each punctuation mark and symbol (Unicode categories P and
            S) is a separate word.
        **kwargs: Arguments of `TextTokenizer`.

    Raises:
        ValueError: if a piece is empty, contains white space or is repeated.

    Example:
    >>> tokenizer = WordPieceTokenizer(["ab", "a", "##b", "##cd", "##c", "##d"])
    >>> [tokenizer.id_to_token(id) for id in tokenizer("abcd ba").numpy()]
    ['ab', '##cd', '[UNK]']
    >>> tokenizer.detokenize(tokenizer("ab  a"))
    'ab a'

    References:
        - Schuster and Nakajima, "Japanese and Korean Voice Search", 2012
        - Song et al., "Fast WordPiece Tokenization", 2021, https://arxiv.org/abs/2012.15524
    """

    space = "prefix"

    def __init__(self, pieces=None, split_punctuation=True, **kwargs):
        super().__init__(**kwargs)
        self.split_punctuation = split_punctuation
        self.file_assets = [VOCABULARY_FILENAME]
        self.pieces = None
        if pieces is not None:
            self.set_pieces(pieces)

    @classmethod
    def train(cls, texts, vocabulary_size, *, minimum_count=2, **kwargs):
        """Train a tokenizer on text. The same text and arguments give the same tokenizer.

        Args:
            texts: Path of a text file (plain or `.gz`), list of `pathlib.Path`s, iterable of
                strings, or `tf.data.Dataset` of strings, batched or not.
            vocabulary_size: int. The maximum number of tokens, including the 5 special tokens and
                the text's characters, at the beginning of words and inside.
            minimum_count: int, the minimum count of a pair to be merged.
            **kwargs: Other arguments of the constructor.

        Returns:
            A tokenizer of this class.

        Raises:
            ValueError: if the text has no words, or more characters than fit `vocabulary_size`.
        """
        tokenizer = cls(**kwargs)
        counts = count_pieces(
            texts, lambda rows: split_words(tokenizer.normalize(rows), tokenizer.split_punctuation)
        )
        return cls.from_counts(counts, vocabulary_size, minimum_count=minimum_count, **kwargs)

    @classmethod
    def from_counts(cls, counts, vocabulary_size, *, minimum_count=2, **kwargs):
        """Train a tokenizer on word counts, with the same result as `train` on the text.

        Args:
            counts: dict from words to their counts in a normalized text, such as `read_counts`
                returns for counts from `seqzoo count words`.
            vocabulary_size: see `train`.
            minimum_count: see `train`.
            **kwargs: Other arguments of the constructor, the same as for the counts.

        Returns:
            A tokenizer of this class.

        Raises:
            ValueError: if there are no words, or more characters than fit `vocabulary_size`.

        Example:
        >>> tokenizer = WordPieceTokenizer.from_counts({"abc": 3, "ab": 2}, vocabulary_size=9)
        >>> tokenizer.pieces
        ['##b', '##c', 'a', 'ab']
        """
        check_integer("vocabulary_size", vocabulary_size, minimum=len(SPECIAL_TOKENS) + 1)
        check_integer("minimum_count", minimum_count, minimum=1)
        words = dict(sorted(counts.items()))  # ties do not depend on the order of the text
        words = {(word[0], *(INSIDE + c for c in word[1:])): n for word, n in words.items()}
        if not words:
            raise ValueError("`texts` must have a word, got none.")
        alphabet = sorted({symbol for word in words for symbol in word})
        room = vocabulary_size - len(SPECIAL_TOKENS) - len(alphabet)
        if room < 0:
            raise ValueError(
                f"`vocabulary_size` must be at least {vocabulary_size - room} for this text: 5 "
                f"special tokens and {len(alphabet)} characters at the beginning of words and "
                f"inside, got {vocabulary_size}."
            )
        merges = learn_merges(words, "likelihood", minimum_count, _joined)
        pieces = dict.fromkeys(alphabet)
        while len(pieces) < len(alphabet) + room and (merge := next(merges, None)):
            pieces.setdefault(_joined(*merge))
        return cls(pieces, **kwargs)

    @property
    def text_ops(self):
        """The ops of TensorFlow Text in graphs of the tokenizer; see the base class."""
        return super().text_ops | {"FastWordpieceTokenizeWithOffsets"}

    def set_pieces(self, pieces):
        """Set the pieces, a list of strings."""
        self.pieces = check_words("pieces", pieces)
        tokens = [MATCHER_SPECIAL + token for token in SPECIAL_TOKENS]
        for piece in self.pieces:
            inside = piece.startswith(INSIDE)
            piece = MATCHER_INSIDE + piece.removeprefix(INSIDE) if inside else piece
            tokens.append(piece.translate(str.maketrans(UNREADABLE)))
        with tf.init_scope(), tf.device("CPU"):
            self._matcher = tensorflow_text.FastWordpieceTokenizer(
                tokens,
                suffix_indicator=MATCHER_INSIDE,
                max_bytes_per_word=MAX_WORD_BYTES,
                token_out_type=tf.int32,
                unknown_token=MATCHER_SPECIAL + UNK,
                no_pretokenization=True,
            )
            surfaces = [
                piece.removeprefix(INSIDE) if piece.startswith(INSIDE) else f" {piece}"
                for piece in self.pieces
            ]
            surfaces = ["", f" {UNK}", "", "", "", *surfaces]
            self._surfaces = tf.constant(surfaces)
        self.set_vocabulary([*SPECIAL_TOKENS, *self.pieces], map(str.encode, surfaces))

    def written_words(self, text):
        """Split a text into words; with `split_punctuation`, punctuation marks are words too."""
        return [word.decode() for word in split_words([text], self.split_punctuation)[0].numpy()]

    def encode(self, texts):
        """Convert rows of text to ids; see the base class."""
        return encode_by_words(texts, self._match)

    def _match(self, texts):
        words = split_words(texts, self.split_punctuation)
        for character, other in UNREADABLE.items():
            pattern = f"\\x{ord(character):02x}"
            words = words.with_values(tf.strings.regex_replace(words.values, pattern, other))
        return self._matcher.tokenize(words).merge_dims(-2, -1)

    def decode(self, ids):
        """Join pieces, with spaces between words, without special tokens other than `[UNK]`."""
        return join_pieces(self._surfaces, ids, first=" ")

    def save_assets(self, dir_path):
        """Write the pieces to the folder `dir_path`, one per line."""
        self._check_vocabulary()
        write_pieces(os.path.join(dir_path, VOCABULARY_FILENAME), self.pieces)

    def load_assets(self, dir_path):
        """Read the pieces from the folder `dir_path`."""
        self.set_pieces(read_pieces(os.path.join(dir_path, VOCABULARY_FILENAME)))

    def get_config(self):
        """Return the constructor arguments, with `pieces` as `None`: they are an asset."""
        return {
            **super().get_config(),
            "pieces": None,
            "split_punctuation": self.split_punctuation,
        }


def _joined(left, right):
    joined = left + right.removeprefix(INSIDE)
    if joined.startswith(INSIDE) and not left.startswith(INSIDE):
        return None  # begins a word, but would read as a piece inside one
    return joined
