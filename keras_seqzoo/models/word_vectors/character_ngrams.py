"""Character n-grams of words, hashed into buckets."""

from typing import NamedTuple

import numpy as np

from keras_seqzoo.checks import check_integer

# Fowler, Noll and Vo's hash function FNV-1a of 32 bits.
FNV_OFFSET = np.uint32(2166136261)
FNV_PRIME = np.uint32(16777619)
LONGEST_CHARACTER = 4  # bytes, in UTF-8


class CharacterNgrams(NamedTuple):
    """Rules for the character n-grams of words and their hashes.

    A word is written between `<` and `>`. Its n-grams are all runs of `minimum` to `maximum`
    characters, with repetitions, except `<` and `>` alone. The number of an n-gram is the FNV-1a
    hash of its UTF-8 bytes, modulo `buckets`.

    Attributes:
        minimum: int, the fewest characters of an n-gram.
        maximum: int, the most.
        buckets: int.

    Example:
    >>> from keras_seqzoo.models.word_vectors.character_ngrams import CharacterNgrams
    >>> rows, lengths = CharacterNgrams(3, 6, 1000).hash(["cat", "a"])
    >>> lengths.tolist()  # <ca cat at> <cat cat> <cat>, and <a>
    [6, 1]
    """

    minimum: int
    maximum: int
    buckets: int

    @classmethod
    def checked(cls, minimum_ngram, maximum_ngram, buckets):
        """Create it from arguments of these names; raise `ValueError` if one is out of range."""
        minimum = check_integer("minimum_ngram", minimum_ngram, minimum=1)
        maximum = check_integer("maximum_ngram", maximum_ngram, minimum=1)
        if maximum < minimum:
            raise ValueError(
                f"`maximum_ngram` must be at least `minimum_ngram`, {minimum}, got {maximum}."
            )
        return cls(minimum, maximum, check_integer("buckets", buckets, minimum=1))

    def hash(self, words):
        """Return the bucket of each n-gram of words.

        Args:
            words: list of strings.

        Returns:
            A pair of int arrays: the buckets `(n-grams,)`, word by word, and the number of n-grams
            of each word `(words,)`.
        """
        lengths = np.array([len(word) + 2 for word in words], np.int64)
        owners = np.repeat(np.arange(len(words)), lengths)
        ends = np.cumsum(lengths)[owners]
        characters = _utf8("".join(f"<{word}>" for word in words))
        starts = np.arange(len(owners))
        hashes = np.full(len(owners), FNV_OFFSET)
        found = []
        for size in range(1, self.maximum + 1):
            inside = starts + size <= ends[starts]
            starts = starts[inside]
            hashes = _extend(hashes[inside], characters[starts + size - 1])
            if size >= self.minimum:
                found.append((starts, hashes))
        if self.minimum == 1:  # without < and >
            inner = (np.diff(owners, prepend=-1) == 0) & (np.arange(1, len(owners) + 1) < ends)
            found[0] = tuple(part[inner] for part in found[0])
        starts, hashes = (np.concatenate(parts) for parts in zip(*found, strict=True))
        order = np.argsort(owners[starts], kind="stable")
        counts = np.bincount(owners[starts], minlength=len(words))
        return (hashes[order] % np.uint32(self.buckets)).astype(np.int64), counts


def _utf8(text):
    """Return the UTF-8 bytes of characters, int64 `(characters, 4)`, -1 after the last byte."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    kinds, places = np.unique(points, return_inverse=True)
    table = np.full((len(kinds), LONGEST_CHARACTER), -1)
    for row, point in zip(table, kinds, strict=True):
        encoded = chr(point).encode("utf-8", "surrogatepass")
        row[: len(encoded)] = list(encoded)
    return table[places]


def _extend(hashes, characters):
    """Return the hashes of n-grams with one more character each."""
    for octets in characters.T:
        extended = (hashes ^ octets.astype(np.uint32)) * FNV_PRIME
        hashes = np.where(octets >= 0, extended, hashes)
    return hashes
