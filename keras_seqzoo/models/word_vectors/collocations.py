"""Collocations, such as "New York", joined into one word."""

import numpy as np

from keras_seqzoo.checks import check_integer, check_number
from keras_seqzoo.tokenizers.training_texts import list_batches, mapped_texts, several_times

MOST_WORDS = 2**32  # above all word numbers, which make up the keys of pairs


class Collocations:
    """Pairs of words that occur together far more often than by chance, to join them.

    With N words in the text and a discount δ, a pair is a collocation if

        (count(a b) - δ) / (count(a) · count(b)) · N > threshold

    (Mikolov et al., 2013, Distributed Representations of Words and Phrases, equation 6; the factor
    N is from their program). A second pass over the joined text finds longer collocations. Where
    pairs overlap, the left one is joined.

    Args:
        passes: list of lists of pairs of words, one list for each pass.
        separator: string that joins words.

    Call arguments:
        texts: list of strings.

    Returns:
        A list of strings, with collocations joined, and words separated by single spaces.

    Example:
    >>> text = ["in new york city", "the new york times", "the old times", "a city"] * 3
    >>> collocations = Collocations.learn(text, minimum_count=3, threshold=3)
    >>> collocations(["new york is new"])
    ['new_york is new']
    """

    def __init__(self, passes, separator="_"):
        self.passes = [[tuple(pair) for pair in pairs] for pairs in passes]
        self.separator = separator

    @classmethod
    def learn(cls, texts, minimum_count=5, threshold=100.0, passes=1, separator="_"):
        """Find the collocations of a text.

        Args:
            texts: iterable of strings, with words separated by white space, that can be iterated
                several times, such as a list. Memory grows with the number of distinct words and
                pairs.
            minimum_count: int, δ, and the minimum count of both words and of the pair.
            threshold: float; higher for fewer collocations.
            passes: int; a collocation has at most 2^passes words.
            separator: string.

        Returns:
            `Collocations`.

        Raises:
            ValueError: if a number is out of its range.
        """
        check_integer("minimum_count", minimum_count, minimum=1)
        check_integer("passes", passes, minimum=1)
        check_number("threshold", threshold, minimum=0.0)
        learned = cls([], separator)
        texts = several_times(texts)
        for _ in range(passes):
            joined = learned.mapped(texts) if learned.passes else texts
            learned.passes.append(_frequent_pairs(joined, minimum_count, threshold))
        return learned

    def mapped(self, texts):
        """Return an iterable that joins collocations and reads the texts in each iteration.

        Args:
            texts: see `learn`; these texts are not held in memory.
        """
        return mapped_texts(self, texts)

    def __call__(self, texts):
        """Join the collocations in texts; see the class."""
        for pairs in self.passes:
            texts = self._join(texts, pairs)
        return texts

    def _join(self, texts, pairs):
        words, sentences = _split_words(texts)
        vocabulary = {word: id for id, word in enumerate({word for pair in pairs for word in pair})}
        ids = np.fromiter((vocabulary.get(word, -1) for word in words), np.int64, len(words))
        known = [
            vocabulary[first] * len(vocabulary) + vocabulary[second] for first, second in pairs
        ]
        keys = ids[:-1] * len(vocabulary) + ids[1:]
        same_sentence = sentences[:-1] == sentences[1:]
        found = same_sentence & (ids[:-1] >= 0) & (ids[1:] >= 0) & np.isin(keys, known)
        # In a run of overlapping pairs, join every second pair, starting from the left.
        positions = np.arange(len(found))
        is_first = found & ~np.concatenate([[False], found[:-1]])[: len(found)]
        run_starts = np.maximum.accumulate(np.where(is_first, positions, 0))
        joined = found & ((positions - run_starts) % 2 == 0)
        gaps = np.where(joined, self.separator, np.where(same_sentence, " ", "\n")).tolist()
        text = "".join(piece for pair in zip(words, [*gaps, ""], strict=False) for piece in pair)
        lines = iter(text.split("\n"))
        filled = np.bincount(sentences, minlength=len(texts)) > 0
        return [next(lines) if full else "" for full in filled]


def _split_words(texts):
    """Return the list of all words, and the text number of each word."""
    rows = [text.split() for text in texts]
    sentences = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    return [word for row in rows for word in row], sentences


def _frequent_pairs(texts, minimum_count, threshold):
    vocabulary, counts, pairs = {}, _IntegerCounts(), _IntegerCounts()
    for batch in list_batches(texts):
        words, sentences = _split_words(batch)
        numbers = (vocabulary.setdefault(word, len(vocabulary)) for word in words)
        ids = np.fromiter(numbers, np.int64, len(words))
        counts.add(ids)
        pairs.add((ids[:-1] * MOST_WORDS + ids[1:])[sentences[:-1] == sentences[1:]])
    _, counts = counts.total()
    keys, pair_counts = pairs.total()
    first, second = np.divmod(keys, MOST_WORDS)
    scores = (pair_counts - minimum_count) * counts.sum() / (counts[first] * counts[second])
    # If the pair is frequent, so are its words.
    kept = (scores > threshold) & (pair_counts >= minimum_count)
    names = list(vocabulary)
    return [(names[a], names[b]) for a, b in zip(first[kept], second[kept], strict=True)]


class _IntegerCounts:
    """Counts of integers, sorted; memory grows with the number of distinct integers."""

    def __init__(self):
        self._keys = self._counts = np.zeros(0, np.int64)
        self._recent, self._size = [], 0

    def add(self, integers):
        """Count the integers of an array."""
        self._recent.append(np.unique(integers, return_counts=True))
        self._size += len(self._recent[-1][0])
        if self._size > len(self._keys):  # so that merging takes linear time in total
            self._merge()

    def total(self):
        """Return the distinct integers and their counts."""
        self._merge()
        return self._keys, self._counts

    def _merge(self):
        keys, counts = (
            np.concatenate(column)
            for column in zip((self._keys, self._counts), *self._recent, strict=True)
        )
        self._keys, places = np.unique(keys, return_inverse=True)
        self._counts = np.zeros(len(self._keys), np.int64)
        np.add.at(self._counts, places, counts)
        self._recent, self._size = [], 0
