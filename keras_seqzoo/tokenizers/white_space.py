"""White space in graphs."""

import tensorflow as tf

# Characters that `str.isspace` knows; the `\s` of TensorFlow's regular expressions is ASCII alone.
SPACES = (
    r"\x09-\x0d\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}"
    r"\x{3000}"
)


def split_words(texts):
    """Splits texts `(rows,)` at white space, as `str.split()`: ragged `(rows, None)`."""
    return tf.strings.split(tf.strings.regex_replace(texts, f"[{SPACES}]+", " "))
