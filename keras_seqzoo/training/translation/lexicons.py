"""Lexicons of translation models, estimated from parallel texts."""

import collections
import functools
import itertools

import numpy as np

from keras_seqzoo.checks import list_names
from keras_seqzoo.data import tokenize_pairs
from keras_seqzoo.models import train_ibm_model
from keras_seqzoo.models.seq2seq.languages import language_token

LEXICON_PAIRS = 100_000  # at most, from which a lexicon is estimated


def count_pairs(source, pair_languages, languages):
    """Return the number of pairs of each target language; its key is `None` for one language."""
    rows = sum(1 for _ in source)
    if not languages:
        return {None: rows}
    known = list_names(list(dict.fromkeys(languages)))
    if pair_languages is None:
        raise ValueError(
            "`pair_languages` must be given with `languages` and a lexicon as `source_output`, got "
            "None."
        )
    counts = collections.Counter(pair_languages)
    if set(counts) != set(languages):
        raise ValueError(
            f"`pair_languages` must have each of `languages` ({known}) and no other, got "
            f"{list_names([*map(str, counts)])}."
        )
    if sum(counts.values()) != rows:
        raise ValueError(
            f"`pair_languages` must be one for each of the {rows} pairs, got "
            f"{sum(counts.values())}."
        )
    return counts


def lexicon_selectors(tokenizer, languages):
    """Return the source tokens that select a lexicon: those of the target languages."""
    return [tokenizer.token_to_id(language_token(language)) for language in languages]


def fill_lexicon(lexicon, preprocessor, source, target, pair_languages, counts):
    """Estimate the lexicon of each language, from at most `LEXICON_PAIRS` pairs, evenly spaced.

    Args:
        lexicon: the `LexiconDistribution` to fill.
        preprocessor: the `RecurrentSeq2SeqLMPreprocessor` of the model.
        source: iterable of strings.
        target: iterable of strings.
        pair_languages: iterable of strings, or `None` for one language.
        counts: the result of `count_pairs`.
    """
    seen, kept = collections.Counter(), {language: [] for language in counts}
    own = itertools.repeat(None, counts[None]) if None in counts else pair_languages
    for *pair, language in zip(source, target, own, strict=True):
        if seen[language] * LEXICON_PAIRS % counts[language] < LEXICON_PAIRS:
            kept[language].append(pair)
        seen[language] += 1
    tokenizers = preprocessor.encoder_tokenizer, preprocessor.tokenizer
    sizes = [tokenizer.vocabulary_size() for tokenizer in tokenizers]
    tables = []
    for language in preprocessor.languages or [None]:
        encode_source = functools.partial(preprocessor.encode_source, language=language)
        texts = zip(*kept[language], strict=True)
        pairs = tokenize_pairs(*texts, encode_source, preprocessor.encode_target)
        tables.append(train_ibm_model(pairs, *sizes))
    joined = (np.stack(table) for table in zip(*tables, strict=True))
    lexicon.set_lexicon(*(table.reshape(lexicon.lexicon_shape) for table in joined))
