"""SentencePiece's subwords back to words and text."""

import re

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
