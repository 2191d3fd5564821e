"""A language model that follows the topic of a text."""

import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_integer, check_number, check_positive, list_of_texts
from keras_seqzoo.data.batching.length_buckets import run_by_length
from keras_seqzoo.decoding import score_targets
from keras_seqzoo.models.common.mixtures import check_same_vocabulary
from keras_seqzoo.models.language_model.base import LanguageModel
from keras_seqzoo.models.language_model.topics import TopicModel


class TopicLanguageModel(LanguageModel):
    """Language model that makes words more probable if they fit the topic of the text so far.

        P(w | h) ∝ P_model(w | h) (P_topics(w | h) / P(w))^β,    P_topics(w | h) = Σ_k θ_k φ_k(w)

    where P(w) is the unigram distribution of the topics (unigram rescaling: Gildea and Hofmann
    1999, Topic-based language models using EM; with β, Kneser et al. 1997, Language model
    adaptation using dynamic marginals). The weights θ start as the mean weights of the topics.
    After the i-th word they move towards the topics that the word is likely to come from:

        θ_k ← θ_k + (γ_k - θ_k) / (min(i, N) + n),    γ_k = θ_k φ_k(w_i) / Σ_j θ_j φ_j(w_i).

    So words from more than about N + n words ago count less, because topics change within a text.
    The end of a sentence has no topic: its factor is 1, and θ does not change. `score` and
    `perplexity` read the sentences of a text in order and keep θ from sentence to sentence.
    Generation starts with the mean weights.

    Args:
        model: a `LanguageModel`, but not one that remembers the sentences before: a `RunningText`,
            a model with a cache or topics, or a mixture with one of them.
        topics: a `TopicModel` with the same vocabulary.
        exponent: float, β, at least 0.
        prior: float, n, above 0: how many words the mean weights count for.
        memory: int, N, at least 1.

    Raises:
        ValueError: if an argument is out of its range, or the vocabularies differ.

    Example:
    >>> from keras_seqzoo.models import NGramLanguageModel, TopicModel
    >>> texts = ["dog cat dog", "cat dog cat", "tree leaf tree", "leaf tree leaf"]
    >>> model = NGramLanguageModel.train(texts, order=1)
    >>> following = TopicLanguageModel(model, TopicModel.train(texts, model.tokenizer, topics=2))
    >>> following.perplexity(["dog cat dog"]).events
    4
    """

    remembers_sentences = True

    def __init__(self, model, topics, exponent=0.5, prior=10.0, memory=200):
        if not isinstance(model, LanguageModel):
            raise ValueError(f"`model` must be a LanguageModel, got {model!r}.")
        if model.remembers_sentences:
            raise ValueError(
                "`model` must be a LanguageModel of separate sentences, got "
                f"{type(model).__name__}."
            )
        if not isinstance(topics, TopicModel):
            raise ValueError(f"`topics` must be a TopicModel, got {topics!r}.")
        check_same_vocabulary([model.tokenizer, topics.tokenizer])
        self.model = model
        self.topics = topics
        self.tokenizer = model.tokenizer
        self.exponent = check_number("exponent", exponent, minimum=0.0)
        self.prior = check_positive("prior", prior)
        self.memory = check_integer("memory", memory, minimum=1)
        vocabulary = np.arange(self.tokenizer.vocabulary_size())
        exponents = np.where(vocabulary == self.tokenizer.end_token_id, 0.0, self.exponent)
        self._exponents = exponents.astype(np.float32)  # (V,)

    def token_scores(self, texts, batch_size=64):
        """Compute log P of each token of the sentences of a text; see `LanguageModel`."""
        sentences = self.sentence_ids(list_of_texts(texts))
        if not sentences:
            return []
        ids = np.concatenate(sentences)
        weights = np.split(self._weights(ids), np.cumsum(list(map(len, sentences)))[:-1])
        lengths = np.array(list(map(len, sentences)), np.int32)

        def score_rows(rows):
            longest = lengths[rows].max()
            targets = np.full((len(rows), longest), self.tokenizer.pad_token_id, np.int32)
            known = np.tile(self.topics.weights, (len(rows), longest, 1))  # also at padding
            for place, row in enumerate(rows):
                targets[place, : lengths[row]] = sentences[row]
                known[place, : lengths[row]] = weights[row]
            scores = self._score(targets, lengths[rows], known).numpy()
            return [own[: lengths[row]] for row, own in zip(rows, scores, strict=True)]

        return run_by_length(score_rows, lengths, batch_size)

    def start(self, rows):
        """Create the state before the beginning of sentences; see `LanguageModel`."""
        weights = tf.tile(tf.constant(self.topics.weights)[tf.newaxis], [rows, 1])  # (rows, K)
        read = tf.zeros([rows, 1], tf.float32)  # words
        return {"model": self.model.start(rows), "weights": weights, "read": read}

    def step(self, tokens, state):
        """Read one token per row and compute the next distribution; see `LanguageModel`."""
        weights, read = state["weights"], state["read"]
        joint = weights * tf.transpose(tf.gather(self.topics.words, tokens, axis=1))
        shares = joint / tf.reduce_sum(joint, axis=-1, keepdims=True)
        ends = (self.tokenizer.start_token_id, self.tokenizer.end_token_id)
        is_word = tf.reduce_all(tokens[:, tf.newaxis] != ends, axis=1, keepdims=True)  # (rows, 1)
        moved = weights + (shares - weights) / (tf.minimum(read + 1.0, self.memory) + self.prior)
        weights = tf.where(is_word, moved, weights)
        scores, model_state = self.model.step(tokens, state["model"])
        read += tf.cast(is_word, tf.float32)
        state = {"model": model_state, "weights": weights, "read": read}
        return self._rescaled(scores, weights), state

    def _weights(self, ids):
        """Return θ before each token of a text, float32 `(tokens, K)`."""
        weights = self.topics.weights.astype(np.float64)
        words = self.topics.words.T
        found = np.empty((len(ids), len(weights)), np.float32)
        read = 0  # words
        for place, word in enumerate(ids):
            found[place] = weights
            if word == self.tokenizer.end_token_id:
                continue
            read += 1
            joint = weights * words[word]
            rate = 1.0 / (min(read, self.memory) + self.prior)
            weights = weights + rate * (joint / joint.sum() - weights)
        return found

    def _score(self, targets, lengths, weights):
        """Compute log P of tokens `(B, L)` with given θ `(B, L, K)`."""

        def step(tokens, state):
            time, model_state, weights = state
            scores, model_state = self.model.step(tokens, model_state)
            own = tf.gather(weights, time, axis=1, batch_dims=1)  # (B, K)
            return self._rescaled(scores, own), (time + 1, model_state, weights)

        rows = len(targets)
        state = tf.zeros([rows], tf.int32), self.model.start(rows), tf.constant(weights)
        begin = tf.fill([rows], self.tokenizer.start_token_id)
        return score_targets(step, state, begin, targets, lengths)

    def _rescaled(self, scores, weights):
        """Return log P(w | h) from scores of the model `(rows, V)` and θ `(rows, K)`."""
        factors = tf.math.log(tf.matmul(weights, self.topics.words)) - np.log(self.topics.unigrams)
        return tf.nn.log_softmax(scores + self._exponents * factors)
