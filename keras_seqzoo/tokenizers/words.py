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
