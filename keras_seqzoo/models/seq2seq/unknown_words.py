"""Unknown words of a translation, filled in by its alignment."""

from keras_seqzoo.models.seq2seq.alignment import attention_to_words, join_pieces
from keras_seqzoo.tokenizers.segmenter import UNKNOWN_SURFACE
from keras_seqzoo.tokenizers.text_tokenizer import UNK


def replace_unknown_words(translation, lexicon=None, source=None):
    """Replaces each unknown token by the translation of the source word it attends to most.

    That is the likeliest one of a lexicon, or the source word itself if the lexicon has none, as
    names are often the same in both languages (Luong et al. 2015, Addressing the rare word problem
    in neural machine translation; Jean et al. 2015 take the word by the attention weights). What
    else the word of the unknown token has, such as a comma, stays.

    The tokenizers that this package trains write rare words letter by letter or byte by byte, and
    know every word; it is vocabularies from elsewhere that have unknown ones.

    Args:
        translation: a `Translation` with an `alignment`, or of an empty source.
        lexicon: a `Lexicon` or `None`.
        source: string, the source sentence, for words of it that are unknown themselves: the
            translation knows of them only that they are there. `None` leaves the sign for unknown
            words (U+2047) in their place.

    Returns:
        A `Translation`, with another `text` if there was something to replace.

    Raises:
        ValueError: if the translation has no alignment.

    Example:
    >>> import numpy as np
    >>> tokens = ["\u2581Mia", "\u2581smiles"], ["\u2581", "[UNK]", "\u2581sourit"]
    >>> weights = np.array([[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]])
    >>> replace_unknown_words(Translation("⁇ sourit", 0.0, 0.0, *tokens, weights)).text
    'Mia sourit'
    """
    if not translation.target_tokens:
        return translation
    words, weights = attention_to_words(translation)
    if UNK not in translation.target_tokens or not words:
        return translation
    if source is not None:
        words = _as_written(words, source)
    parts, known = [], []
    for piece, attention in zip(translation.target_tokens, weights, strict=True):
        if piece == UNK:
            word = words[attention.argmax()]
            found = None if lexicon is None else lexicon.best(word)
            parts += [join_pieces(known), found or word]
            known = []
        else:
            known.append(piece)
    text = "".join([*parts, join_pieces(known)])
    return translation._replace(text=text.removeprefix(" "))


def _as_written(words, source):
    """Puts the words of a sentence in the place of those that hold unknown tokens."""
    written = [word for word in source.split(" ") if word]
    return [
        written[index] if UNKNOWN_SURFACE in word and index < len(written) else word
        for index, word in enumerate(words)
    ]
