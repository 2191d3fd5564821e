"""Words that belong together, made one: New_York_Times."""

import numpy as np

from keras_seqzoo.checks import check_integer, check_number


class Phrases:
    """Joins pairs of words that come together far more often than by chance.

    With the number N of words in the text and a discount δ, a pair is a phrase if

        (count(a b) - δ) / (count(a) · count(b)) · N > threshold

    (Mikolov et al., 2013, Distributed Representations of Words and Phrases, equation 6; the factor
    N is that of their program). A second pass over the joined text finds longer phrases. Where
    pairs overlap, the one on the left is joined.

    Args:
        passes: a list of lists of pairs of words, those of each pass.
        separator: string that joins words.

    Example:
    >>> text = ["in new york city", "the new york times", "the old times", "a city"] * 3
    >>> phrases = Phrases.learn(text, minimum_count=3, threshold=3)
    >>> phrases(["new york is new"])
    ['new_york is new']
    """

    def __init__(self, passes, separator="_"):
        self.passes = [[tuple(pair) for pair in pairs] for pairs in passes]
        self.separator = separator

    @classmethod
    def learn(cls, texts, minimum_count=5, threshold=100.0, passes=1, separator="_"):
        """Finds the phrases of a text.

        Args:
            texts: list of strings; words are what stands between white space.
            minimum_count: int, δ, and how often both words and the pair must come at least.
            threshold: float; higher for fewer phrases.
            passes: int; words of a phrase are at most 2 to this power.
            separator: string.

        Returns:
            A `Phrases`.

        Raises:
            ValueError: if a number is outside its range.
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
        """Joins the phrases in a list of strings; white space becomes single spaces."""
        for pairs in self.passes:
            texts = self._join(texts, pairs)
        return texts

    def _join(self, texts, pairs):
        words, sentences = _words_of(texts)
        vocabulary = {word: id for id, word in enumerate({word for pair in pairs for word in pair})}
        ids = np.fromiter((vocabulary.get(word, -1) for word in words), np.int64, len(words))
        known = [vocabulary[one] * len(vocabulary) + vocabulary[other] for one, other in pairs]
        keys = ids[:-1] * len(vocabulary) + ids[1:]
        same = sentences[:-1] == sentences[1:]
        good = same & (ids[:-1] >= 0) & (ids[1:] >= 0) & np.isin(keys, known)
        # Of pairs that overlap in a run, every other one is joined, from the left.
        places = np.arange(len(good))
        begins = np.where(good & ~np.concatenate([[False], good[:-1]])[: len(good)], places, 0)
        joined = good & ((places - np.maximum.accumulate(begins)) % 2 == 0)
        after = np.where(joined, self.separator, np.where(same, " ", "\n")).tolist()
        text = "".join(piece for pair in zip(words, [*after, ""], strict=False) for piece in pair)
        rows = iter(text.split("\n"))
        filled = np.bincount(sentences, minlength=len(texts)) > 0
        return [next(rows) if full else "" for full in filled]


def _words_of(texts):
    """Gives the words of texts, a list, and of each the number of its text."""
    rows = [text.split() for text in texts]
    sentences = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    return [word for row in rows for word in row], sentences


def _frequent_pairs(texts, minimum_count, threshold):
    words, sentences = _words_of(texts)
    if len(words) < 2:
        return []
    vocabulary = {}
    ids = np.fromiter((vocabulary.setdefault(w, len(vocabulary)) for w in words), np.int64)
    counts = np.bincount(ids)
    keys = (ids[:-1] * len(vocabulary) + ids[1:])[sentences[:-1] == sentences[1:]]
    keys, found = np.unique(keys, return_counts=True)
    one, other = np.divmod(keys, len(vocabulary))
    score = (found - minimum_count) * len(ids) / (counts[one] * counts[other])
    good = (score > threshold) & (found >= minimum_count)
    good &= (counts[one] >= minimum_count) & (counts[other] >= minimum_count)
    names = list(vocabulary)
    return [(names[a], names[b]) for a, b in zip(one[good], other[good], strict=True)]
