"""Several language models as one."""

import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import list_of_texts
from keras_seqzoo.models.common.mixtures import check_same_vocabulary, mixture_weights
from keras_seqzoo.models.language_model.base import LanguageModel

ITERATIONS = 1000
TOLERANCE = 1e-7


class InterpolatedLanguageModel(LanguageModel):
    """The weighted mean of several models' distributions.

        P(w | h) = Σ_m λ_m P_m(w | h)

    The models may be of any kind, such as an n-gram model and a recurrent one, which are good at
    different words; their vocabularies are the same.

    Args:
        models: list of `LanguageModel`s.
        weights: list of numbers of at least 0, one for each model, or `None` for equal ones. They
            are divided by their sum.

    Raises:
        ValueError: if there is no model, the vocabularies differ, or `weights` do not fit.

    Example:
    >>> from keras_seqzoo.models import NGramLanguageModel
    >>> texts = ["the cat sat", "the dog sat"]
    >>> models = [NGramLanguageModel.train(texts, order) for order in (1, 3)]
    >>> both = InterpolatedLanguageModel.tuned(models, ["the cat sat"])
    >>> both.perplexity(["the dog"]).events
    3
    """

    def __init__(self, models, weights=None):
        self.models = list(models)
        if not self.models:
            raise ValueError("`models` must have at least one model, got none.")
        for number, model in enumerate(self.models, 1):
            if not isinstance(model, LanguageModel):
                raise ValueError(f"`models` must be LanguageModels, number {number} is {model!r}.")
        self.tokenizer = self.models[0].tokenizer
        check_same_vocabulary([model.tokenizer for model in self.models])
        self.weights = mixture_weights(weights, len(self.models))

    @classmethod
    def tuned(cls, models, held_out, batch_size=64):
        """Finds the weights that make held-out text likeliest.

        By expectation maximisation: λ_m becomes the mean of λ_m P_m(w | h) / Σ_k λ_k P_k(w | h)
        over the events of the text, until nothing changes. The likelihood has one maximum.

        Args:
            models: list of `LanguageModel`s.
            held_out: list of strings, sentences that no model was trained on.
            batch_size: int, sentences scored at a time.

        Returns:
            The model.

        Raises:
            ValueError: if there is no text, or an event of it has no probability under any model.
        """
        mixed = cls(models)
        held_out = list_of_texts(held_out, "held_out")
        if not held_out:
            raise ValueError("`held_out` must have at least one sentence, got none.")
        scores = np.stack(
            [np.concatenate(model.token_scores(held_out, batch_size)) for model in mixed.models]
        ).astype(np.float64)  # (models, events)
        best = scores.max(axis=0)
        if np.isneginf(best).any():
            raise ValueError("`held_out` must have no event that is impossible in all `models`.")
        likelihoods = np.exp(scores - best)
        weights = np.full(len(mixed.models), 1.0 / len(mixed.models))
        for _ in range(ITERATIONS):
            joint = weights[:, np.newaxis] * likelihoods
            before, weights = weights, (joint / joint.sum(axis=0)).mean(axis=1)
            if np.abs(weights - before).max() <= TOLERANCE:
                break
        return cls(models, weights.tolist())

    def start(self, rows):
        """Give the state before the beginning of sentences; see `LanguageModel`."""
        return [model.start(rows) for model in self.models]

    def step(self, tokens, state):
        """Read one token a row and give the distribution of the next; see `LanguageModel`."""
        found, states = zip(
            *(model.step(tokens, own) for model, own in zip(self.models, state, strict=True)),
            strict=True,
        )
        return self._mix(found), list(states)

    def token_scores(self, texts, batch_size=64):
        """Compute log P of each token of sentences; see `LanguageModel`.

        Each model reads them as it does alone: one that remembers the sentences before, such as a
        `RunningText`, does so.
        """
        found = [model.token_scores(texts, batch_size) for model in self.models]
        if not found[0]:
            return []
        mixed = self._mix([np.concatenate(own) for own in found]).numpy()
        return np.split(mixed, np.cumsum([len(sentence) for sentence in found[0]])[:-1])

    def token_log_probabilities(self, token_ids, lengths):
        """Compute log P of each token after those before it; see `LanguageModel`."""
        found = [model.token_log_probabilities(token_ids, lengths) for model in self.models]
        valid = tf.sequence_mask(lengths, tf.shape(token_ids)[1])
        return tf.where(valid, self._mix(found), 0.0)

    def _mix(self, log_probabilities):
        used = [
            tf.cast(own, tf.float32) + np.float32(np.log(weight))
            for own, weight in zip(log_probabilities, self.weights, strict=True)
            if weight  # 0 times the probability 0 is no logarithm
        ]
        return tf.reduce_logsumexp(tf.stack(used), axis=0)
