"""Cache language model: recent tokens become more probable."""

import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_fraction, check_integer, check_number, list_of_texts
from keras_seqzoo.models.language_model.base import LanguageModel


class CacheLanguageModel(LanguageModel):
    """Mixture of a model with the distribution of recent tokens.

        P(w | h) = (1 - λ) P_model(w | h) + λ P_cache(w | h),
        P_cache(w | h) = Σ_{d=1}^{N} [w_{t-d} = w] e^{-α (d-1)} / Σ_{d=1}^{N} e^{-α (d-1)}

    over at most the last N tokens before w, including ends of sentences (Kuhn and De Mori 1990, A
    cache-based natural language model for speech recognition; with decay α, Clarkson and Robinson
    1997, Language model adaptation using mixtures and an exponentially decaying cache). The first
    token has only its probability in the model.

    `score` and `perplexity` read the sentences of a text in order and keep the cache from sentence
    to sentence. Generation starts with an empty cache.

    Args:
        model: a `LanguageModel`.
        weight: float, λ, from 0 to 1.
        size: int, N, at least 1.
        decay: float, α, at least 0.

    Raises:
        ValueError: if an argument is out of its range.

    Example:
    >>> from keras_seqzoo.models import NGramLanguageModel
    >>> model = NGramLanguageModel.train(["the cat sat", "the dog sat"], order=2)
    >>> cached = CacheLanguageModel(model, weight=0.2, size=100)
    >>> cached.perplexity(["the cat sat", "the cat sat"]).events
    8
    """

    remembers_sentences = True

    def __init__(self, model, weight=0.1, size=500, decay=0.0):
        if not isinstance(model, LanguageModel):
            raise ValueError(f"`model` must be a LanguageModel, got {model!r}.")
        self.model = model
        self.tokenizer = model.tokenizer
        self.weight = check_fraction("weight", weight)
        self.size = check_integer("size", size, minimum=1)
        self.decay = check_number("decay", decay, minimum=0.0)

    def token_scores(self, texts, batch_size=64):
        """Compute log P of each token of the sentences of a text; see `LanguageModel`."""
        texts = list_of_texts(texts)
        model_scores = self.model.token_scores(texts, batch_size)
        if not model_scores:
            return []
        ids = np.concatenate(self.sentence_ids(texts))
        cached, total = np.zeros(len(ids)), np.zeros(len(ids))
        for distance in range(1, min(self.size, len(ids) - 1) + 1):
            weight = np.exp(-self.decay * (distance - 1))
            cached[distance:] += weight * (ids[distance:] == ids[:-distance])
            total[distance:] += weight
        scores = np.concatenate(model_scores).astype(np.float64)
        with np.errstate(divide="ignore"):
            cached = np.log(cached[1:] / total[1:])
        mixed = mix_scores(scores[1:], cached, self.weight)
        mixed = np.concatenate([scores[:1], mixed]).astype(np.float32)
        return np.split(mixed, np.cumsum([len(sentence) for sentence in model_scores])[:-1])

    def start(self, rows):
        """Create the state before the beginning of sentences; see `LanguageModel`."""
        # (rows, N), the most recent token first, -1 for none
        return {"model": self.model.start(rows), "recent": tf.fill([rows, self.size], -1)}

    def step(self, tokens, state):
        """Read one token per row and compute the next distribution; see `LanguageModel`."""
        scores, model_state = self.model.step(tokens, state["model"])
        new = tf.where(tokens == self.tokenizer.start_token_id, -1, tokens)[:, tf.newaxis]
        recent = tf.where(new < 0, state["recent"], tf.concat([new, state["recent"]], 1)[:, :-1])
        weights = tf.exp(-self.decay * tf.range(self.size, dtype=tf.float32))
        weights = tf.where(recent >= 0, weights, 0.0)  # (rows, N)
        mixed = mix_with_recent(scores, recent, weights, self.weight)
        return mixed, {"model": model_state, "recent": recent}


def mix_scores(scores, cached, share):
    """Return log of the mixture of two probabilities, from arrays of log P, the second by share."""
    with np.errstate(divide="ignore"):
        return np.logaddexp(np.log1p(-share) + scores, np.log(share) + cached)


def mix_with_recent(scores, recent, weights, share):
    """Mix distributions with the distributions of recent tokens.

    Args:
        scores: log P of each token, float32 tensor `(rows, V)`.
        recent: int32 tensor `(rows, N)`, -1 for none.
        weights: float32 tensor `(rows, N)`, with any sum, 0 where there is no token.
        share: float, the share of the recent tokens. Rows without any keep their distribution.

    Returns:
        log P of the mixture, float32 `(rows, V)`.
    """
    rows = tf.range(tf.shape(recent)[0])[:, tf.newaxis] + tf.zeros_like(recent)
    indices = tf.stack([rows, tf.maximum(recent, 0)], axis=-1)
    cached = tf.scatter_nd(indices, weights, tf.shape(scores))
    total = tf.reduce_sum(weights, axis=-1, keepdims=True)
    cache_scores = tf.math.log(tf.math.divide_no_nan(cached, total) * share)
    model_scores = scores + tf.math.log1p(-share)
    mixed = tf.reduce_logsumexp(tf.stack([model_scores, cache_scores]), axis=0)
    return tf.where(total > 0, mixed, scores)
