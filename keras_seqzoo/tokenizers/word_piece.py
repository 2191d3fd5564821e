"""WordPiece."""

import os

import keras
import tensorflow as tf
import tensorflow_text

from keras_seqzoo.checks import check_integer
from keras_seqzoo.tokenizers.merges import learn_merges
from keras_seqzoo.tokenizers.pieces import check_words, join_surfaces, read_pieces, write_pieces
from keras_seqzoo.tokenizers.text_tokenizer import SPECIAL_TOKENS, UNK, TextTokenizer
from keras_seqzoo.tokenizers.texts import count_pieces
from keras_seqzoo.tokenizers.words import encode_by_words, split_words

VOCABULARY_FILENAME = "vocabulary.txt"
INSIDE = "##"
LONGEST = 100  # bytes of a word; longer ones are unknown
# Words have no white space, so the matcher may read it for what it cannot (U+0000, and U+0011, at
# which it ends the process), and for what words must not spell: the mark inside a word, special
# tokens.
UNREADABLE = {"\x00": "\u2028", "\x11": "\u202f"}
MATCHER_INSIDE, MATCHER_SPECIAL = "\u2029", "\u3000"


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class WordPieceTokenizer(TextTokenizer):
    """Subword tokenizer by the longest match from the left (Schuster and Nakajima, 2012).

    Text is split into words, at white space and around punctuation. Of each word the longest piece
    of the vocabulary is taken from its beginning, then of the rest, and so on; pieces inside a word
    begin with `##`. A word that cannot be written so, or has more than 100 bytes, is one `[UNK]`.
    The match takes linear time (Song et al., 2021).

    Training starts from the characters and joins, again and again, the pair of neighbours in a word
    with the highest `freq(ab) / (freq(a) · freq(b))`. That prefers pairs whose parts come seldom
    alone, however rare they are: `minimum_count` leaves out those that are too rare.

    `detokenize(tokenize(text))` is the words of `normalize(text)` with one space between them, if
    none is unknown.

    Args:
        pieces: list of strings, none of them twice, or `None` for a tokenizer whose pieces come
            later by `load_assets`.
        split_punctuation: bool. Whether each punctuation mark and symbol (Unicode categories P and
            S) is a word by itself.
        **kwargs: those of `TextTokenizer`.

    Raises:
        ValueError: if a piece is empty, has white space or comes twice.

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

    def __init__(self, pieces=None, split_punctuation=True, **kwargs):
        super().__init__(**kwargs)
        self.split_punctuation = split_punctuation
        self.file_assets = [VOCABULARY_FILENAME]
        self.pieces = None
        if pieces is not None:
            self.set_pieces(pieces)

    @classmethod
    def train(cls, texts, vocabulary_size, *, minimum_count=2, **kwargs):
        """Trains a tokenizer on text. The same text and arguments give the same tokenizer.

        Args:
            texts: The text: the path of a text file (plain or `.gz`), a list of paths
                (`pathlib.Path`; strings in a list are text), a list or other iterable of strings,
                or a `tf.data.Dataset` of strings, batched or not.
            vocabulary_size: int. The most tokens, including the 5 special tokens and the text's
                characters, each at the beginning of a word and inside where it comes there.
            minimum_count: int, how often a pair must come to be joined.
            **kwargs: The other arguments of the constructor.

        Returns:
            A tokenizer of this class.

        Raises:
            ValueError: if the text has no words, or more characters than fit `vocabulary_size`.
        """
        check_integer("vocabulary_size", vocabulary_size, minimum=len(SPECIAL_TOKENS) + 1)
        check_integer("minimum_count", minimum_count, minimum=1)
        tokenizer = cls(**kwargs)
        words = count_pieces(
            texts, lambda rows: split_words(tokenizer.normalize(rows), tokenizer.split_punctuation)
        )
        words = {(word[0], *(INSIDE + c for c in word[1:])): n for word, n in words.items()}
        if not words:
            raise ValueError("`texts` is empty: training needs at least one word.")
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
        tokenizer.set_pieces(pieces)
        return tokenizer

    @property
    def text_ops(self):
        """The ops of TensorFlow Text in its graphs; see the base class."""
        return super().text_ops | {"FastWordpieceTokenizeWithOffsets"}

    def set_pieces(self, pieces):
        """Sets the pieces, a list of strings."""
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
                max_bytes_per_word=LONGEST,
                token_out_type=tf.int32,
                unknown_token=MATCHER_SPECIAL + UNK,
                no_pretokenization=True,
            )
            surfaces = [
                piece.removeprefix(INSIDE) if piece.startswith(INSIDE) else f" {piece}"
                for piece in self.pieces
            ]
            self._surfaces = tf.constant(["", f" {UNK}", "", "", "", *surfaces])
        self.set_vocabulary([*SPECIAL_TOKENS, *self.pieces])

    def encode(self, texts):
        """Turns rows of text into ids; see the base class."""
        return encode_by_words(texts, self._match)

    def _match(self, texts):
        words = split_words(texts, self.split_punctuation)
        for character, other in UNREADABLE.items():
            pattern = f"\\x{ord(character):02x}"
            words = words.with_values(tf.strings.regex_replace(words.values, pattern, other))
        return self._matcher.tokenize(words).merge_dims(-2, -1)

    def decode(self, ids):
        """Joins pieces, a space between words; special tokens but `[UNK]` are left out."""
        return join_surfaces(self._surfaces, ids, first=" ")

    def save_assets(self, dir_path):
        """Writes the pieces to the folder `dir_path`, one a line."""
        self._check_vocabulary()
        write_pieces(os.path.join(dir_path, VOCABULARY_FILENAME), self.pieces)

    def load_assets(self, dir_path):
        """Reads the pieces from the folder `dir_path`."""
        self.set_pieces(read_pieces(os.path.join(dir_path, VOCABULARY_FILENAME)))

    def get_config(self):
        """Returns the arguments of the constructor, `pieces` as `None`: they are an asset."""
        return {
            **super().get_config(),
            "pieces": None,
            "split_punctuation": self.split_punctuation,
        }


def _joined(left, right):
    joined = left + right.removeprefix(INSIDE)
    if joined.startswith(INSIDE) and not left.startswith(INSIDE):
        return None  # the beginning of a word, but it would read as the inside of one
    return joined
