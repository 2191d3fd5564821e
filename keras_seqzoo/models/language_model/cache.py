"""What was written lately comes again: a cache on top of any language model."""

import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_integer, check_number, check_fraction, list_of_texts
from keras_seqzoo.models.language_model.base import LanguageModel


class CacheLanguageModel(LanguageModel):
    """Mixes a model with the tokens of the recent past.

        P(w | h) = (1 - λ) P_model(w | h) + λ P_cache(w | h),
        P_cache(w | h) = Σ_{d=1}^{N} [w_{t-d} = w] e^{-α (d-1)} / Σ_{d=1}^{N} e^{-α (d-1)}

    over the last N tokens before w, or as many as there are (Kuhn and De Mori 1990, A cache-based
    natural language model for speech recognition; with decay α, Clarkson and Robinson 1997,
    Language model adaptation using mixtures and an exponentially decaying cache). Ends of
    sentences are tokens too. Before the first token there is the model alone.

    The past is that of a text: `score` and `perplexity` take the sentences of a text in their
    order, and what was in one is in the cache of the next. A sentence that is generated begins with
    an empty cache.

    Args:
        model: a `LanguageModel`.
        weight: λ, a number from 0 to 1.
        size: int, N, at least 1.
        decay: α, a number of at least 0.

    Raises:
        ValueError: if an argument is out of its range.

    Example:
    >>> from keras_seqzoo.models import NGramLanguageModel
    >>> model = NGramLanguageModel.train(["the cat sat", "the dog sat"], order=2)
    >>> cached = CacheLanguageModel(model, weight=0.2, size=100)
    >>> cached.perplexity(["the cat sat", "the cat sat"]).events
    8
    """

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
        own = self.model.token_scores(texts, batch_size)
        if not own:
            return own
        ids = np.concatenate(self.sentence_ids(texts))
        cached, total = np.zeros(len(ids)), np.zeros(len(ids))
        for distance in range(1, min(self.size, len(ids) - 1) + 1):
            part = np.exp(-self.decay * (distance - 1))
            cached[distance:] += part * (ids[distance:] == ids[:-distance])
            total[distance:] += part
        scores = np.concatenate(own).astype(np.float64)
        with np.errstate(divide="ignore"):
            mixed = np.logaddexp(
                np.log1p(-self.weight) + scores[1:],
                np.log(self.weight) + np.log(cached[1:] / total[1:]),
            )
        mixed = np.concatenate([scores[:1], mixed]).astype(np.float32)
        return np.split(mixed, np.cumsum([len(sentence) for sentence in own])[:-1])

    def start(self, rows):
        """Give the state before the beginning of sentences; see `LanguageModel`."""
        # The last token is the first; -1 is none.
        return {"model": self.model.start(rows), "recent": tf.fill([rows, self.size], -1)}

    def step(self, tokens, state):
        """Read one token a row and give the distribution of the next; see `LanguageModel`."""
        scores, inner = self.model.step(tokens, state["model"])
        new = tf.where(tokens == self.tokenizer.start_token_id, -1, tokens)[:, tf.newaxis]
        recent = tf.where(new < 0, state["recent"], tf.concat([new, state["recent"]], 1)[:, :-1])
        parts = tf.exp(-self.decay * tf.range(self.size, dtype=tf.float32))
        parts = tf.where(recent >= 0, parts, 0.0)  # (rows, N)
        rows = tf.range(tf.shape(recent)[0])[:, tf.newaxis] + tf.zeros_like(recent)
        places = tf.stack([rows, tf.maximum(recent, 0)], axis=-1)
        cached = tf.scatter_nd(places, parts, tf.shape(scores))
        total = tf.reduce_sum(parts, axis=-1, keepdims=True)
        mixed = tf.reduce_logsumexp(
            tf.stack(
                [
                    scores + tf.math.log1p(-self.weight),
                    tf.math.log(tf.math.divide_no_nan(cached, total) * self.weight),
                ]
            ),
            axis=0,
        )
        return tf.where(total > 0, mixed, scores), {"model": inner, "recent": recent}
