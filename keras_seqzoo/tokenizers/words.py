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
    (symbols) is a word by itself. Bytes that are no UTF-8 are read as U+FFFD.
    """
    texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
    if split_punctuation:
        texts = tf.strings.regex_replace(texts, r"([\pP\pS])", r" \1 ")
    return tf.strings.split(tf.strings.regex_replace(texts, f"[{SPACES}]+", " "))
