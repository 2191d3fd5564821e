"""A text as row numbers of its words, in memory or read again block by block."""

from typing import NamedTuple

import numpy as np

from keras_seqzoo.tokenizers.text_tokenizer import SPECIAL_TOKENS
from keras_seqzoo.tokenizers.training_texts import text_batches

FIRST_ID = len(SPECIAL_TOKENS)
MOST_SENTENCES = 2**30  # sentence numbers, which only tell neighbouring sentences apart


class Blocks(NamedTuple):
    """The blocks of a text.

    Attributes:
        words: int, the known words of the text.
        only: the block, if the text has no more than one, or `None`.
        read: function without arguments that yields the blocks.
    """

    words: int
    only: tuple
    read: object


class EncodedText:
    """A text as the rows of its known words in the word vectors. Made by `Word2Vec.encode`.

    Args:
        tokenizer: `WordTokenizer`.
        texts: an iterable of strings that can be iterated several times; see `Word2Vec.batches`.
    """

    def __init__(self, tokenizer, texts):
        self._tokenizer = tokenizer
        self._texts = texts
        self._blocks = {}  # by their size

    def blocks(self, size):
        """Return the `Blocks` of the text. The first call reads the text and holds one block.

        Args:
            size: int, the number of words of each block except the last. A block is a pair of int32
                arrays: the row of each word, and the number of its string.
        """
        if size not in self._blocks:
            read = self._read(size)
            first = next(read, None)
            words = 0 if first is None else len(first[0])
            more = sum(len(rows) for rows, _ in read)
            only = None if more else first
            self._blocks[size] = Blocks(words + more, only, lambda: self._read(size))
        return self._blocks[size]

    def _read(self, size):
        parts, held, first = [], 0, 0
        for batch in text_batches(self._texts):
            ids = self._tokenizer(batch)
            known = ids.flat_values.numpy() >= FIRST_ID
            rows = ids.flat_values.numpy()[known] - FIRST_ID
            sentences = ids.value_rowids().numpy()[known].astype(np.int32) + first
            first = (first + len(batch)) % MOST_SENTENCES
            parts.append(np.stack([rows, sentences]))
            held += len(rows)
            while held > size:
                joined = np.concatenate(parts, axis=1)
                yield tuple(joined[:, :size])
                parts, held = [joined[:, size:]], held - size
        if held:
            yield tuple(np.concatenate(parts, axis=1))
