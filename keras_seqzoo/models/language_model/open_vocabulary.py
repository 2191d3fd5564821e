"""Open vocabulary: probabilities of words outside the vocabulary of a language model."""

import math

import numpy as np

from keras_seqzoo.checks import check_fraction, check_integer, list_of_texts
from keras_seqzoo.models.common.scores import Score
from keras_seqzoo.models.language_model.base import LanguageModel, PerplexityReport, check_texts
from keras_seqzoo.tokenizers import WordTokenizer

UNICODE_CHARACTERS = 0x110000


class OpenVocabulary:
    """Scorer of text with unknown words, from a word model and a model of unknown words.

    With a weight λ, for every token w,

        P(w | h) = (1 - λ) P_model(w | h) + λ P_unk(w),

    where P_model is 0 for words outside the vocabulary and P_unk is 0 for the end of a sentence
    (Neubig 2017, Neural machine translation and sequence-to-sequence models, equation 7). With
    `weight=None`, for a model trained on text whose rare words were replaced by `[UNK]`,

        P(w | h) = P_model([UNK] | h) P_unk(w)    for words outside the vocabulary,
        P(w | h) = P_model(w | h)                 otherwise.

    The sum over all words may be below 1, and the perplexity is then an upper bound: with a weight,
    what the model gives `[UNK]` is lost, and without one what a uniform P_unk gives known words.

    P_unk is uniform over `vocabulary_size` words, or the probability of the letters of a word. The
    probability of an unknown letter is the probability of `[UNK]` divided by 1,114,112, the number
    of Unicode characters.

    Args:
        model: a `LanguageModel` with a `WordTokenizer`.
        weight: float, λ, from 0 to 1, or `None`.
        vocabulary_size: int, the number of all words, including known ones; used only if `spelling`
            is `None`.
        spelling: a `LanguageModel` of words that are spelled as letters separated by spaces, or
            `None`.

    Raises:
        ValueError: if an argument is out of its range, or `model` does not have a `WordTokenizer`.

    Example:
    >>> from keras_seqzoo.models import NGramLanguageModel
    >>> model = NGramLanguageModel.train(["the cat sat", "the dog sat"], order=2)
    >>> letters = NGramLanguageModel.train(["c a t", "d o g", "s a t"], order=2)
    >>> open_model = OpenVocabulary(model, weight=0.1, spelling=letters)
    >>> open_model.perplexity(["the cod sat"]).unknown
    1
    """

    def __init__(self, model, weight=0.05, vocabulary_size=1_000_000, spelling=None):
        if not isinstance(model, LanguageModel):
            raise ValueError(f"`model` must be a LanguageModel, got {model!r}.")
        if spelling is not None and not isinstance(spelling, LanguageModel):
            raise ValueError(f"`spelling` must be a LanguageModel or None, got {spelling!r}.")
        if not isinstance(model.tokenizer, WordTokenizer):
            raise ValueError(
                f"`model` must have a WordTokenizer, got a {type(model.tokenizer).__name__}."
            )
        self.model = model
        self.weight = None if weight is None else check_fraction("weight", weight, " or None")
        known = len(model.tokenizer.words) if spelling is None else 1
        self.vocabulary_size = check_integer("vocabulary_size", vocabulary_size, minimum=known)
        self.spelling = spelling

    def score(self, texts, batch_size=64):
        """Compute the log probability of sentences; see `LanguageModel.score`."""
        texts = list_of_texts(texts)
        tokenizer = self.model.tokenizer
        known = set(tokenizer.words)
        rows = tokenizer.cut(tokenizer.normalize(texts)).to_list()
        sentences = [[word.decode() for word in words] for words in rows]
        word_scores = self._score_words({word for words in sentences for word in words}, known)
        result = []
        model_scores = self.model.token_scores(texts, batch_size)
        for words, scores in zip(sentences, model_scores, strict=True):
            # The last token is [EOS].
            unknown = np.array([word not in known for word in words] + [False])
            spelled = np.array([word_scores.get(word, -math.inf) for word in words] + [-math.inf])
            scores = scores.astype(np.float64)
            if self.weight is None:
                scores[unknown] += spelled[unknown]
            else:
                scores[unknown] = -math.inf
                with np.errstate(divide="ignore"):
                    scores = np.logaddexp(
                        np.log1p(-self.weight) + scores, np.log(self.weight) + spelled
                    )
            result.append(Score(float(scores.sum()), len(scores)))
        return result

    def perplexity(self, texts, batch_size=64):
        """Measure how well the model predicts sentences; see `LanguageModel.perplexity`.

        The events are words, known or not, and ends of sentences.
        """
        texts = check_texts(texts)
        unknown = self.model.count_unknown(texts)
        return PerplexityReport.from_scores(
            self.score(texts, batch_size), texts, unknown, self._describe_unknown_words()
        )

    def _describe_unknown_words(self):
        spelled = "the probability of its letters"
        if self.spelling is None:
            spelled = f"1 / {self.vocabulary_size}"
        if self.weight is None:
            return f"the probability of [UNK] times {spelled}"
        return f"{self.weight:g} times {spelled}, also added to known words"

    def _score_words(self, words, known):
        """Return a dict of log P_unk, with `weight=None` only for unknown words."""
        if self.weight is None:
            words -= known
        words = sorted(words)
        if self.spelling is None:
            return dict.fromkeys(words, -math.log(self.vocabulary_size))
        letters = [" ".join(word) for word in words]
        unknown = self.spelling.tokenizer.unk_token_id
        counts = [np.count_nonzero(ids == unknown) for ids in self.spelling.sentence_ids(letters)]
        return {
            word: score - count * math.log(UNICODE_CHARACTERS)
            for word, (score, _), count in zip(
                words, self.spelling.score(letters), counts, strict=True
            )
        }
