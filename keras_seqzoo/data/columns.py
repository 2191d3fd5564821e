"""Tagged sentences in columns, as the files of CoNLL-2003 and WNUT-17 have them."""

import os
import re

from keras_seqzoo.data.headers import check_no_header
from keras_seqzoo.data.output_files import write_text
from keras_seqzoo.data.sentence_files import is_blank, read_blocks

DOCUMENT = "-DOCSTART-"


def read_columns(path, word_column=0, tag_column=-1):
    r"""Read words and their tags from a file with a word a line and blank lines between sentences.

    Columns are separated by tabs in a line that has one, so that words may have spaces; by runs of
    spaces in others. Lines of `-DOCSTART-` stand between sentences. Every other line must have as
    many columns as the first.

    Args:
        path: string or path of a UTF-8 file, plain or compressed (`.gz`).
        word_column: int, the column of the words, from 0, or from -1 for the last.
        tag_column: int, the column of the tags.

    Returns:
        Two lists of lists of strings, words and tags, a list for each sentence.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if a line has not the columns, there is no sentence, or the first line is a
            header (names of columns whose tag comes nowhere else); the message names the file and
            the line.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "two.conll")
        >>> _ = path.write_text("In\tO\nParis\tB-location\n\nYes\tO\n")
        >>> read_columns(path)
        ([['In', 'Paris'], ['Yes']], [['O', 'B-location'], ['O']])
    """
    words, tags, width = [], [], None
    blocks = read_blocks(path, is_border)
    for first, lines in blocks:
        rows = []
        for number, line in enumerate(lines, first):
            cells = _split(line)
            width = width or len(cells)
            _check_cells(f"{os.fspath(path)}, line {number}", cells, width, word_column, tag_column)
            rows.append(cells)
        words.append([cells[word_column] for cells in rows])
        tags.append([cells[tag_column] for cells in rows])
    cells = _split(blocks[0][1][0])
    others = set(tags[0][1:]).union(*tags[1:])
    place = f"{os.fspath(path)}, line {blocks[0][0]}"
    check_no_header(place, cells, tags[0][0], others)
    return words, tags


def write_columns(path, words, tags):
    """Writes words and their tags as two columns with a tab between.

    Args:
        path: string or path, of a plain or compressed (`.gz`) file.
        words: list of lists of strings, a list for each sentence.
        tags: list of lists of strings, as many.

    Raises:
        OSError: if the file cannot be written. An old one is then left as it is.
        ValueError: if words and tags differ in number, or a sentence or a word or a tag cannot be
            read again; the message names the sentence.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "one.conll")
        >>> write_columns(path, [["In", "Paris"]], [["O", "B-location"]])
        >>> read_columns(path)
        ([['In', 'Paris']], [['O', 'B-location']])
    """
    if len(words) != len(tags):
        raise ValueError(
            f"`words` and `tags` need equally many sentences, got {len(words)} and {len(tags)}."
        )
    blocks = []
    for number, (sentence, labels) in enumerate(zip(words, tags, strict=True), 1):
        if len(sentence) != len(labels) or not sentence:
            raise ValueError(
                f"sentence {number}: words and tags of the same, positive number are needed, got "
                f"{len(sentence)} words and {len(labels)} tags"
            )
        for cell in (*sentence, *labels):
            if not cell or cell != cell.strip(" ") or re.search("[\t\r\n]", cell):
                raise ValueError(
                    f"sentence {number}: words and tags without tabs, line ends and outer spaces "
                    f"are needed, got {cell!r}"
                )
        if any(word.startswith(DOCUMENT) for word in sentence):
            raise ValueError(f"sentence {number}: no word may begin with {DOCUMENT}")
        lines = [f"{word}\t{tag}\n" for word, tag in zip(sentence, labels, strict=True)]
        blocks.append("".join(lines) + "\n")
    write_text(path, "".join(blocks))


def is_border(line):
    """Return whether a line stands between sentences."""
    return is_blank(line) or line.startswith(DOCUMENT)


def _split(line):
    if "\t" in line:
        return [cell.strip(" ") for cell in line.split("\t")]
    return re.split(" +", line.strip(" "))


def _check_cells(place, cells, width, word_column, tag_column):
    if len(cells) != width:
        raise ValueError(
            f"{place}: {width} columns are needed, as in the first line, got {len(cells)}: {cells}"
        )
    columns = range(width)
    try:
        two = columns[word_column] != columns[tag_column]
    except IndexError:
        two = False
    if not two or not cells[word_column] or not cells[tag_column]:
        raise ValueError(
            f"{place}: a word in column {word_column} and a tag in column {tag_column} are needed, "
            f"got {cells}"
        )
