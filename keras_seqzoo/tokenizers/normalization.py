"""Normal forms of text, in graph."""

import tensorflow as tf
import tensorflow_text

from keras_seqzoo.checks import check_choice
from keras_seqzoo.tokenizers.words import SPACES


def _unicode_form(form):
    return lambda texts: tensorflow_text.normalize_utf8(texts, form)


def _lowercase(texts):
    return tf.strings.lower(texts, encoding="utf-8")


def _without_accents(texts):
    # Marks that take no room of their own (category Mn), such as U+0301.
    texts = tf.strings.regex_replace(_unicode_form("NFD")(texts), r"\p{Mn}", "")
    return _unicode_form("NFC")(texts)


def _single_spaces(texts):
    return tf.strings.strip(tf.strings.regex_replace(texts, f"[{SPACES}]+", " "))


STEPS = {
    "nfc": _unicode_form("NFC"),
    "nfkc": _unicode_form("NFKC"),
    "lowercase": _lowercase,
    "accents": _without_accents,
    "white_space": _single_spaces,
}


def check_normalization(steps):
    """Gives the names of the steps as a tuple; raises `ValueError` where one is unknown."""
    steps = (steps,) if isinstance(steps, str) else tuple(steps)
    for step in steps:
        check_choice("normalization", step, STEPS)
    return steps


def normalization_ops(steps):
    """Gives the set of TensorFlow Text's ops in these steps."""
    return {"NormalizeUTF8"} if {"nfc", "nfkc", "accents"} & set(steps) else set()


def normalize(texts, steps):
    """Brings texts into a normal form.

    - `"nfc"`, `"nfkc"`: the composed form of Unicode, canonical (é as one character) or of
      compatibility (ﬁ as fi, ２ as 2).
    - `"lowercase"`: letters in lower case.
    - `"accents"`: letters without their accents and other marks; the rest in NFC.
    - `"white_space"`: every run of white space as one space, none at the ends.

    Args:
        texts: string tensor of any shape. Bytes that are no UTF-8 are read as U+FFFD where there is
            any step.
        steps: names of steps, done in their order.

    Returns:
        A string tensor of the shape of `texts`.
    """
    if steps:
        texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
    for step in steps:
        texts = STEPS[step](texts)
    return texts
