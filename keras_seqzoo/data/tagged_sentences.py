"""Files of tagged sentences."""

import os

from keras_seqzoo.data.columns import is_border, read_columns
from keras_seqzoo.data.conllu import read_conllu
from keras_seqzoo.data.sentence_files import is_blank, read_blocks


def is_conllu(path):
    """Tells whether the name of a file, compressed or not, is one of CoNLL-U."""
    return os.fspath(path).removesuffix(".gz").endswith(".conllu")


def read_tagged_sentences(path, column="upos"):
    """Reads words and their tags from a CoNLL-U file or a file of columns.

    Args:
        path: string or path of a UTF-8 file, plain or compressed (`.gz`). Where its name ends in
            `.conllu` it is CoNLL-U, else the first column has the words and the last the tags, see
            `read_columns`.
        column: the column of tags in CoNLL-U: `"upos"`, `"xpos"`, `"feats"` or `"deprels"`.

    Returns:
        Two lists of lists of strings, words and tags.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if a line is wrong; the message names the file and the line.
    """
    if not is_conllu(path):
        return read_columns(path)
    sentences = read_conllu(path)
    return [row.words for row in sentences], [row.column(column) for row in sentences]


def sentence_line(path, number):
    """Return the line, from 1, where a sentence of a file of `read_tagged_sentences` begins.

    Args:
        path: string or path.
        number: int, that of the sentence, from 1.

    Returns:
        An int.
    """
    blocks = read_blocks(path, is_blank if is_conllu(path) else is_border)
    return blocks[number - 1][0]
