"""ARPA files, the text format of n-gram models in SRILM, KenLM and others."""

import math
import re

import numpy as np

from keras_seqzoo.data.text_files import read_lines

UNKNOWN, BEGIN, END = "<unk>", "<s>", "</s>"
LINES = 100_000  # written at a time
ZERO = -99.0  # the log probability written for -inf


def write_arpa(file, tables, words):
    """Write n-grams as an ARPA file.

    Args:
        file: open text file.
        tables: list of `BackoffTable`.
        words: list of strings, the word of each id, or `None` for ids that are not written. These
            may occur only in n-grams of order 1.

    Raises:
        ValueError: if a word is empty, has white space or occurs twice.
    """
    written = [word for word in words if word is not None]
    for word in written:
        if not word or re.search(r"\s", word):
            raise ValueError(f"`words` must not be empty or have white space, got {word!r}.")
    if len(set(written)) < len(written):
        repeated = next(word for word in written if written.count(word) > 1)
        raise ValueError(f"`words` must differ, got {repeated!r} twice.")
    kept = np.array([word is not None for word in words])
    names = np.array([word or "" for word in words], object)
    file.write("\\data\\\n")
    for n, table in enumerate(tables, 1):
        size = kept.sum() if n == 1 else len(table.words)
        file.write(f"ngram {n}={size}\n")
    for n, table in enumerate(tables, 1):
        file.write(f"\n\\{n}-grams:\n")
        rows = np.flatnonzero(kept) if n == 1 else np.arange(len(table.words))
        for first in range(0, len(rows), LINES):
            chosen = rows[first : first + LINES]
            columns = [
                _to_base_10(table.log_probabilities[chosen]),
                map(" ".join, names[_ngram_words(tables, n, chosen)]),
            ]
            pattern = "%.7g\t%s\n"
            if n < len(tables):
                columns.append(_to_base_10(table.log_backoffs[chosen]))
                pattern = "%.7g\t%s\t%.7g\n"
            file.writelines(map(pattern.__mod__, zip(*columns, strict=True)))
    file.write("\n\\end\\\n")


def read_arpa(path):
    """Read the n-grams of an ARPA file.

    Args:
        path: string or path, plain or `.gz`.

    Returns:
        A tuple of the list of words and three lists with one item for each order, see
        `build_tables`: n-grams, int32 arrays `(M, n)` of positions in the list of words, their log
        probabilities and their log backoffs.

    Raises:
        ValueError: if the file is not an ARPA file.
    """
    return _Reader(path, read_lines(path)).read()


class _Reader:
    """Parser of an ARPA file whose errors name the line."""

    def __init__(self, path, lines):
        self._path = path
        self._lines = enumerate(lines, 1)
        self._number = 0

    def read(self):
        for line in iter(self._next_line, "\\data\\"):
            if line == "the end":
                raise self._error("\\data\\", line)
        sizes = []
        while found := re.fullmatch(r"ngram (\d+)\s*=\s*(\d+)", line := self._next_line()):
            if int(found[1]) != len(sizes) + 1:
                raise self._error(f"ngram {len(sizes) + 1}=...", line)
            sizes.append(int(found[2]))
        if not sizes:
            raise self._error("ngram 1=...", line)
        words, rows, scores, backoffs = [], [], [], []
        for n, size in enumerate(sizes, 1):
            if n > 1:
                line = self._next_line()
            if line != f"\\{n}-grams:":
                raise self._error(f"\\{n}-grams:", line)
            names, score, backoff = self._entries(n, size)
            if n == 1:
                words = names
                index = {word: id for id, word in enumerate(words)}
                if len(index) < len(words):
                    raise ValueError(f"{self._path} must have different 1-grams, got one twice.")
            try:
                ids = np.fromiter(map(index.__getitem__, names), np.int32, n * size)
            except KeyError as error:
                raise ValueError(
                    f"{self._path} must have words that are 1-grams, got {error.args[0]!r}."
                ) from None
            rows.append(ids.reshape(size, n))
            scores.append(score)
            backoffs.append(backoff)
        if (line := self._next_line()) != "\\end\\":
            raise self._error("\\end\\", line)
        while not len(rows[-1]):  # pruning may remove all n-grams of the longest order
            rows, scores, backoffs = rows[:-1], scores[:-1], backoffs[:-1]
            if not rows:
                raise ValueError(f"{self._path} must have an n-gram, got none.")
            backoffs[-1][:] = 0.0
        return words, rows, scores, backoffs

    def _entries(self, n, size):
        """Read the n-grams of an order: words, log probabilities and log backoffs."""
        names, scores, backoffs = [], np.empty(size), np.zeros(size)
        for row in range(size):
            self._number, line = next(self._lines, (self._number + 1, "the end"))
            score, *parts = re.findall(r"[^ \t\r]+", line) or [""]
            try:
                scores[row] = float(score)
                if len(parts) == n + 1:
                    backoffs[row] = float(parts.pop())
            except ValueError:
                parts = []
            if len(parts) != n:
                raise self._error(f"a number, {n} words and optionally a number", line.strip())
            names += parts
        scores[scores <= ZERO] = -math.inf
        backoffs[backoffs <= ZERO] = -math.inf
        return names, scores * math.log(10), backoffs * math.log(10)

    def _next_line(self):
        """Return the next line that is not blank, or "the end"."""
        while True:
            self._number, line = next(self._lines, (self._number + 1, "the end"))
            if line.strip():
                return line.strip()

    def _error(self, expected, line):
        return ValueError(
            f"{self._path}, line {self._number}: must be {expected} in an ARPA file, got "
            f"{line[:80]!r}."
        )


def _to_base_10(log_values):
    """Convert natural logarithms to base 10, and `-inf` to -99."""
    values = np.asarray(log_values, np.float64) / math.log(10)
    return np.where(np.isinf(values), ZERO, values).tolist()


def _ngram_words(tables, n, rows):
    """Return the words of n-grams, int32 `(M, n)`, from their rows in the table of order n."""
    words = np.empty([len(rows), n], np.int32)
    for length in range(n, 0, -1):
        table = tables[length - 1]
        words[:, length - 1] = table.words[rows]
        rows = table.contexts[rows]
    return words
