"""Word alignment of a translation and its source, by attention."""

from typing import NamedTuple

import numpy as np

from keras_seqzoo.data.pharaoh import format_links


class WordAlignment(NamedTuple):
    """Attention of the words of a translation to the words of its source.

    Attributes:
        source_words: list of strings.
        target_words: list of strings.
        weights: float32 array `(target words, source words)`. A row sums to at most 1, because it
            leaves out the attention to the end token.
    """

    source_words: list[str]
    target_words: list[str]
    weights: np.ndarray

    def links(self):
        """Link each target word to the source word with the largest weight.

        Returns:
            A list of pairs `(source word, target word)` of indices from 0, in the order of the
            target. A word that attends only to the end token, and to no source word, has no link.
        """
        if not self.source_words:
            return []
        best = self.weights.argmax(axis=1)
        attending = self.weights.max(axis=1) > 0
        return [(int(source), target) for target, source in enumerate(best) if attending[target]]

    def pharaoh(self):
        """Return the links in the Pharaoh format of word aligners, `0-0 2-1 1-2`, source first."""
        return format_links(self.links())


def word_alignment(translation, source=None, target=None):
    """Convert the attention between tokens to attention between words.

    The weight between two words is the sum over the tokens of the source word, averaged over the
    tokens of the target word. The tokenizers say which tokens form a word: see
    `TextTokenizer.group_words`.

    Args:
        translation: a `Translation` with an `alignment`, from `translate(..., alignments=True)` or
            `align`.
        source: string, the source sentence. Unknown words are then spelled as in it. With `None`
            they contain U+2047, the sign for unknown tokens.
        target: string, the same for the translation, if its text was given, as for `align`.

    Returns:
        A `WordAlignment`.

    Raises:
        ValueError: if the translation has no alignment or no tokenizers, or its tokens cannot be
            grouped into words.

    Example:
    >>> from keras_seqzoo.models import Translation
    >>> from keras_seqzoo.tokenizers import WordPieceTokenizer
    >>> tokenizer = WordPieceTokenizer(["a", "do", "##g", "un", "chien"])
    >>> weights = np.array([[0.8, 0.1, 0.0, 0.1], [0.1, 0.5, 0.4, 0.0], [0.0, 0.2, 0.2, 0.6]])
    >>> tokens = ["a", "do", "##g", "[EOS]"], ["un", "chien", "[EOS]"]
    >>> both = tokenizer, tokenizer
    >>> aligned = word_alignment(Translation("un chien", 0.0, 0.0, *tokens, weights, both))
    >>> aligned.source_words, aligned.pharaoh()
    (['a', 'dog'], '0-0 1-1')
    """
    source_words, attention = attention_to_words(translation, source)
    words = translation.tokenizers[1].group_words(translation.target_tokens)
    weights = np.zeros((len(words), len(source_words)), np.float32)
    for row, (_, group) in enumerate(words):
        weights[row] = attention[group].mean(axis=0)
    target_words = _as_written(words, translation.target_tokens, translation.tokenizers[1], target)
    return WordAlignment(source_words, target_words, weights)


def attention_to_words(translation, source=None):
    """Return the source words, and the attention `(target tokens, source words)` to them.

    Args:
        translation: see `word_alignment`.
        source: see `word_alignment`.
    """
    for name, made in (
        ("alignment", "`translate(..., alignments=True)` or `align`"),
        ("tokenizers", "`translate` or `align`"),
    ):
        if getattr(translation, name) is None:
            raise ValueError(f"`translation` must have `{name}`, as from {made}, got None.")
    tokenizer, tokens = translation.tokenizers[0], translation.source_tokens
    words = tokenizer.group_words(tokens)
    weights = np.zeros((len(translation.target_tokens), len(words)), np.float32)
    for column, (_, group) in enumerate(words):
        weights[:, column] = translation.alignment[:, group].sum(axis=1)
    return _as_written(words, tokens, tokenizer, source), weights


def _as_written(words, tokens, tokenizer, text):
    """Return words; spell those with an unknown token as in the text, if it is given."""
    found = [word for word, _ in words]
    if text is None or tokenizer.unk_token not in tokens:
        return found
    # The text may have more words, if its tokens were truncated.
    for index, written in enumerate(tokenizer.split_text(text)[: len(words)]):
        if any(tokens[place] == tokenizer.unk_token for place in words[index][1]):
            found[index] = written
    return found
