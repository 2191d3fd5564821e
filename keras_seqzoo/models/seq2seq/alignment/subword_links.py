"""Conversion of links between words to links between their tokens."""

import numpy as np

from keras_seqzoo.checks import ItemError
from keras_seqzoo.data import RaggedIds


def subword_links(pairs, links, source_tokenizer, target_tokenizer):
    """Convert word alignments to links between all tokens of linked words.

    Args:
        pairs: `TokenPairs`.
        links: list with, for each pair, a list of its links: pairs `(source, target)` of word
            positions, as `read_alignments` returns them.
        source_tokenizer: the tokenizer of the source.
        target_tokenizer: the tokenizer of the target.

    Returns:
        The `links` of `TokenPairs`.

    Raises:
        ItemError: a `ValueError` that names the first pair with a link to a word that it does not
            have.
    """
    values, lengths = [], []
    for index, own in enumerate(links):
        source = _words(source_tokenizer, pairs.source.sequence(index))
        target = _words(target_tokenizer, pairs.target.sequence(index)[1:])  # without [BOS]
        for link in own:
            for side, place, words in zip(
                ("source", "target"), link, (source, target), strict=True
            ):
                if not 0 <= place < len(words):
                    problem = (
                        f"a link must be of one of the {len(words)} {side} words, from 0, got "
                    )
                    problem += f"{link[0]}-{link[1]}."
                    raise ItemError("links", "pair", index + 1, problem)
        tokens = [
            (later, earlier)
            for source_word, target_word in own
            for later in target[target_word]
            for earlier in source[source_word]
        ]
        values += tokens
        lengths.append(2 * len(tokens))
    return RaggedIds.from_lengths(np.array(values, np.int32).reshape(-1), lengths)


def _words(tokenizer, ids):
    """Return the positions of the tokens of each word."""
    words = tokenizer.group_words(map(tokenizer.id_to_token, ids.tolist()))
    return [positions for _, positions in words]
