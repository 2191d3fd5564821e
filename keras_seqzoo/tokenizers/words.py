"""Words in graph: split at white space and punctuation, and encoded once each."""

import tensorflow as tf

# The white space of `str.isspace`; `\s` in TensorFlow's regular expressions is only ASCII.
SPACES = (
    r"\x09-\x0d\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}"
    r"\x{3000}"
)


def split_words(texts, split_punctuation=False):
    """Split texts `(rows,)` at white space, as `str.split()`: ragged `(rows, None)`.

    With `split_punctuation` each character of the Unicode categories P (punctuation) and S
    (symbols) is a separate word.
    """
    if split_punctuation:
        texts = tf.strings.regex_replace(texts, r"([\pP\pS])", r" \1 ")
    return tf.strings.split(tf.strings.regex_replace(texts, f"[{SPACES}]+", " "))


def encode_by_words(texts, encode):
    """Encode texts word by word, each distinct word of the batch once.

    Args:
        texts: strings `(rows,)`, split at U+0020; between two spaces there is an empty word.
        encode: function from strings `(words,)` to a ragged tensor `(words, None)`.

    Returns:
        A ragged tensor `(rows, None)`.
    """
    words = tf.strings.split(texts, sep=" ")
    distinct, place = tf.unique(words.values)
    encoded = tf.gather(encode(distinct), place)
    return words.with_values(encoded).merge_dims(1, 2)  # (rows, words, None)


def encode_known_words(texts, table, size, encode):
    """Encode texts as `encode_by_words`, but look up words that are a single piece.

    Args:
        texts: strings `(rows,)`.
        table: lookup table from words to int32 ids, -1 for words that must be encoded.
        size: int, larger than all ids.
        encode: function from strings `(words,)` to a ragged int32 tensor `(words, None)`.

    Returns:
        A ragged int32 tensor `(rows, None)`.
    """
    words = tf.strings.split(texts, sep=" ")
    place = table.lookup(words.values)
    others = tf.where(place < 0)  # (others, 1)
    distinct, which = tf.unique(tf.gather_nd(words.values, others))
    place = tf.tensor_scatter_nd_update(place, others, size + which)
    encoded = encode(distinct)
    encoded = tf.RaggedTensor.from_row_splits(  # rows of single ids first, then the encoded words
        tf.concat([tf.range(size), encoded.values], 0),
        tf.concat([tf.range(size, dtype=tf.int64), size + encoded.row_splits], 0),
        validate=False,
    )
    return words.with_values(tf.gather(encoded, place)).merge_dims(1, 2)  # (rows, words, None)
