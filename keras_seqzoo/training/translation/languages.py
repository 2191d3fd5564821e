"""Runs of multilingual translation models: their corpora, languages, and scores of each."""

import functools
import itertools

import numpy as np

from keras_seqzoo.data import MultilingualFiles, ParallelFiles
from keras_seqzoo.data.batching.corpus_sampling import sampled_sizes
from keras_seqzoo.metrics import score_translations
from keras_seqzoo.models.seq2seq.languages import check_language
from keras_seqzoo.models.seq2seq.text_graphs import UNCUT
from keras_seqzoo.training.options import option, options
from keras_seqzoo.training.subwords import SubwordOptions


@options
class CorpusOptions(SubwordOptions):
    """Options of trainings on several corpora."""

    sampling_temperature: float = option(
        1.0,
        "With several corpora: draw from each in proportion to its size to the power 1/T. 1 reads "
        "each pair once an epoch; 5 reads small corpora more often.",
        minimum=1,
        recorded=True,
        metavar="T",
        panel="Training",
    )


class Corpora:
    """The corpora of a run: the items of its training data, and the sizes of an epoch.

    Args:
        languages: tuple of strings, the target languages of the model; empty for one language.
        temperature: float, see `keras_seqzoo.data.bucketed_batches`.

    Raises:
        ValueError: if a temperature other than 1 is given for one language.
    """

    def __init__(self, languages, temperature):
        if temperature != 1 and not languages:
            raise ValueError(
                "`sampling_temperature` must be 1 for a model with one target language, got "
                f"{temperature!r}."
            )
        self.languages = languages
        self.temperature = temperature if languages else None

    def check(self, train):
        """Raise `ValueError` if files of the other kind are given."""
        wanted, other = MultilingualFiles, ParallelFiles
        if not self.languages:
            wanted, other = other, wanted
        if isinstance(train, other):
            raise ValueError(
                f"`train` must be {wanted.__name__} for a model with "
                f"{'several target languages' if self.languages else 'one target language'}, "
                f"got {other.__name__}."
            )

    def read(self, items):
        """Return the columns of items: sources, targets, languages, corpora (these or `None`)."""
        sources, targets, *more = zip(*items, strict=True)
        if not self.languages:
            return sources, targets, None, None
        languages = check_language(more[0], self.languages, len(sources))
        numbers = more[1] if len(more) > 1 else map(self.languages.index, languages)
        return sources, targets, languages, np.fromiter(numbers, np.int32, len(sources))

    def count_tokens(self, pairs):
        """Return the number of target tokens in an epoch; with a temperature, approximately."""
        if self.temperature in (None, 1):
            return pairs.tokens["target"] - pairs.rows  # without [BOS]
        tokens = sizes = np.zeros(0, np.int64)
        for part in pairs.shapes():
            tokens = _add(tokens, np.bincount(part.corpus, part.target.lengths - 1))
            sizes = _add(sizes, np.bincount(part.corpus))
        rates = sampled_sizes(sizes, self.temperature) / np.maximum(sizes, 1)
        return round(float(tokens @ rates))


def source_encoder(preprocessor, languages=None):
    """Return a function that encodes uncut sources, each with its target language.

    Args:
        preprocessor: a `RecurrentSeq2SeqLMPreprocessor`.
        languages: list of strings, the target languages of all sources in the order in which they
            are encoded, or `None` for one language.

    Returns:
        A function from a string tensor `(batch,)` to ragged ids.
    """
    encode = functools.partial(preprocessor.encode_source, length=UNCUT)
    if languages is None:
        return encode
    rest = iter(languages)
    return lambda texts: encode(texts, language=[*itertools.islice(rest, len(texts))])


def score_by_language(translations, references, languages, bleu_tokenizer):
    """Compute the BLEU and chrF of translations, averaged over languages, and BLEU of each.

    Args:
        translations: list of strings.
        references: list of strings.
        languages: list of strings, the target language of each, or `None` for one language.
        bleu_tokenizer: string, see `keras_seqzoo.metrics.score_translations`.

    Returns:
        A dict of floats: `bleu` and `chrf`, the means over the languages; with languages, also
        `bleu_fr` and so on.
    """
    if languages is None:
        scores = score_translations(translations, references, bleu_tokenizer=bleu_tokenizer)
        return {"bleu": scores.bleu, "chrf": scores.chrf}
    scores = {}
    for language in sorted(set(languages)):
        rows = [row for row, own in enumerate(languages) if own == language]
        texts = ([side[row] for row in rows] for side in (translations, references))
        scores[language] = score_translations(*texts, bleu_tokenizer=bleu_tokenizer)
    return {
        "bleu": float(np.mean([one.bleu for one in scores.values()])),
        "chrf": float(np.mean([one.chrf for one in scores.values()])),
        **{f"bleu_{language}": one.bleu for language, one in scores.items()},
    }


def _add(one, other):
    size = max(len(one), len(other))
    return np.pad(one, (0, size - len(one))) + np.pad(other, (0, size - len(other)))
