"""Parsed sentences as strings: sentences in CoNLL-U with heads, read in graph."""

import tensorflow as tf

from keras_seqzoo.checks import list_of_texts
from keras_seqzoo.data.conllu import ConlluSentence
from keras_seqzoo.data.trees import dependency_tree

# The row of a word: its number, its form, and its head in column 7. Others are those of
# multi-word tokens and empty nodes.
WORD_ROW = r"[1-9][0-9]*\t([^\t]+)(?:\t[^\t]+){4}\t([^\t]+)(?:\t[^\t]+){3}"
NO_HEAD = -1


def parsed_texts(sentences, name="texts"):
    """Return sentences in CoNLL-U as strings, after a check of their trees.

    Args:
        sentences: list of `keras_seqzoo.data.ConlluSentence`, or of strings that are such
            sentences. A blank string is a sentence without words.
        name: string, the argument that errors name.

    Returns:
        A list of strings.

    Raises:
        ValueError: if an item is no sentence in CoNLL-U, or its heads do not form a tree.
    """
    texts = []
    for number, item in enumerate(list_of_texts(sentences, name)):
        try:
            if not isinstance(item, ConlluSentence) and item.strip():
                item = ConlluSentence.from_text(item)
            if isinstance(item, ConlluSentence):
                dependency_tree(item.heads)
        except ValueError as error:
            raise ValueError(
                f"`{name}[{number}]` must be a sentence in CoNLL-U with heads: {error}"
            ) from error
        texts.append(str(item))
    return texts


def split_parses(texts):
    """Split sentences in CoNLL-U into words and heads, in graph.

    What is no row of a word is left out, so that any string is read somehow.

    Args:
        texts: string tensor `(batch,)`.

    Returns:
        A tuple of ragged tensors `(batch, None)`: the words, strings, and the number of each
        word's head, int32; 0 for the root, and -1 for a word without one.
    """
    lines = tf.strings.split(texts, "\n")
    rows = lines.with_values(tf.strings.regex_replace(lines.values, r"\r$", ""))
    rows = tf.ragged.boolean_mask(
        rows, rows.with_values(tf.strings.regex_full_match(rows.values, WORD_ROW))
    )
    words, heads = (
        tf.strings.regex_replace(rows.values, WORD_ROW, group) for group in (r"\1", r"\2")
    )
    is_number = tf.strings.regex_full_match(heads, "[0-9]{1,9}")
    heads = tf.where(is_number, heads, str(NO_HEAD))
    return rows.with_values(words), rows.with_values(tf.strings.to_number(heads, tf.int32))
