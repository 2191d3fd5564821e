"""A text that can be iterated several times and nothing else, and its counts in plain Python."""

import collections

LINES = ["the cat sat", "the <s> dog \\sat", "", "a  dog </s>", "the cat", "cat\tcat"] * 2


class Stream:
    """Texts without a length, which can be iterated several times."""

    def __init__(self, texts):
        self._texts = texts

    def __iter__(self):
        return iter(self._texts)


def escaped(word):
    word = word.replace("\\", "\\\\").replace("\t", "\\t")
    return f"\\{word}" if word in ("<s>", "</s>") else word


def count_ngrams(lines, order):
    """The counts of the n-grams that start at each word."""
    counts = collections.Counter()
    for line in lines:
        words = ["<s>", *map(escaped, line.split()), "</s>"]
        counts.update(" ".join(words[first : first + order]) for first in range(len(words)))
    return counts


def write_ngrams(path, lines, order):
    rows = [f"{ngram}\t{count}\n" for ngram, count in count_ngrams(lines, order).items()]
    path.write_text("".join(reversed(rows)), encoding="utf-8")
    return path
