"""Collocations, such as "New York", joined to one word."""

import numpy as np

from keras_seqzoo.checks import check_integer, check_number


class Collocations:
    """Pairs of words that occur together far more often than by chance, and are joined.

    With the number N of words in the text and a discount δ, a pair is a collocation if

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
            texts: list of strings, with words separated by white space.
            minimum_count: int, δ, and the minimum count of both words and of the pair.
            threshold: float; higher for fewer collocations.
            passes: int; a collocation has at most 2 to this power words.
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
        for _ in range(passes):
            pairs = _frequent_pairs(texts, minimum_count, threshold)
            learned.passes.append(pairs)
            texts = learned._join(texts, pairs)
        return learned

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
        # In a run of overlapping pairs, every second one is joined, starting from the left.
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
    """Return the list of all words, and for each word the number of its text."""
    rows = [text.split() for text in texts]
    sentences = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    return [word for row in rows for word in row], sentences


def _frequent_pairs(texts, minimum_count, threshold):
    words, sentences = _split_words(texts)
    if len(words) < 2:
        return []
    vocabulary = {}
    ids = np.fromiter((vocabulary.setdefault(w, len(vocabulary)) for w in words), np.int64)
    counts = np.bincount(ids)
    keys = (ids[:-1] * len(vocabulary) + ids[1:])[sentences[:-1] == sentences[1:]]
    keys, pair_counts = np.unique(keys, return_counts=True)
    first, second = np.divmod(keys, len(vocabulary))
    scores = (pair_counts - minimum_count) * len(ids) / (counts[first] * counts[second])
    # If the pair is frequent, so are its words.
    kept = (scores > threshold) & (pair_counts >= minimum_count)
    names = list(vocabulary)
    return [(names[a], names[b]) for a, b in zip(first[kept], second[kept], strict=True)]
