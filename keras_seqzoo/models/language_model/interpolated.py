"""Linear interpolation of language models."""

import numpy as np
import tensorflow as tf

from keras_seqzoo.models.common.mixtures import check_same_vocabulary, mixture_weights
from keras_seqzoo.models.language_model.base import LanguageModel, check_texts

ITERATIONS = 1000
TOLERANCE = 1e-7


class InterpolatedLanguageModel(LanguageModel):
    """Weighted mean of the distributions of several models.

        P(w | h) = Σ_m λ_m P_m(w | h)

    The models may be of different kinds, such as an n-gram and a recurrent model, with the same
    vocabulary.

    Args:
        models: list of `LanguageModel`s.
        weights: list of numbers of at least 0, one for each model, or `None` for equal weights.
            They are divided by their sum.

    Raises:
        ValueError: if there is no model, the vocabularies differ, or `weights` are invalid.

    Example:
    >>> from keras_seqzoo.models import NGramLanguageModel
    >>> texts = ["the cat sat", "the dog sat"]
    >>> models = [NGramLanguageModel.train(texts, order) for order in (1, 3)]
    >>> mixture = InterpolatedLanguageModel.tuned(models, ["the cat sat"])
    >>> mixture.perplexity(["the dog"]).events
    3
    """

    def __init__(self, models, weights=None):
        self.models = list(models)
        if not self.models:
            raise ValueError("`models` must have at least one model, got none.")
        for number, model in enumerate(self.models, 1):
            if not isinstance(model, LanguageModel):
                raise ValueError(
                    f"`models` must be LanguageModels, got {model!r} as number {number}."
                )
        self.tokenizer = self.models[0].tokenizer
        check_same_vocabulary([model.tokenizer for model in self.models])
        self.weights = mixture_weights(weights, len(self.models))
        self.remembers_sentences = any(model.remembers_sentences for model in self.models)

    @classmethod
    def tuned(cls, models, held_out, batch_size=64):
        """Find the weights that maximize the likelihood of held-out text.

        Expectation maximization sets λ_m to the mean of λ_m P_m(w | h) / Σ_k λ_k P_k(w | h) over
        the tokens of the text, until convergence. The likelihood has one maximum.

        Args:
            models: list of `LanguageModel`s.
            held_out: list of strings, sentences that no model was trained on.
            batch_size: int, the number of sentences to score at a time.

        Returns:
            An `InterpolatedLanguageModel`.

        Raises:
            ValueError: if there is no text, or a token has probability 0 in all models.
        """
        mixture = cls(models)
        held_out = check_texts(held_out, "held_out")
        scores = np.stack(
            [np.concatenate(model.token_scores(held_out, batch_size)) for model in mixture.models]
        ).astype(np.float64)  # (models, events)
        best = scores.max(axis=0)
        if np.isneginf(best).any():
            raise ValueError(
                "`held_out` must have tokens that are possible in one of `models`, got others."
            )
        likelihoods = np.exp(scores - best)
        weights = np.full(len(mixture.models), 1.0 / len(mixture.models))
        for _ in range(ITERATIONS):
            joint = weights[:, np.newaxis] * likelihoods
            previous, weights = weights, (joint / joint.sum(axis=0)).mean(axis=1)
            if np.abs(weights - previous).max() <= TOLERANCE:
                break
        return cls(models, weights.tolist())

    def start(self, rows):
        """Create the state before the beginning of sentences; see `LanguageModel`."""
        return [model.start(rows) for model in self.models]

    def step(self, tokens, state):
        """Read one token per row and compute the next distribution; see `LanguageModel`."""
        steps = [model.step(tokens, own) for model, own in zip(self.models, state, strict=True)]
        scores, states = zip(*steps, strict=True)
        return self._mix(scores), list(states)

    def token_scores(self, texts, batch_size=64):
        """Compute log P of each token of sentences; see `LanguageModel`.

        Each model scores the texts with its own method; a `RunningText` keeps its state from
        sentence to sentence.
        """
        scores = [model.token_scores(texts, batch_size) for model in self.models]
        if not scores[0]:
            return []
        mixed = self._mix([np.concatenate(model_scores) for model_scores in scores]).numpy()
        return np.split(mixed, np.cumsum([len(sentence) for sentence in scores[0]])[:-1])

    def token_log_probabilities(self, token_ids, lengths):
        """Compute log P of each token given the tokens before it; see `LanguageModel`."""
        scores = [model.token_log_probabilities(token_ids, lengths) for model in self.models]
        valid = tf.sequence_mask(lengths, tf.shape(token_ids)[1])
        return tf.where(valid, self._mix(scores), 0.0)

    def _mix(self, scores):
        weighted = [
            tf.cast(log_probabilities, tf.float32) + np.float32(np.log(weight))
            for log_probabilities, weight in zip(scores, self.weights, strict=True)
            if weight  # avoids log 0
        ]
        return tf.reduce_logsumexp(tf.stack(weighted), axis=0)
