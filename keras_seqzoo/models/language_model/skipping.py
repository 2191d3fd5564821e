"""Skip n-gram language model, whose context leaves out the words in between."""

import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.models.language_model.base import (
    LanguageModel,
    check_stream,
    tokenize_sentences,
)
from keras_seqzoo.models.language_model.ngram import NGramLanguageModel
from keras_seqzoo.tokenizers import WordTokenizer
from keras_seqzoo.tokenizers.training_texts import text_batches


class SkippingLanguageModel(LanguageModel):
    """Language model of words at a distance, which ignores the words just before each word.

        P(w_t | w_{t-d}, w_{t-2d}, ...)

    With n-grams of order 2 and d = 2 this is the skip bigram P(w_t | w_{t-2}), which has seen more
    continuations than a trigram. Alone it is worse than n-grams without gaps. In an
    `InterpolatedLanguageModel` with them it adds what they miss (Rosenfeld 1996, A maximum entropy
    approach to adaptive statistical language modelling, "distance-2 bigrams"; Goodman 2001, A bit
    of progress in language modeling, section 4). Longer n-grams skip between all their words, while
    the skipping trigrams of these works skip once. A sentence is read as d sequences, one for each
    remainder of t by d, each from its beginning. The one with the end keeps it.

    Args:
        model: a `LanguageModel` of such sequences, see `train`.
        distance: int, d, at least 2.

    Raises:
        ValueError: if an argument is invalid.

    Example:
    >>> from keras_seqzoo.models import InterpolatedLanguageModel, NGramLanguageModel
    >>> texts = ["a big dog sat", "a small dog sat"]
    >>> trigrams = NGramLanguageModel.train(texts, order=3)
    >>> skipping = SkippingLanguageModel.train(texts, tokenizer=trigrams.tokenizer)
    >>> mixture = InterpolatedLanguageModel([trigrams, skipping], [0.8, 0.2])
    >>> mixture.perplexity(["a red dog sat"]).events
    5
    """

    def __init__(self, model, distance=2):
        if not isinstance(model, LanguageModel):
            raise ValueError(f"`model` must be a LanguageModel, got {model!r}.")
        self.model = model
        self.tokenizer = model.tokenizer
        self.distance = check_integer("distance", distance, minimum=2)

    @classmethod
    def train(cls, texts, distance=2, order=2, estimator=None, tokenizer=None):
        """Estimate skip n-grams from text.

        Args:
            texts: see `NGramLanguageModel.train`.
            distance: int, d, at least 2.
            order: int, the number of words of an n-gram; 2 gives P(w_t | w_{t-d}).
            estimator: see `NGramLanguageModel.train`.
            tokenizer: `WordTokenizer`; by default one of all words of the text. The models of a
                mixture need the same vocabulary.

        Returns:
            A `SkippingLanguageModel`.

        Raises:
            ValueError: if there is no text, or an argument is invalid.
        """
        texts = check_stream(texts)
        check_integer("distance", distance, minimum=2)
        tokenizer = WordTokenizer.train(texts) if tokenizer is None else tokenizer
        ids = np.concatenate(
            [
                np.concatenate(
                    [_sequence_ids(tokens, tokenizer, distance, r) for r in range(distance)]
                )
                for tokens in (
                    tokenize_sentences(tokenizer, batch) for batch in text_batches(texts)
                )
            ]
        )
        return cls(NGramLanguageModel.from_ids(ids, order, estimator, tokenizer), distance)

    def start(self, rows):
        """Create the state before the beginning of sentences; see `LanguageModel`."""
        begin = tf.fill([rows, self.distance - 1], self.tokenizer.start_token_id)
        return {
            # of the d sequences, with the sequence of the next word first
            "sequences": [self.model.start(rows) for _ in range(self.distance)],
            "recent": begin,  # (rows, d - 1), read and not yet used
        }

    def step(self, tokens, state):
        """Read one token per row and compute the next distribution; see `LanguageModel`."""
        recent = tf.concat([state["recent"], tokens[:, tf.newaxis]], axis=1)
        first, *others = state["sequences"]
        scores, first = self.model.step(recent[:, 0], first)
        return scores, {"sequences": [*others, first], "recent": recent[:, 1:]}

    def token_log_probabilities(self, token_ids, lengths):
        """Compute log P of each token given the tokens before it; see `LanguageModel`."""
        distance, length = self.distance, tf.shape(token_ids)[1]
        columns = -(-length // distance)
        padding = [[0, 0], [0, columns * distance - length]]
        ids = tf.pad(token_ids, padding, constant_values=self.tokenizer.pad_token_id)
        ids = tf.transpose(tf.reshape(ids, [-1, columns, distance]), [0, 2, 1])  # (B, d, L / d)
        own_lengths = -((tf.range(distance) - lengths[:, tf.newaxis]) // distance)  # (B, d)
        scores = self.model.token_log_probabilities(
            tf.reshape(ids, [-1, columns]), tf.reshape(tf.maximum(own_lengths, 0), [-1])
        )
        scores = tf.transpose(tf.reshape(scores, [-1, distance, columns]), [0, 2, 1])
        return tf.reshape(scores, [-1, columns * distance])[:, :length]


def _sequence_ids(sentences, tokenizer, distance, remainder):
    """Join the words at positions with this remainder, with `[BOS]` before each sentence."""
    rows = sentences[:, remainder::distance]  # (rows, None)
    rows = tf.ragged.boolean_mask(rows, rows.row_lengths() > 0)
    begin = tf.fill([rows.nrows(), 1], tokenizer.start_token_id)
    return tf.concat([begin, rows], axis=1).flat_values.numpy()
