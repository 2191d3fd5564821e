"""Topics of texts: distributions of words, learned by expectation maximization."""

import numpy as np

from keras_seqzoo.checks import check_integer
from keras_seqzoo.models.language_model.base import check_stream, tokenize_texts
from keras_seqzoo.tokenizers.training_texts import text_batches

SMOOTHING = 0.01  # of a count, added to each word of each topic
ROWS = 2**16  # distinct words of texts to process at a time


class TopicModel:
    """Mixture of K topics in which each text has its own weights.

        P(w | text) = Σ_k θ_k(text) φ_k(w)

    (Hofmann 1999, Probabilistic latent semantic analysis). `train` finds φ and the weights θ of
    each text with expectation maximization. With γ_k(w, text) = θ_k φ_k(w) / Σ_j θ_j φ_j(w),

        θ_k(text) ∝ Σ_w c(w, text) γ_k(w, text),    φ_k(w) ∝ 0.01 + Σ_text c(w, text) γ_k(w, text).

    The end of a text is not a word and is not counted.

    Args:
        words: floats `(K, V)`, φ, above 0; each row sums to 1.
        weights: floats `(K,)`, the mean weights of the topics, which sum to 1.
        tokenizer: `TextTokenizer` with V tokens.

    Raises:
        ValueError: if the shapes do not match, or a number is not above 0.
    """

    def __init__(self, words, weights, tokenizer):
        self.words = np.asarray(words, np.float32)
        self.weights = np.asarray(weights, np.float32)
        self.tokenizer = tokenizer
        expected = (*self.weights.shape, tokenizer.vocabulary_size())
        if self.words.ndim != 2 or self.words.shape != expected:
            raise ValueError(
                f"`words` must have the shape (topics, vocabulary), {expected}, got "
                f"{self.words.shape}."
            )
        if not np.all((self.words > 0) & (self.words < np.inf)):
            raise ValueError("`words` must be finite numbers above 0, got others.")

    @classmethod
    def train(cls, texts, tokenizer, topics=20, iterations=50, seed=0):
        """Learn topics from texts.

        Args:
            texts: iterable of strings. Each text is about something: a document or a paragraph.
            tokenizer: `TextTokenizer`.
            topics: int, K.
            iterations: int, the iterations of expectation maximization.
            seed: int, the seed of the initial topics.

        Returns:
            A `TopicModel`.

        Raises:
            ValueError: if there is no word, or an argument is out of its range.

        Example:
        >>> from keras_seqzoo.tokenizers import WordTokenizer
        >>> texts = ["dog cat dog", "cat dog", "tree leaf", "leaf tree leaf"]
        >>> topics = TopicModel.train(texts, WordTokenizer.train(texts), topics=2)
        >>> topics.words.shape
        (2, 9)
        """
        check_integer("topics", topics, minimum=1)
        check_integer("iterations", iterations, minimum=1)
        documents, words, counts = _count(check_stream(texts), tokenizer)
        size = tokenizer.vocabulary_size()
        generator = np.random.default_rng(seed)
        unigrams = np.bincount(words, counts, minlength=size) + SMOOTHING
        phi = _normalized(unigrams * generator.uniform(0.5, 1.5, (topics, size)))
        theta = np.full((documents[-1] + 1, topics), 1.0 / topics)
        for _ in range(iterations):
            new_theta, new_phi = np.zeros_like(theta), np.full_like(phi, SMOOTHING)
            for first in range(0, len(words), ROWS):
                rows = slice(first, first + ROWS)
                here, seen = documents[rows], words[rows]
                joint = theta[here] * phi[:, seen].T  # (rows, K)
                shares = joint * (counts[rows] / joint.sum(axis=1))[:, np.newaxis]
                for topic in range(topics):
                    new_theta[:, topic] += np.bincount(here, shares[:, topic], len(theta))
                    new_phi[topic] += np.bincount(seen, shares[:, topic], size)
            theta, phi = _normalized(new_theta), _normalized(new_phi)
        weights = np.bincount(documents, counts) @ theta
        return cls(phi, weights / weights.sum(), tokenizer)

    @property
    def unigrams(self):
        """P(w) of a text with the mean weights, float32 `(V,)`."""
        return self.weights @ self.words

    def frequent_words(self, number=10):
        """Return the most probable words of each topic, a list of lists of strings."""
        vocabulary = self.tokenizer.get_vocabulary()
        order = np.argsort(-self.words, axis=1, kind="stable")[:, :number]
        return [[vocabulary[word] for word in row] for row in order]


def _count(texts, tokenizer):
    """Return the text number, the word and the count of each distinct word of each text."""
    size, first, keys = tokenizer.vocabulary_size(), 0, []
    for batch in text_batches(texts):
        ids = tokenize_texts(tokenizer, batch)
        rows = ids.value_rowids().numpy() + first
        keys.append(rows * size + ids.flat_values.numpy())
        first += len(batch)
    keys, counts = np.unique(np.concatenate(keys), return_counts=True)
    if not len(keys):
        raise ValueError("`texts` must have at least one word, got none.")
    _, documents = np.unique(keys // size, return_inverse=True)  # leaves out texts without a word
    return documents, keys % size, counts


def _normalized(values):
    return values / values.sum(axis=1, keepdims=True)
