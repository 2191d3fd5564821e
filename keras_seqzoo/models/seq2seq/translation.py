"""Translations, and the replacement of their unknown words."""

from typing import NamedTuple

import numpy as np

from keras_seqzoo.models.seq2seq.alignment.word_alignment import attention_to_words


class Translation(NamedTuple):
    """One hypothesis for one source sentence.

    Attributes:
        text: the translation.
        score: the score of the search, such as the length-normalized log-probability.
        log_probability: natural logarithm of P(target | source).
        source_tokens: the subwords of the source, including `[EOS]`.
        target_tokens: the subwords of the translation, including `[EOS]` if it was reached.
        alignment: float32 array `(target tokens, source tokens)` of attention weights, or `None`
            if it was not requested.
        tokenizers: the tokenizers of source and target, which group tokens into words, or `None` if
            the translation was made elsewhere, such as by a server.
    """

    text: str
    score: float
    log_probability: float
    source_tokens: list[str]
    target_tokens: list[str]
    alignment: np.ndarray | None
    tokenizers: tuple | None = None


def replace_unknown_words(translation, lexicon=None, source=None):
    """Replace each unknown token by a translation of the source word with the largest attention.

    This is the word's most likely translation in a lexicon, or else the source word itself, because
    names are often the same in both languages (Luong et al. 2015, Addressing the rare word problem
    in neural machine translation; Jean et al. 2015 choose the word by the attention weights). The
    rest of the word with the unknown token, such as a comma, stays.

    Byte-pair and unigram tokenizers trained by this package spell rare words in letters or bytes
    and have no unknown words. Tokenizers of whole words, WordPieces or characters may have them.

    Args:
        translation: a `Translation` with an `alignment`, or of an empty source.
        lexicon: a `Lexicon` or `None`.
        source: string, the source sentence. Words that are unknown in the source too are copied
            from it. With `None` they become U+2047, the sign for unknown words.

    Returns:
        A `Translation`, with a new `text` if there was an unknown token.

    Raises:
        ValueError: see `word_alignment`.

    Example:
    >>> import numpy as np
    >>> from keras_seqzoo.tokenizers import WordTokenizer
    >>> tokenizer = WordTokenizer(["smiles", "sourit"])
    >>> tokens = ["[UNK]", "smiles"], ["[UNK]", "sourit"]
    >>> weights = np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> found = Translation("[UNK] sourit", 0.0, 0.0, *tokens, weights, (tokenizer, tokenizer))
    >>> replace_unknown_words(found, source="Mia smiles").text
    'Mia sourit'
    """
    if not translation.target_tokens:
        return translation
    words, weights = attention_to_words(translation, source)
    tokenizer = translation.tokenizers[1]
    rows = [row for row, own in enumerate(translation.target_tokens) if own == tokenizer.unk_token]
    if not rows or not words:
        return translation
    chosen = [words[index] for index in weights[rows].argmax(axis=1)]
    if lexicon is not None:
        chosen = [lexicon.best(word) or word for word in chosen]
    return translation._replace(text=tokenizer.join_tokens(translation.target_tokens, chosen))
