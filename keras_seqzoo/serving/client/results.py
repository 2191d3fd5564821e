"""The outputs of signatures, converted to the results of models."""

import math
from typing import NamedTuple

from keras_seqzoo.models.common.labels import Classification
from keras_seqzoo.models.common.scores import Score
from keras_seqzoo.models.seq2seq.translation import Translation


class TaggedText(NamedTuple):
    """The words of a text with their tags.

    Attributes:
        words: list of strings, into which the model splits the text.
        tags: list of strings, one for each word.
        probabilities: list of floats, the marginal probability of each tag.
    """

    words: list[str]
    tags: list[str]
    probabilities: list[float]


class Answer(NamedTuple):
    """How to read the answer of a signature.

    Attributes:
        signature: string.
        outputs: tuple of strings, the outputs that are read.
        read: function of the text and of the values of these outputs in its row that returns the
            result.
    """

    signature: str
    outputs: tuple[str, ...]
    read: object


def _read_translation(text, translation, score):
    return [Translation(translation, float(score), math.nan, [], [], None)]


def _read_n_best(text, translations, scores, log_probabilities):
    ranks = zip(translations, scores.tolist(), log_probabilities.tolist(), strict=True)
    found = [Translation(*rank, [], [], None) for rank in ranks]
    if all(one.text == "" and one.score == 0.0 for one in found):
        return found[:1]  # the text was blank, perhaps only after its normalization
    return _existing(found, scores)


def _existing(results, scores):
    """Return the first result, and the others that a search has found."""
    return [
        result
        for rank, (result, score) in enumerate(zip(results, scores.tolist(), strict=True))
        if rank == 0 or score > -math.inf
    ]


def _read_classification(text, labels, probabilities, chosen):
    applying = [label for label, applies in zip(labels, chosen, strict=True) if applies]
    return Classification(applying, dict(zip(labels, probabilities.tolist(), strict=True)))


def _read_tags(text, tokens, tags, probabilities, length):
    rows = (row.tolist()[:length] for row in (tokens, tags, probabilities))
    return TaggedText(*rows)


def _read_score(text, log_probability, tokens):
    return Score(float(log_probability), int(tokens))


def _read_generated(text, generated, scores):
    return _existing(generated.tolist(), scores)


def _read_similar(text, words, similarities, known):
    return list(zip(words.tolist(), similarities.tolist(), strict=True)) if known else []


DEFAULT = "serving_default"
TRANSLATION = Answer(DEFAULT, ("translation", "score"), _read_translation)
N_BEST = Answer("n_best", ("translations", "scores", "log_probabilities"), _read_n_best)
CLASSIFICATION = Answer(DEFAULT, ("labels", "probabilities", "chosen"), _read_classification)
TAGS = Answer(DEFAULT, ("tokens", "tags", "probabilities", "lengths"), _read_tags)
SCORE = Answer("score", ("log_probability", "tokens"), _read_score)
GENERATED = Answer(DEFAULT, ("generated", "scores"), _read_generated)
SIMILAR = Answer("similar", ("words", "similarities", "known"), _read_similar)
