"""ARPA files: n-gram models as text, as SRILM, KenLM and others read and write them."""

import gzip
import math
import re

import numpy as np

from keras_seqzoo.data.output_files import replacing
from keras_seqzoo.data.text_files import read_lines

UNKNOWN, BEGIN, END = "<unk>", "<s>", "</s>"
LINES = 100_000  # written at a time
ZERO = -99.0  # what stands for a log probability of -inf


def save_arpa(path, tables, words):
    """Writes an ARPA file; a name that ends with `.gz` is compressed.

    Args:
        path: string or path.
        tables: see `write_arpa`.
        words: see `write_arpa`.

    Raises:
        OSError: if no file can be put there.
        ValueError: if a word is empty, has white space or comes twice.
    """
    opener = gzip.open if str(path).endswith(".gz") else open
    with (
        replacing(path) as draft,
        opener(draft, "wt", encoding="utf-8", newline="\n") as file,
    ):
        write_arpa(file, tables, words)


def write_arpa(file, tables, words):
    """Writes an ARPA file's text.

    Args:
        file: open text file.
        tables: list of `BackoffTable`.
        words: list of strings, the word of each id; `None` for ids that are left out, which may
            stand in no n-gram but those of order 1.

    Raises:
        ValueError: if a word is empty, has white space or comes twice.
    """
    named = [word for word in words if word is not None]
    for word in named:
        if not word or re.search(r"\s", word):
            raise ValueError(f"`words` of an ARPA file have no white space, got {word!r}.")
    if len(set(named)) < len(named):
        twice = next(word for word in named if named.count(word) > 1)
        raise ValueError(f"`words` must differ, got {twice!r} twice.")
    kept = np.array([word is not None for word in words])
    names = np.array([word or "" for word in words], object)
    file.write("\\data\\\n")
    for n, table in enumerate(tables, 1):
        size = kept.sum() if n == 1 else len(table.words)
        file.write(f"ngram {n}={size}\n")
    for n, table in enumerate(tables, 1):
        file.write(f"\n\\{n}-grams:\n")
        places = np.flatnonzero(kept) if n == 1 else np.arange(len(table.words))
        for first in range(0, len(places), LINES):
            chosen = places[first : first + LINES]
            columns = [
                _decimal(table.log_probabilities[chosen]),
                map(" ".join, names[_words(tables, n, chosen)]),
            ]
            pattern = "%.7g\t%s\n"
            if n < len(tables):
                columns.append(_decimal(table.log_backoffs[chosen]))
                pattern = "%.7g\t%s\t%.7g\n"
            file.writelines(map(pattern.__mod__, zip(*columns, strict=True)))
    file.write("\n\\end\\\n")


def read_arpa(path):
    """Reads the n-grams of an ARPA file.

    Args:
        path: string or path; `.gz` is read too.

    Returns:
        A tuple of a list of words, and three lists by order, as `build` takes them: n-grams, int32
        arrays `(M, n)` of places in the first, their log probabilities and their backoffs.

    Raises:
        ValueError: if it is no ARPA file, with the line.
    """
    return _Reader(path, read_lines(path)).read()


class _Reader:
    """Reads the lines of a file, and says where it is when they are not what is expected."""

    def __init__(self, path, lines):
        self._path = path
        self._lines = enumerate(lines, 1)
        self._number = 0

    def read(self):
        for line in iter(self._line, "\\data\\"):
            if line == "the end":
                raise self._error("\\data\\", line)
        sizes = []
        while found := re.fullmatch(r"ngram (\d+)\s*=\s*(\d+)", line := self._line()):
            if int(found[1]) != len(sizes) + 1:
                raise self._error(f"ngram {len(sizes) + 1}=...", line)
            sizes.append(int(found[2]))
        if not sizes:
            raise self._error("ngram 1=...", line)
        words, rows, scores, backoffs = [], [], [], []
        for n, size in enumerate(sizes, 1):
            if n > 1:
                line = self._line()
            if line != f"\\{n}-grams:":
                raise self._error(f"\\{n}-grams:", line)
            names, score, backoff = self._entries(n, size)
            if n == 1:
                words = names
                index = {word: id for id, word in enumerate(words)}
                if len(index) < len(words):
                    raise ValueError(f"{self._path}: a word is there twice among the 1-grams.")
            try:
                ids = np.fromiter(map(index.__getitem__, names), np.int32, n * size)
            except KeyError as error:
                raise ValueError(f"{self._path}: {error.args[0]!r} is no 1-gram.") from None
            rows.append(ids.reshape(size, n))
            scores.append(score)
            backoffs.append(backoff)
        self._expect("\\end\\")
        while not len(rows[-1]):  # what pruning left of the longest order
            rows, scores, backoffs = rows[:-1], scores[:-1], backoffs[:-1]
            if not rows:
                raise ValueError(f"{self._path} is an ARPA file without an n-gram.")
            backoffs[-1][:] = 0.0
        return words, rows, scores, backoffs

    def _entries(self, n, size):
        """Reads n-grams: their words one after the other, log probabilities and backoffs."""
        names, scores, backoffs = [], np.empty(size), np.zeros(size)
        for place in range(size):
            self._number, line = next(self._lines, (self._number + 1, "the end"))
            score, *parts = re.findall(r"[^ \t\r]+", line) or [""]
            try:
                scores[place] = float(score)
                if len(parts) == n + 1:
                    backoffs[place] = float(parts.pop())
            except ValueError:
                parts = []
            if len(parts) != n:
                raise self._error(f"a number, {n} words and perhaps a number", line.strip())
            names += parts
        scores[scores <= ZERO] = -math.inf
        backoffs[backoffs <= ZERO] = -math.inf
        return names, scores * math.log(10), backoffs * math.log(10)

    def _line(self):
        """Gives the next line that is not blank."""
        while True:
            self._number, line = next(self._lines, (self._number + 1, "the end"))
            if line.strip():
                return line.strip()

    def _expect(self, wanted):
        if (line := self._line()) != wanted:
            raise self._error(wanted, line)

    def _error(self, wanted, found):
        return ValueError(
            f"{self._path} is no ARPA file: line {self._number} must be {wanted}, got "
            f"{found[:80]!r}."
        )


def _decimal(log_values):
    """Converts natural logarithms to those of base 10, `-inf` to -99."""
    values = np.asarray(log_values, np.float64) / math.log(10)
    return np.where(np.isinf(values), ZERO, values).tolist()


def _words(tables, n, places):
    """Gives the words of n-grams: int32 `(M, n)`."""
    found = np.empty([len(places), n], np.int32)
    for length in range(n, 0, -1):
        table = tables[length - 1]
        found[:, length - 1] = table.words[places]
        places = table.contexts[places]
    return found
