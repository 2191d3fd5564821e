"""Words and the white space and punctuation between them, in graph."""

import tensorflow as tf

# Characters that `str.isspace` knows; the `\s` of TensorFlow's regular expressions is ASCII alone.
SPACES = (
    r"\x09-\x0d\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}"
    r"\x{3000}"
)


def split_words(texts, split_punctuation=False):
    """Splits texts `(rows,)` at white space, as `str.split()`: ragged `(rows, None)`.

    With `split_punctuation` each character of the Unicode categories P (punctuation) and S
    (symbols) is a word by itself.
    """
    if split_punctuation:
        texts = tf.strings.regex_replace(texts, r"([\pP\pS])", r" \1 ")
    return tf.strings.split(tf.strings.regex_replace(texts, f"[{SPACES}]+", " "))


def encode_by_words(texts, encode):
    """Encodes texts word by word, each different word of the batch once.

    Args:
        texts: strings `(rows,)`, split at U+0020; two of them in a row have an empty word between.
        encode: callable of strings `(words,)` that gives a ragged tensor `(words, None)`.

    Returns:
        A ragged tensor `(rows, None)`.
    """
    words = tf.strings.split(texts, sep=" ")
    different, place = tf.unique(words.values)
    encoded = tf.gather(encode(different), place)
    return words.with_values(encoded).merge_dims(1, 2)  # (rows, words, None)


def encode_known_words(texts, table, size, encode):
    """Encodes texts as `encode_by_words`, but looks words up of which the id is known.

    Args:
        texts: strings `(rows,)`.
        table: lookup table of strings to int32 ids of words, and -1 for those that are to be
            encoded.
        size: int, above all ids.
        encode: callable of strings `(words,)` that gives a ragged int32 tensor `(words, None)`.

    Returns:
        A ragged int32 tensor `(rows, None)`.
    """
    words = tf.strings.split(texts, sep=" ")
    place = table.lookup(words.values)
    others = tf.where(place < 0)  # (others, 1)
    different, which = tf.unique(tf.gather_nd(words.values, others))
    place = tf.tensor_scatter_nd_update(place, others, size + which)
    encoded = encode(different)
    encoded = tf.RaggedTensor.from_row_splits(  # first each id of a known word in a row by itself
        tf.concat([tf.range(size), encoded.values], 0),
        tf.concat([tf.range(size, dtype=tf.int64), size + encoded.row_splits], 0),
        validate=False,
    )
    return words.with_values(tf.gather(encoded, place)).merge_dims(1, 2)  # (rows, words, None)
