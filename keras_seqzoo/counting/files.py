"""Files of counts: lines with an item, a tab and its count, plain or gzip-compressed."""

import collections
import gzip
import re

from keras_seqzoo.data.output_files import replacing
from keras_seqzoo.data.text_files import iterate_lines

BEGIN, END = "<s>", "</s>"
ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\ufeff": "\\b"}
ESCAPED = {escape[1]: character for character, escape in ESCAPES.items()}


def write_counts(path, counts):
    r"""Write a file of counts.

    Backslashes, tabs, line ends and byte order marks (U+FEFF) in an item are written `\\`, `\t`,
    `\n`, `\r` and `\b`.

    Args:
        path: string or path; the file is compressed if the name ends in `.gz`.
        counts: dict from strings to their counts.

    Raises:
        OSError: if the file cannot be written.
    """
    opener = gzip.open if str(path).endswith(".gz") else open
    with (
        replacing(path) as draft,
        opener(draft, "wt", encoding="utf-8", newline="\n") as file,
    ):
        file.writelines(format_count(escape(item), count) for item, count in counts.items())


def read_counts(path):
    """Read a file of counts, as written by `count_pieces` and the other pipelines.

    Args:
        path: string or path, plain or `.gz`.

    Returns:
        A dict from items to their counts. The counts of an item with several lines are summed.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if a line is not an item, a tab and a count of at least 1.

    Example:
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "words.tsv")
    >>> write_counts(path, {"the": 3, "cat": 1})
    >>> read_counts(path)
    {'the': 3, 'cat': 1}
    """
    counts = {}
    for item, count in iterate_counts(path):
        item = unescape(item)
        counts[item] = counts.get(item, 0) + count
    return counts


def iterate_counts(path):
    """Yield the items of a file of counts, still escaped, with their counts; see `read_counts`."""
    for number, line in enumerate(iterate_lines(path), 1):
        item, tab, count = line.rpartition("\t")
        if not tab or not count.isascii() or not count.isdigit() or int(count) < 1:
            raise ValueError(
                f"{path}, line {number}: must be an item, a tab and a count, got {line[:80]!r}."
            )
        yield item, int(count)


def iterate_ngram_counts(path):
    """Yield the n-grams of a `count_ngrams` file, lists of escaped words, with their counts.

    The beginning and the end of a line of the text are `"<s>"` and `"</s>"`.
    """
    for ngram, count in iterate_counts(path):
        yield ngram.split(" "), count


def ngram_word_counts(path):
    """Count the words of a text from its n-grams.

    Args:
        path: string or path, a file of `count_ngrams`, plain or `.gz`.

    Returns:
        A pair of a `Counter` of words and an int, the number of words in the longest n-gram.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if the file has no n-gram counts.
    """
    counts, longest = collections.Counter(), 0
    for words, count in iterate_ngram_counts(path):
        counts[words[0]] += count
        longest = max(longest, len(words))
    if counts[BEGIN] < 1 or counts[BEGIN] != counts[END]:
        raise ValueError(
            f"{path} must be the counts of n-grams of a text, of which as many begin with "
            f"{BEGIN!r} as with {END!r}, got {counts[BEGIN]} and {counts[END]}."
        )
    del counts[BEGIN], counts[END]
    return collections.Counter({unescape(word): n for word, n in counts.items()}), longest


def escape(item):
    r"""Write a string on one line without tabs; see `write_counts`."""
    return re.sub(r"[\\\t\n\r\ufeff]", lambda found: ESCAPES[found[0]], item)


def escape_word(word):
    r"""Escape a word of an n-gram; a word spelled `<s>` or `</s>` gets a backslash too."""
    word = escape(word)
    return f"\\{word}" if word in (BEGIN, END) else word


def unescape(text):
    """Return the string that was escaped."""
    return re.sub(r"\\(.)", lambda found: ESCAPED.get(found[1], found[1]), text)


def format_count(item, count):
    """Return the line of an escaped item."""
    return f"{item}\t{count}\n"
