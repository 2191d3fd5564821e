"""Attention weights between words instead of subwords."""

import re
from typing import NamedTuple

import numpy as np

WORD_START = "\u2581"  # what SentencePiece puts in the place of a space
BYTE = re.compile(r"<0x([0-9A-F]{2})>")


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
        translation: a `Translation` with an `alignment`, as `translate(..., alignments=True)`
            gives. Its tokens are SentencePiece's, in which words begin with U+2581.

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
    if translation.alignment is None:
        raise ValueError("`translation` needs an alignment: translate with `alignments=True`.")
    source, target = map(_words, (translation.source_tokens, translation.target_tokens))
    weights = np.zeros((len(target), len(source)), np.float32)
    for row, (_, target_pieces) in enumerate(target):
        for column, (_, source_pieces) in enumerate(source):
            part = translation.alignment[np.ix_(target_pieces, source_pieces)]
            weights[row, column] = part.sum(axis=1).mean()
    return WordAlignment([text for text, _ in source], [text for text, _ in target], weights)


def _words(tokens):
    """Groups subwords: a list of `(text, indices)`, without special tokens."""
    groups = []
    for index, token in enumerate(tokens):
        if token.startswith("[") and token.endswith("]") and token[1:-1].isupper():
            continue
        if token.startswith(WORD_START) or not groups:
            groups.append([])
        groups[-1].append(index)
    words = [(_text([tokens[index] for index in group]), group) for group in groups]
    return [(text, group) for text, group in words if text]


def _text(pieces):
    """Joins pieces, of which some stand for single bytes."""
    content = b""
    for piece in pieces:
        byte = BYTE.fullmatch(piece)
        piece = piece.removeprefix(WORD_START)
        content += bytes([int(byte[1], 16)]) if byte else piece.encode("utf-8")
    return content.decode("utf-8", errors="replace")
