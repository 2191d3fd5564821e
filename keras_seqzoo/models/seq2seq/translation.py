"""Translations, the alignment of their words and the replacement of unknown words."""

import re
from typing import NamedTuple

import numpy as np

from keras_seqzoo.tokenizers.segmenter import UNKNOWN_SURFACE
from keras_seqzoo.tokenizers.sentence_piece_model import ESCAPE, ESCAPES, SPACE
from keras_seqzoo.tokenizers.text_tokenizer import SPECIAL_TOKENS, UNK

TEXTLESS = frozenset(SPECIAL_TOKENS) - {UNK}
BYTE = re.compile(r"<0x([0-9A-F]{2})>")


class Translation(NamedTuple):
    """One hypothesis for one source sentence.

    Attributes:
        text: the translation.
        score: the score of the search, such as the length-normalized log-probability.
        log_probability: natural logarithm of P(target | source).
        source_tokens: the subwords of the source, including `[EOS]`.
        target_tokens: the subwords of the translation, including `[EOS]` if it was reached.
        alignment: float32 array `(target tokens, source tokens)` of attention weights, or `None`
            if it was not requested.
    """

    text: str
    score: float
    log_probability: float
    source_tokens: list[str]
    target_tokens: list[str]
    alignment: np.ndarray | None


class WordAlignment(NamedTuple):
    """Attention of the words of a translation to the words of its source.

    Attributes:
        source_words: list of strings.
        target_words: list of strings.
        weights: float32 array `(target words, source words)`. A row sums to at most 1, because it
            leaves out the attention to the end token.
    """

    source_words: list[str]
    target_words: list[str]
    weights: np.ndarray

    def links(self):
        """Link each target word to the source word with the largest weight.

        Returns:
            A list of pairs `(source word, target word)` of indices from 0, in the order of the
            target; empty if the source has no words.
        """
        if not self.source_words:
            return []
        best = self.weights.argmax(axis=1)
        return [(int(source), target) for target, source in enumerate(best)]

    def pharaoh(self):
        """Return the links in the format of word aligners, `0-0 2-1 1-2`, source first."""
        return " ".join(f"{source}-{target}" for source, target in self.links())


def word_alignment(translation):
    """Convert the attention between subwords to attention between words.

    The weight between two words is the mean over the target word's subwords of the sum over the
    source word's subwords.

    Args:
        translation: a `Translation` with an `alignment`, from `translate(..., alignments=True)` or
            `align`. Its tokens are SentencePiece's, in which words begin with U+2581.

    Returns:
        A `WordAlignment`.

    Raises:
        ValueError: if the translation has no alignment.

    Example:
    >>> weights = np.array([[0.8, 0.1, 0.0, 0.1], [0.1, 0.5, 0.4, 0.0], [0.0, 0.2, 0.2, 0.6]])
    >>> tokens = ["\u2581a", "\u2581d", "og", "[EOS]"], ["\u2581un", "\u2581chien", "[EOS]"]
    >>> aligned = word_alignment(Translation("un chien", 0.0, 0.0, *tokens, weights))
    >>> aligned.source_words, aligned.pharaoh()
    (['a', 'dog'], '0-0 1-1')
    """
    source_words, attention = _attention_to_words(translation)
    words = group_words(translation.target_tokens)
    weights = np.zeros((len(words), len(source_words)), np.float32)
    for row, (_, group) in enumerate(words):
        weights[row] = attention[group].mean(axis=0)
    return WordAlignment(source_words, [text for text, _ in words], weights)


def replace_unknown_words(translation, lexicon=None, source=None):
    """Replace each unknown token by a translation of the source word with the largest attention.

    This is the most likely translation in a lexicon, or else the source word itself, as names are
    often the same in both languages (Luong et al. 2015, Addressing the rare word problem in neural
    machine translation; Jean et al. 2015 choose the word by the attention weights). The rest of
    the word with the unknown token, such as a comma, stays.

    The tokenizers trained by this package spell rare words in letters or bytes and have no unknown
    words; other vocabularies may have them.

    Args:
        translation: a `Translation` with an `alignment`, or of an empty source.
        lexicon: a `Lexicon` or `None`.
        source: string, the source sentence, from which to copy words that are unknown in the
            source too. With `None` they become U+2047, the sign for unknown words.

    Returns:
        A `Translation`, with a new `text` if there was an unknown token.

    Raises:
        ValueError: if the translation has no alignment.

    Example:
    >>> import numpy as np
    >>> tokens = ["\u2581Mia", "\u2581smiles"], ["\u2581", "[UNK]", "\u2581sourit"]
    >>> weights = np.array([[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]])
    >>> replace_unknown_words(Translation("⁇ sourit", 0.0, 0.0, *tokens, weights)).text
    'Mia sourit'
    """
    if not translation.target_tokens:
        return translation
    words, weights = _attention_to_words(translation)
    if UNK not in translation.target_tokens or not words:
        return translation
    written = [] if source is None else [word for word in source.split(" ") if word]
    for index in range(min(len(words), len(written))):
        if UNKNOWN_SURFACE in words[index]:
            words[index] = written[index]
    parts, known = [], []
    for piece, attention in zip(translation.target_tokens, weights, strict=True):
        if piece == UNK:
            word = words[attention.argmax()]
            replacement = None if lexicon is None else lexicon.best(word)
            parts += [join_pieces(known), replacement or word]
            known = []
        else:
            known.append(piece)
    text = "".join([*parts, join_pieces(known)])
    return translation._replace(text=text.removeprefix(" "))


def join_pieces(pieces):
    """Join subwords to text as `detokenize` joins their ids, but keep a space at the beginning."""
    content = b"".join(_content(piece) for piece in pieces)
    text = content.decode("utf-8", errors="replace").replace(SPACE, " ")
    for character in (SPACE, ESCAPE):  # the escape character comes last
        text = text.replace(ESCAPES[character], character)
    return text


def group_words(pieces):
    """Return a list of pairs, the text of each word and the indices of its pieces.

    Words are separated by spaces. Tokens without text, such as `[EOS]`, are in none of them.
    """
    groups = []
    for index, piece in enumerate(pieces):
        if piece in TEXTLESS:
            continue
        if piece.startswith(SPACE) or not groups:
            groups.append([])
        groups[-1].append(index)
    words = [(join_pieces(pieces[i] for i in group).strip(" "), group) for group in groups]
    return [(text, group) for text, group in words if text]


def _content(piece):
    if piece in TEXTLESS:
        return b""
    if piece == UNK:
        return UNKNOWN_SURFACE.encode()
    byte = BYTE.fullmatch(piece)
    return bytes([int(byte[1], 16)]) if byte else piece.encode()


def _attention_to_words(translation):
    """Return the source words and the attention `(target tokens, source words)` to them."""
    if translation.alignment is None:
        raise ValueError(
            "`translation` must have an `alignment`, as from `translate(..., alignments=True)` or "
            "`align`, got None."
        )
    words = group_words(translation.source_tokens)
    weights = np.zeros((len(translation.target_tokens), len(words)), np.float32)
    for column, (_, group) in enumerate(words):
        weights[:, column] = translation.alignment[:, group].sum(axis=1)
    return [text for text, _ in words], weights
