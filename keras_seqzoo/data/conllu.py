"""CoNLL-U files, the annotated sentences of Universal Dependencies."""

import dataclasses
import os
import re

from keras_seqzoo.checks import check_choice
from keras_seqzoo.data.output_files import write_text
from keras_seqzoo.data.text_files import iterate_blocks

COLUMNS = ("ids", "words", "lemmas", "upos", "xpos", "feats", "heads", "deprels", "deps", "misc")
HEAD = COLUMNS.index("heads")
NUMBER = re.compile("0|[1-9][0-9]{0,8}")


def _column(name, doc):
    return property(lambda sentence: sentence.column(name), doc=doc)


@dataclasses.dataclass(frozen=True)
class ConlluSentence:
    r"""A sentence of a CoNLL-U file: comments, and ten columns for each word.

    Rows of multi-word tokens (`3-4`) and empty nodes (`5.1`) are kept and written, but are not
    words: the columns omit them. See universaldependencies.org/format.html.

    Attributes:
        comments: tuple of strings, the lines that begin with `#`.
        rows: tuple of tuples of ten strings.

    Raises:
        ValueError: if a line is not valid; the message names the line and the reason.

    Example:
        >>> rows = "1 Dogs dog NOUN _ _ 2 nsubj _ _", "2 run run VERB _ _ 0 root _ _"
        >>> sentence = ConlluSentence(["# text = Dogs run"], map(str.split, rows))
        >>> sentence.text, sentence.words, sentence.upos, sentence.heads
        ('Dogs run', ['Dogs', 'run'], ['NOUN', 'VERB'], [2, 0])
        >>> sentence.with_column("upos", ["X", "Y"]).upos
        ['X', 'Y']
    """

    comments: tuple
    rows: tuple

    words = _column("words", "list of strings, the forms.")
    lemmas = _column("lemmas", "list of strings.")
    upos = _column("upos", "list of strings, the universal parts of speech.")
    xpos = _column("xpos", "list of strings, the parts of speech of the language.")
    feats = _column("feats", "list of strings, features as `Case=Nom|Number=Sing`.")
    heads = _column("heads", "list of ints, the number of each word's head, 0 for the root.")
    deprels = _column("deprels", "list of strings, the relations to the heads.")
    deps = _column("deps", "list of strings, heads and relations of the enhanced graph.")
    misc = _column("misc", "list of strings, the last column.")

    def __post_init__(self):
        """Check the lines."""
        object.__setattr__(self, "comments", tuple(self.comments))
        object.__setattr__(self, "rows", tuple(map(tuple, self.rows)))
        _check_sentence(self.comments, self.rows)

    @classmethod
    def from_text(cls, text):
        """Create the sentence from a string with its lines, as `str` returns it.

        Raises:
            ValueError: if a line is not valid; the message names the line and the reason.
        """
        lines = text.strip("\r\n").split("\n")
        return cls._from_lines([line.removesuffix("\r") for line in lines])

    @classmethod
    def _from_lines(cls, lines):
        count = next((n for n, line in enumerate(lines) if not line.startswith("#")), len(lines))
        return cls(lines[:count], (line.split("\t") for line in lines[count:]))

    @property
    def text(self):
        """String, the text of the comment `# text = …`, or `None` without one."""
        return self.comment("text")

    def comment(self, name):
        """Return the value of the first comment `# name = value`, a string, or `None`."""
        for comment in self.comments:
            if found := re.match(rf"#\s*{re.escape(name)}\s*=\s*(.*)", comment, re.DOTALL):
                return found[1]
        return None

    def column(self, name):
        """Return a column of the words.

        Args:
            name: one of `COLUMNS`.

        Returns:
            A list of strings, `"_"` for an empty value, or of ints for `"heads"`.

        Raises:
            ValueError: if `name` is unknown, or is `"heads"` and a word has no head.
        """
        check_choice("name", name, COLUMNS)
        cells = [row[COLUMNS.index(name)] for row in self.rows if row[0].isdigit()]
        if name != "heads":
            return cells
        if "_" in cells:
            word = cells.index("_")
            raise ValueError(
                f"`heads` must have a head for each word, got none for word {word + 1}, "
                f"{self.words[word]!r}, of {self.text or ' '.join(self.words)!r}."
            )
        return [int(head) for head in cells]

    def with_column(self, name, values):
        """Return a copy of the sentence with new values in a column of the words.

        Args:
            name: one of `COLUMNS` except `"ids"`.
            values: list of strings, or of ints for `"heads"`, one for each word.

        Returns:
            A `ConlluSentence`.

        Raises:
            ValueError: if `name` is unknown, or `values` are not valid.
        """
        check_choice("name", name, COLUMNS[1:])
        index, words = COLUMNS.index(name), len(self.words)
        if len(values) != words:
            raise ValueError(f"`values` must be {words}, one for each word, got {len(values)}.")
        values = iter(values)
        rows = (
            (*row[:index], str(next(values)), *row[index + 1 :]) if row[0].isdigit() else row
            for row in self.rows
        )
        return dataclasses.replace(self, rows=rows)

    def __str__(self):
        """Return the lines of the file, including the blank line at the end."""
        return "\n".join([*self.comments, *map("\t".join, self.rows), "", ""])


def read_conllu(path):
    r"""Read the sentences of a CoNLL-U file.

    Args:
        path: string or path of a UTF-8 file, plain or compressed (`.gz`). Lines may end in
            `"\r\n"`.

    Returns:
        A list of `ConlluSentence`.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if there is no sentence, or a line is not valid: it does not have ten columns, a
            word is out of order, or a head is not a word of the sentence. The message names the
            file and the line.
    """
    return list(iterate_conllu(path))


def iterate_conllu(path):
    """Yield the sentences of a CoNLL-U file, one at a time; see `read_conllu`."""
    for first, lines in iterate_blocks(path):
        try:
            yield ConlluSentence._from_lines(lines)
        except _LineError as error:
            line = first + error.line - 1
            raise ValueError(f"{os.fspath(path)}, line {line}: {error.problem}") from None


def write_conllu(path, sentences):
    r"""Write sentences to a CoNLL-U file.

    Sentences from `read_conllu` are written as they were, except that line ends become `"\n"` and
    each sentence ends with one blank line.

    Args:
        path: string or path, of a plain or compressed (`.gz`) file.
        sentences: iterable of `ConlluSentence`.

    Raises:
        OSError: if the file cannot be written. An existing file then stays unchanged.
    """
    write_text(path, "".join(map(str, sentences)))


class _LineError(ValueError):
    def __init__(self, line, problem):
        super().__init__(f"line {line} of the sentence: {problem}")
        self.line, self.problem = line, problem


def _check_sentence(comments, rows):
    for line, comment in enumerate(comments, 1):
        if not re.fullmatch("#[^\r\n]*", comment):
            raise _LineError(line, f"must be a comment, # and text in one line, got {comment!r}.")
    for line, row in enumerate(rows, len(comments) + 1):
        if len(row) != len(COLUMNS) or not all(row):
            raise _LineError(
                line,
                f"must have ten columns separated by tabs, none empty, got {len(row)}: {row}.",
            )
        if re.search("[\t\r\n]", "".join(row)):
            raise _LineError(line, f"must have columns without tabs and line ends, got {row}.")
    words = sum(row[0].isdigit() for row in rows)
    if not words:
        raise _LineError(1, "must be the start of a sentence with words, got none.")
    word = empty = covered = 0  # the last word and empty node, and the end of the last token
    for line, row in enumerate(rows, len(comments) + 1):
        begin, _, end = row[0].partition("-")
        if row[0] == f"{word + 1}":
            word, empty = word + 1, 0
            if row[HEAD] != "_" and not _is_number(row[HEAD], 0, words):
                raise _LineError(
                    line,
                    f"must have a head from 0 to {words}, or _ for none, got {row[HEAD]!r}.",
                )
        elif row[0] == f"{word}.{empty + 1}":
            empty += 1
        elif covered <= word and begin == f"{word + 1}" and _is_number(end, word + 1, words):
            covered = int(end)
        else:
            raise _LineError(
                line,
                f"must be word {word + 1}, a token that begins with it, or empty node "
                f"{word}.{empty + 1}, got {row[0]!r}.",
            )


def _is_number(text, minimum, maximum):
    return NUMBER.fullmatch(text) is not None and minimum <= int(text) <= maximum
