"""Signatures of language models."""

import tensorflow as tf

from keras_seqzoo.decoding import Sampling
from keras_seqzoo.models.language_model.base import LanguageModel, tokenize_texts
from keras_seqzoo.serving.family import (
    MAX_INPUT_LENGTH,
    TRUNCATED,
    FamilySignatures,
    Signature,
    check_constraints,
    check_strategy,
    cut,
    text_input,
)
from keras_seqzoo.tokenizers.packing import pad_with_mask

MAX_LENGTH = 64


class LanguageModelSignatures(FamilySignatures):
    """Signatures of a language model: `serving_default` and `score`.

    Sentences are scored independently. If a model remembers earlier ones, such as a `RunningText`,
    its inner model is served.

    Args:
        model: a `LanguageModel`: n-gram, log-linear, feed-forward or recurrent, or a mixture.
        strategy: a `DecodingStrategy`; by default one sample.
        n_best: int, the number of sentences for each beginning; by default the maximum of the
            strategy, the width of a beam or the number of samples.
        max_length: int, the maximum number of tokens of a sentence, including its beginning and
            its end; by default 64.
        max_input_length: int, the number of tokens to which a text is cut, not counting the end; by
            default 256. A beginning is also cut to `max_length`.
    """

    model_class = LanguageModel
    kind = "a language model"
    options = ("strategy", "n_best", "max_length", "max_input_length")

    def __init__(self, model, strategy=None, n_best=None, max_length=None, max_input_length=None):
        super().__init__(model)
        self.strategy = strategy = check_strategy(strategy, Sampling())
        self._n_best = self.set_limit("n_best", n_best, strategy.max_hypotheses)
        self._strategy = strategy.with_n_best(self._n_best)
        self._max_length = self.set_limit("max_length", max_length, MAX_LENGTH)
        self._max_input_length = self.set_limit(
            "max_input_length", max_input_length, MAX_INPUT_LENGTH
        )
        check_constraints(strategy, self._max_length)
        self.resources = [model.tokenizer]

    def signatures(self):
        """Return the signatures; see the base class."""
        generated = {
            "generated": "the whole sentences, best first",
            "scores": "their scores",
            "truncated": f"{TRUNCATED}, or longer than `max_length`",
        }
        scored = {
            "log_probability": (
                "the natural logarithm of the probability of the tokens that were read, with the "
                "end if nothing was cut"
            ),
            "tokens": "the number of these tokens, with the end if nothing was cut",
            "truncated": TRUNCATED,
        }
        return {
            "serving_default": Signature(
                self.generate, text_input("beginnings of sentences"), generated
            ),
            "score": Signature(self.score, text_input("sentences"), scored),
        }

    def generate(self, text):
        """Return continuations of strings `(batch,)`."""
        tokenizer = self.model.tokenizer
        limit = min(self._max_input_length, self._max_length)
        ids, truncated = cut(tokenize_texts(tokenizer, text), limit)
        hypotheses = self.model.search(ids, self._strategy, self._max_length)
        tokens = hypotheses.tokens[:, : self._n_best]
        texts = tokenizer.detokenize(tf.reshape(tokens, [-1, self._max_length]))
        return {
            "generated": tf.reshape(texts, [-1, self._n_best]),
            "scores": hypotheses.scores[:, : self._n_best],
            "truncated": truncated,
        }

    def score(self, text):
        """Return the log probabilities of strings `(batch,)`."""
        tokenizer = self.model.tokenizer
        ids, truncated = cut(tokenize_texts(tokenizer, text), self._max_input_length)
        ends = tf.cast(~truncated, tf.int64)
        end = tf.fill([tf.reduce_sum(ends)], tokenizer.end_token_id)
        ids = tf.concat([ids, tf.RaggedTensor.from_row_lengths(end, ends)], axis=1)
        lengths = tf.cast(ids.row_lengths(), tf.int32)
        ids, _ = pad_with_mask(ids, tokenizer.pad_token_id)
        log_probabilities = self.model.token_log_probabilities(ids, lengths)
        return {
            "log_probability": tf.reduce_sum(log_probabilities, axis=1),
            "tokens": lengths,
            "truncated": truncated,
        }
