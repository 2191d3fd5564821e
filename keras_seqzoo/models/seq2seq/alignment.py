"""Attention weights between words instead of subwords."""

import re
from typing import NamedTuple

import numpy as np

from keras_seqzoo.tokenizers.segmenter import UNKNOWN_SURFACE
from keras_seqzoo.tokenizers.sentence_piece_model import ESCAPE, ESCAPES, SPACE
from keras_seqzoo.tokenizers.text_tokenizer import SPECIAL_TOKENS, UNK

SILENT = frozenset(SPECIAL_TOKENS) - {UNK}  # what stands for no text
BYTE = re.compile(r"<0x([0-9A-F]{2})>")


def join_pieces(pieces):
    """Joins subwords to text, as the tokenizers' `detokenize` does with their ids.

    Args:
        pieces: iterable of strings. A piece may stand for a single byte; U+2581 stands for a space;
            `[UNK]` gives U+2047; the other special tokens give nothing.

    Returns:
        A string, with the space that begins most first pieces.
    """
    content = b"".join(_content(piece) for piece in pieces)
    text = content.decode("utf-8", errors="replace").replace(SPACE, " ")
    for character in (SPACE, ESCAPE):  # the escape character comes last
        text = text.replace(ESCAPES[character], character)
    return text


def group_words(pieces):
    """Groups subwords to the words that spaces separate.

    Args:
        pieces: list of strings.

    Returns:
        A list of pairs, the text of each word and the list of its pieces' indices. What is no text,
        such as `[EOS]`, is in no word.
    """
    groups = []
    for index, piece in enumerate(pieces):
        if piece in SILENT:
            continue
        if piece.startswith(SPACE) or not groups:
            groups.append([])
        groups[-1].append(index)
    words = [(join_pieces(pieces[i] for i in group).strip(" "), group) for group in groups]
    return [(text, group) for text, group in words if text]


def _content(piece):
    if piece in SILENT:
        return b""
    if piece == UNK:
        return UNKNOWN_SURFACE.encode()
    byte = BYTE.fullmatch(piece)
    return bytes([int(byte[1], 16)]) if byte else piece.encode()


class WordAlignment(NamedTuple):
    """Attention of the words of a translation to the words of its source.

    Attributes:
        source_words: list of strings.
        target_words: list of strings.
        weights: float32 array `(target words, source words)`. A row sums to at most 1: what went
            to the end token is left out.
    """

    source_words: list[str]
    target_words: list[str]
    weights: np.ndarray

    def links(self):
        """Gives for each target word the source word that it attends to most.

        Returns:
            A list of pairs of numbers from 0, `(source word, target word)`, in the order of the
            target; empty if the source has no words.
        """
        if not self.source_words:
            return []
        best = self.weights.argmax(axis=1)
        return [(int(source), target) for target, source in enumerate(best)]

    def pharaoh(self):
        """Writes the links as word aligners do: `0-0 2-1 1-2`, source first, numbers from 0."""
        return " ".join(f"{source}-{target}" for source, target in self.links())


def word_alignment(translation):
    """Joins the subwords of a translation and of its source to words.

    The weight between two words is the mean over the target word's subwords of the sum over the
    source word's subwords.

    Args:
        translation: a `Translation` with an `alignment`, as `translate(..., alignments=True)` and
            `align` give. Its tokens are SentencePiece's, in which words begin with U+2581.

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
    source_words, attention = attention_to_words(translation)
    words = group_words(translation.target_tokens)
    weights = np.zeros((len(words), len(source_words)), np.float32)
    for row, (_, pieces) in enumerate(words):
        weights[row] = attention[pieces].mean(axis=0)
    return WordAlignment(source_words, [text for text, _ in words], weights)


def attention_to_words(translation):
    """Sums the attention to the subwords of each source word.

    Args:
        translation: a `Translation` with an `alignment`.

    Returns:
        The source words, a list of strings, and a float32 array `(target tokens, source words)`.

    Raises:
        ValueError: if the translation has no alignment.
    """
    if translation.alignment is None:
        raise ValueError(
            "`translation` needs an alignment: translate with `alignments=True`, or use `align`."
        )
    words = group_words(translation.source_tokens)
    weights = np.zeros((len(translation.target_tokens), len(words)), np.float32)
    for column, (_, pieces) in enumerate(words):
        weights[:, column] = translation.alignment[:, pieces].sum(axis=1)
    return [text for text, _ in words], weights
