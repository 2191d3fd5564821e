"""Files of parsed sentences."""

import os

from keras_seqzoo.data.conllu import iterate_conllu
from keras_seqzoo.data.tagged_sentences import is_conllu, sentence_line
from keras_seqzoo.data.trees import dependency_tree


def iterate_parses(path):
    """Yield the sentences of a CoNLL-U file one at a time; their heads must form trees.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if the name does not end in `.conllu` or `.conllu.gz`, or a sentence is not
            valid or has no tree; the message names the file and the line.
    """
    if not is_conllu(path):
        raise ValueError(f"{os.fspath(path)} must be a file of trees in CoNLL-U (.conllu).")
    for number, sentence in enumerate(iterate_conllu(path), 1):
        try:
            dependency_tree(sentence.heads)
        except ValueError as error:
            line = sentence_line(path, number)
            raise ValueError(f"{os.fspath(path)}, line {line}: {error}") from error
        yield sentence
