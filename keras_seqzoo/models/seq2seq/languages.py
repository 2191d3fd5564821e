"""Target languages of a multilingual model: names, special tokens and ids."""

import tensorflow as tf

from keras_seqzoo.checks import list_names


def language_token(language):
    """Return the special token that selects a target language.

    The model translates a source that begins with this token into that language (Johnson et al.
    2017, Google's multilingual neural machine translation system, section 3).

    Args:
        language: string, such as `"fr"`.

    Returns:
        A string.

    Raises:
        ValueError: if the name is blank, or has white space or angle brackets.

    Example:
    >>> language_token("fr")
    '<2fr>'
    """
    name = language if isinstance(language, str) else ""
    if name.split() != [name] or "<" in name or ">" in name:
        raise ValueError(
            "`languages` must be names without white space and angle brackets, such as 'fr', got "
            f"{language!r}."
        )
    return f"<2{name}>"


def check_languages(languages, tokenizer):
    """Return target languages as a tuple, or raise `ValueError`.

    Args:
        languages: list of different strings; may be empty.
        tokenizer: the tokenizer of the source, which must have the tokens of the languages.
    """
    languages = (languages,) if isinstance(languages, str) else tuple(languages)
    tokens = [language_token(language) for language in languages]
    if len(set(tokens)) < len(tokens):
        raise ValueError(f"`languages` must differ, got {', '.join(languages)}.")
    missing = [token for token in tokens if token not in tokenizer.control_tokens]
    if missing:
        raise ValueError(
            f"`languages` must have their tokens among the `control_tokens` of the source "
            f"tokenizer, got {', '.join(languages)} without {', '.join(missing)}."
        )
    return languages


def check_language(language, languages, count):
    """Return the target language of each text, or `None` for a model of one language.

    Args:
        language: string, list of strings with one for each text, or `None`.
        languages: list of strings, the model's languages; empty for a model of one language.
        count: int, the number of texts.

    Returns:
        A list of `count` strings, or `None`.

    Raises:
        ValueError: if a language is missing, unknown, or given for a model of one language.
    """
    if language is None and not languages:
        return None
    if not languages:
        raise ValueError(
            f"`language` must be None for a model of one target language, got {language!r}."
        )
    if language is None:
        raise ValueError(f"`language` must be one of {list_names(languages)}, got None.")
    chosen = [language] * count if isinstance(language, str) else list(language)
    if len(chosen) != count:
        raise ValueError(
            f"`language` must be one for all or one for each of the {count} texts, got "
            f"{len(chosen)}."
        )
    for name in dict.fromkeys([language] if isinstance(language, str) else chosen):
        if name not in languages:
            raise ValueError(f"`language` must be one of {list_names(languages)}, got {name!r}.")
    return chosen


def language_indices(language, languages):
    """Return the index of each language, in graph.

    Args:
        language: string tensor `(batch,)`.
        languages: list of strings.

    Returns:
        int32 `(batch,)`, -1 for names that are not in the list.
    """
    same = tf.equal(language[:, tf.newaxis], tf.constant(languages))  # (batch, languages)
    index = tf.argmax(same, axis=-1, output_type=tf.int32)
    return tf.where(tf.reduce_any(same, axis=-1), index, -1)
