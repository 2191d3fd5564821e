"""Normalization of text, in graph."""

import tensorflow as tf
import tensorflow_text

from keras_seqzoo.checks import check_choice
from keras_seqzoo.tokenizers.words import SPACES


def _unicode_form(form):
    return lambda texts: tensorflow_text.normalize_utf8(texts, form)


def lower_case(texts):
    """Return texts in lower case, a string tensor of the same shape."""
    # TensorFlow's op drops what follows a NUL, and an attribute cannot be one.
    parts = tf.strings.split(tf.reshape(texts, [-1]), sep="\0")
    lowered = tf.strings.lower(parts.values, encoding="utf-8")
    joined = tf.strings.reduce_join(parts.with_values(tf.strings.join([lowered, "\0"])), axis=1)
    last = tf.strings.length(joined) - 1
    return tf.reshape(tf.strings.substr(joined, tf.zeros_like(last), last), tf.shape(texts))


def _without_accents(texts):
    # Nonspacing marks (category Mn), such as U+0301.
    texts = tf.strings.regex_replace(_unicode_form("NFD")(texts), r"\p{Mn}", "")
    return _unicode_form("NFC")(texts)


def _single_spaces(texts):
    return tf.strings.strip(tf.strings.regex_replace(texts, f"[{SPACES}]+", " "))


STEPS = {
    "nfc": _unicode_form("NFC"),
    "nfkc": _unicode_form("NFKC"),
    "lowercase": lower_case,
    "accents": _without_accents,
    "white_space": _single_spaces,
}


def check_normalization(steps):
    """Return the names of the steps as a tuple; raise `ValueError` for unknown ones."""
    steps = (steps,) if isinstance(steps, str) else tuple(steps)
    for step in steps:
        check_choice("normalization", step, STEPS)
    return steps


def normalization_ops(steps):
    """Return the set of TensorFlow Text's ops in these steps."""
    return {"NormalizeUTF8"} if {"nfc", "nfkc", "accents"} & set(steps) else set()


def normalize(texts, steps):
    """Normalize texts.

    - `"nfc"`, `"nfkc"`: the composed form of Unicode, canonical (é is one character) or
      compatible (ﬁ becomes fi, ２ becomes 2).
    - `"lowercase"`: lower case.
    - `"accents"`: remove accents and other marks; the rest is in NFC.
    - `"white_space"`: single spaces, none at the ends.

    Args:
        texts: string tensor of any shape. If there is any step, invalid UTF-8 becomes U+FFFD.
        steps: names of steps, applied in order.

    Returns:
        A string tensor of the shape of `texts`.
    """
    if steps:
        texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
    for step in steps:
        texts = STEPS[step](texts)
    return texts
