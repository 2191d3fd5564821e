"""Probabilities of words that a language model does not know."""

import math

import numpy as np

from keras_seqzoo.checks import check_integer, check_fraction, list_of_texts
from keras_seqzoo.models.language_model.base import LanguageModel, PerplexityReport
from keras_seqzoo.tokenizers import WordTokenizer

CHARACTERS = 0x110000  # of Unicode


class OpenVocabulary:
    """Scores any text by a word model, and unknown words by a model of all words there may be.

    With a weight λ, for every event w,

        P(w | h) = (1 - λ) P_model(w | h) + λ P_unk(w),

    where P_model of a word that is not in the vocabulary is 0 and P_unk of the end of a sentence is
    0 (Neubig 2017, Neural machine translation and sequence-to-sequence models, equation 7). With
    `weight=None`, for a model that has learned where unknown words come (from a text whose rare
    words were `[UNK]`),

        P(w | h) = P_model([UNK] | h) P_unk(w)    for words that are not in the vocabulary,

    and what the model says for all others. P_unk is uniform over as many words as there may be, or
    the probability of a word's letters. A letter that the model of letters does not know has its
    probability of `[UNK]` by 1 / 1,114,112, the characters of Unicode.

    Args:
        model: a `LanguageModel` with a `WordTokenizer`.
        weight: number from 0 to 1, or `None`.
        vocabulary_size: int, how many words there may be, the known ones counted, if `spelling` is
            `None`.
        spelling: a `LanguageModel` of words, whose texts are letters with spaces between, or
            `None`.

    Raises:
        ValueError: if an argument is out of its range, or `model` has no words.

    Example:
    >>> from keras_seqzoo.models import NGramLanguageModel
    >>> model = NGramLanguageModel.train(["the cat sat", "the dog sat"], order=2)
    >>> letters = NGramLanguageModel.train(["c a t", "d o g", "s a t"], order=2)
    >>> open_model = OpenVocabulary(model, weight=0.1, spelling=letters)
    >>> open_model.perplexity(["the cod sat"]).unknown
    1
    """

    def __init__(self, model, weight=0.05, vocabulary_size=1_000_000, spelling=None):
        for name, one in (("model", model), ("spelling", spelling)):
            if not isinstance(one, LanguageModel) and (one is not None or name == "model"):
                raise ValueError(f"`{name}` must be a LanguageModel, got {one!r}.")
        if not isinstance(model.tokenizer, WordTokenizer):
            raise ValueError(
                f"`model` must have a WordTokenizer, got a {type(model.tokenizer).__name__}: "
                "pieces of words leave none unknown."
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
        scores = []
        spelled = self._words({word for own in sentences for word in own}, known)
        for words, own in zip(sentences, self.model.token_scores(texts, batch_size), strict=True):
            unknown = np.array([word not in known for word in words] + [False])
            # The end of a sentence is no word.
            other = np.array([spelled.get(word, -math.inf) for word in words] + [-math.inf])
            own = own.astype(np.float64)
            if self.weight is None:
                own[unknown] += other[unknown]
            else:
                own[unknown] = -math.inf
                with np.errstate(divide="ignore"):
                    own = np.logaddexp(np.log1p(-self.weight) + own, np.log(self.weight) + other)
            scores.append((float(own.sum()), len(own)))
        return scores

    def perplexity(self, texts, batch_size=64):
        """Measure how well the model predicts sentences; see `LanguageModel.perplexity`.

        The events are the same: words, unknown ones too, and the ends of sentences.
        """
        texts = list_of_texts(texts)
        unknown = self.model.count_unknown(texts)
        return PerplexityReport.of(
            self.score(texts, batch_size), texts, unknown, self._unknown_words()
        )

    def _unknown_words(self):
        own = "that of its letters"
        if self.spelling is None:
            own = f"1 / {self.vocabulary_size}"
        if self.weight is None:
            return f"that of [UNK] times {own}"
        return f"{self.weight:g} times {own}, for known words too"

    def _words(self, words, known):
        """Gives log P_unk of words, of those that are needed, as a dict."""
        if self.weight is None:
            words -= known
        words = sorted(words)
        if self.spelling is None:
            return dict.fromkeys(words, -math.log(self.vocabulary_size))
        letters = [" ".join(word) for word in words]
        unknown = self.spelling.tokenizer.unk_token_id
        strange = [np.count_nonzero(ids == unknown) for ids in self.spelling.sentence_ids(letters)]
        return {
            word: score - number * math.log(CHARACTERS)
            for word, (score, _), number in zip(
                words, self.spelling.score(letters), strange, strict=True
            )
        }
