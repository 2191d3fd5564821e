"""Files of tagged sentences."""

import os

from keras_seqzoo.data.columns import read_columns
from keras_seqzoo.data.conllu import read_conllu


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
