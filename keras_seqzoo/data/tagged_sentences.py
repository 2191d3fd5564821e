"""Files of tagged sentences: in columns, as in CoNLL-2003 and WNUT-17, or in CoNLL-U."""

import itertools
import os
import re

from keras_seqzoo.data.conllu import iterate_conllu
from keras_seqzoo.data.headers import check_no_header
from keras_seqzoo.data.output_files import write_text
from keras_seqzoo.data.text_files import BYTE_ORDER_MARK, is_blank, iterate_blocks

DOCUMENT = "-DOCSTART-"


def read_tagged_sentences(path, column="upos"):
    """Read words and their tags from a CoNLL-U file or a file of columns.

    Args:
        path: string or path of a UTF-8 file, plain or compressed (`.gz`). If its name ends in
            `.conllu` it is CoNLL-U; otherwise the first column has the words and the last the
            tags, see `read_columns`.
        column: the column of tags in CoNLL-U: `"upos"`, `"xpos"`, `"feats"` or `"deprels"`.

    Returns:
        Two lists of lists of strings, words and tags.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if a line is wrong; the message names the file and the line.
    """
    return _split(iterate_tagged_sentences(path, column))


def iterate_tagged_sentences(path, column="upos"):
    """Yield pairs of words and tags, a sentence at a time; see `read_tagged_sentences`."""
    if not is_conllu(path):
        return iterate_columns(path)
    return ((row.words, row.column(column)) for row in iterate_conllu(path))


def is_conllu(path):
    """Return whether a file name, with or without `.gz`, ends in `.conllu`."""
    return os.fspath(path).removesuffix(".gz").endswith(".conllu")


def sentence_line(path, number):
    """Return the line, from 1, at which sentence `number`, from 1, of a tagged file begins."""
    blocks = iterate_blocks(path, is_blank if is_conllu(path) else _is_border)
    return next(itertools.islice(blocks, number - 1, None))[0]


def read_columns(path, word_column=0, tag_column=-1):
    r"""Read words and their tags from a file with one word per line.

    Blank lines and lines of `-DOCSTART-` separate sentences. In a line with a tab, columns are
    separated by tabs, so that words may contain spaces; in other lines, by runs of spaces. All
    lines must have the same number of columns.

    Args:
        path: string or path of a UTF-8 file, plain or compressed (`.gz`).
        word_column: int, the column of the words, counted from 0, or backwards from -1.
        tag_column: int, the column of the tags.

    Returns:
        Two lists of lists of strings, words and tags, a list for each sentence.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if a line does not have the columns, there is no sentence, or the first line is
            a header (column names, with a tag that no other line has); the message names the file
            and the line.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "two.conll")
        >>> _ = path.write_text("In\tO\nParis\tB-location\n\nYes\tO\n")
        >>> read_columns(path)
        ([['In', 'Paris'], ['Yes']], [['O', 'B-location'], ['O']])
    """
    return _split(iterate_columns(path, word_column, tag_column))


def iterate_columns(path, word_column=0, tag_column=-1):
    """Yield pairs of words and tags, a sentence at a time; see `read_columns`.

    A header in the first line is found, and raises an error, only after the last sentence.
    """
    head = None  # the place, the cells and the tag of the first line
    other_tags = set()
    for first, lines in iterate_blocks(path, _is_border):
        words, tags = [], []
        for number, line in enumerate(lines, first):
            cells = _split_cells(line)
            place = f"{os.fspath(path)}, line {number}"
            width = len(cells) if head is None else len(head[1])
            _check_cells(place, cells, width, word_column, tag_column)
            words.append(cells[word_column])
            tags.append(cells[tag_column])
            if head is None:
                head = place, cells, tags[0]
            else:
                other_tags.add(tags[-1])
        yield words, tags
    check_no_header(*head, other_tags)


def _split(sentences):
    words, tags = zip(*sentences, strict=True)
    return list(words), list(tags)


def write_columns(path, words, tags):
    """Write words and their tags as two columns separated by a tab.

    Args:
        path: string or path, of a plain or compressed (`.gz`) file.
        words: list of lists of strings, a list for each sentence.
        tags: list of lists of strings of the same lengths.

    Raises:
        OSError: if the file cannot be written. An existing file then stays unchanged.
        ValueError: if words and tags differ in number, or a sentence, word or tag could not be read
            back; the message names the sentence.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "one.conll")
        >>> write_columns(path, [["In", "Paris"]], [["O", "B-location"]])
        >>> read_columns(path)
        ([['In', 'Paris']], [['O', 'B-location']])
    """
    if len(words) != len(tags):
        raise ValueError(
            "`words` and `tags` must have the same number of sentences, "
            f"got {len(words)} and {len(tags)}."
        )
    blocks = []
    for number, (sentence, labels) in enumerate(zip(words, tags, strict=True), 1):
        _check_sentence(number, sentence, labels)
        lines = [f"{word}\t{tag}\n" for word, tag in zip(sentence, labels, strict=True)]
        blocks.append("".join(lines) + "\n")
    text = "".join(blocks)
    if text.startswith(BYTE_ORDER_MARK):
        raise ValueError("`words` must not begin with a byte order mark, got one in sentence 1.")
    if words:
        _, *others = itertools.chain.from_iterable(tags)
        check_no_header("sentence 1", [words[0][0], tags[0][0]], tags[0][0], set(others))
    write_text(path, text)


def _is_border(line):
    return is_blank(line) or line.startswith(DOCUMENT)


def _split_cells(line):
    if "\t" in line:
        return [cell.strip(" ") for cell in line.split("\t")]
    return re.split(" +", line.strip(" "))


def _check_cells(place, cells, width, word_column, tag_column):
    if len(cells) != width:
        raise ValueError(
            f"{place}: must have {width} columns as in the first line, got {len(cells)}: {cells}."
        )
    columns = range(width)
    try:
        differ = columns[word_column] != columns[tag_column]
    except IndexError:
        differ = False
    if not differ or not cells[word_column] or not cells[tag_column]:
        raise ValueError(
            f"{place}: must have a word in column {word_column} and a tag in column {tag_column}, "
            f"got {cells}."
        )


def _check_sentence(number, words, tags):
    if len(words) != len(tags) or not words:
        raise ValueError(
            f"`words` and `tags` must have the same, positive length, got {len(words)} and "
            f"{len(tags)} in sentence {number}."
        )
    for cell in (*words, *tags):
        if not cell or cell != cell.strip(" ") or re.search("[\t\r\n]", cell):
            raise ValueError(
                "`words` and `tags` must be without tabs, line ends and outer spaces, "
                f"got {cell!r} in sentence {number}."
            )
    for word in words:
        if word.startswith(DOCUMENT):
            raise ValueError(
                f"`words` must not begin with {DOCUMENT}, got {word!r} in sentence {number}."
            )
