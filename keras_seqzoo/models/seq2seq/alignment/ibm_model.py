"""Translation probabilities of tokens by IBM model 1."""

from typing import NamedTuple

import numpy as np

from keras_seqzoo.checks import check_integer


class TokenLexicon(NamedTuple):
    """The most probable target tokens of each source token, for `LexiconDistribution.set_lexicon`.

    Attributes:
        target_ids: int32 array `(source_vocabulary_size, entries)`, the most probable tokens first.
        probabilities: float32 array of the same shape. The row of a source token sums to 1, or is
            all 0 if the token has no translations.
    """

    target_ids: np.ndarray
    probabilities: np.ndarray


def train_ibm_model(
    pairs, source_vocabulary_size, target_vocabulary_size, iterations=5, entries=10
):
    """Estimate translation probabilities of tokens from parallel text, by IBM model 1.

    ```
    P(F, alignment | E) ∝ Π_t p(f_t | e_{a_t})
    ```

    All alignments a_t are equally likely a priori. Expectation maximization estimates the
    probabilities, starting from uniform ones (Brown et al. 1993, "The mathematics of statistical
    machine translation", section 4.1). Each iteration sums the share of each source token in each
    target token over all pairs of sentences:

    ```
    c(e, f) = Σ_t [f_t = f] p(f | e) / Σ_s p(f | e_s),          p(f | e) = c(e, f) / Σ_f' c(e, f').
    ```

    There is no empty source token: `[EOS]`, which is in every sentence, takes its place. Each
    combination of a source token and a target token of one pair takes 40 bytes of memory.

    Args:
        pairs: `keras_seqzoo.data.TokenPairs`, such as from `keras_seqzoo.data.tokenize_pairs`:
            source ids, and target ids with a start token, which is ignored.
        source_vocabulary_size: int.
        target_vocabulary_size: int.
        iterations: int.
        entries: int, the number of target tokens to keep for each source token. Their probabilities
            are normalized to sum to 1.

    Returns:
        A `TokenLexicon`.

    Raises:
        ValueError: if a number is not positive, or there are no pairs.

    Example:
    >>> from keras_seqzoo.data import tokenize_pairs
    >>> from keras_seqzoo.tokenizers import WordTokenizer
    >>> source, target = ["the house", "the book", "a book"], ["das Haus", "das Buch", "ein Buch"]
    >>> english, german = WordTokenizer.train(source), WordTokenizer.train(target)
    >>> pairs = tokenize_pairs(source, target, english, german)
    >>> sizes = english.vocabulary_size(), german.vocabulary_size()
    >>> lexicon = train_ibm_model(pairs, *sizes, iterations=20)
    >>> german.id_to_token(lexicon.target_ids[english.token_to_id("house"), 0])
    'Haus'
    """
    for name, value in (
        ("source_vocabulary_size", source_vocabulary_size),
        ("target_vocabulary_size", target_vocabulary_size),
        ("iterations", iterations),
        ("entries", entries),
    ):
        check_integer(name, value, minimum=1)
    if not len(pairs.source.lengths):
        raise ValueError("`pairs` must have at least one pair, got none.")
    target = pairs.target
    first = np.zeros(len(target.values), bool)
    first[target.offsets[:-1]] = True  # the start tokens
    target_ids = target.values[~first]
    # Cells: each target token with each source token of its pair.
    source_lengths = np.repeat(pairs.source.lengths, target.lengths - 1)  # (target tokens,)
    place = np.repeat(np.arange(len(target_ids)), source_lengths)  # (cells,)
    starts = np.repeat(pairs.source.offsets[:-1], target.lengths - 1)
    within = np.arange(len(place)) - (np.cumsum(source_lengths) - source_lengths)[place]
    source_ids = pairs.source.values[starts[place] + within]
    keys = source_ids.astype(np.int64) * target_vocabulary_size + target_ids[place]
    keys, entry = np.unique(keys, return_inverse=True)  # the different pairs of tokens
    sources = keys // target_vocabulary_size
    probabilities = np.ones(len(keys))
    for _ in range(iterations):
        shares = probabilities[entry]
        shares /= np.bincount(place, shares)[place]
        counts = np.bincount(entry, shares)
        probabilities = counts / np.bincount(sources, counts)[sources]
    return _most_probable(
        sources,
        keys % target_vocabulary_size,
        probabilities,
        (source_vocabulary_size, entries),
    )


def _most_probable(sources, targets, probabilities, shape):
    """Keep the best entries of each source token."""
    order = np.lexsort((targets, -probabilities, sources))
    sources, targets, probabilities = (x[order] for x in (sources, targets, probabilities))
    starts = np.flatnonzero(np.diff(sources, prepend=-1))
    rank = np.arange(len(sources)) - np.repeat(starts, np.diff([*starts, len(sources)]))
    kept = rank < shape[1]
    found = TokenLexicon(np.zeros(shape, np.int32), np.zeros(shape, np.float32))
    cells = sources[kept], rank[kept]
    found.target_ids[cells] = targets[kept]
    found.probabilities[cells] = probabilities[kept]
    sums = found.probabilities.sum(axis=1, keepdims=True)
    np.divide(found.probabilities, sums, out=found.probabilities, where=sums > 0)
    return found
