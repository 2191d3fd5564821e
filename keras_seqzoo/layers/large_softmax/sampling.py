"""Output layers whose training compares the right token with some random ones."""

import math

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.layers.large_softmax.base import LargeSoftmax


class SamplingOutput(LargeSoftmax):
    """Base of the layers that draw tokens: a score for each token, and where samples come from.

    The score of token w is s(w) = e_w·h + b_w. In training, `samples` tokens are drawn for all
    tokens of a batch together, with replacement, from a proposal distribution q.

    Args:
        vocabulary_size: int, V.
        samples: int, how many tokens are drawn.
        proposals: float array `(V,)` of numbers above 0, in proportion to q, such as one more than
            the counts of the tokens; or `None` for q(w) = log((w + 2) / (w + 1)) / log(V + 1),
            which is near to the frequencies of words where ids go from the most frequent token to
            the rarest.
        seed: int or `None`, the seed of the samples.
        **kwargs: arguments of `keras.layers.Layer`.

    Raises:
        ValueError: if a number is out of its range, or `proposals` has another shape, a number
            that is not above 0.
    """

    def __init__(self, vocabulary_size, samples=1024, proposals=None, seed=None, **kwargs):
        super().__init__(vocabulary_size, **kwargs)
        self.samples = check_integer("samples", samples, minimum=1)
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)
        self.proposals = None
        if proposals is None:
            ids = np.arange(self.vocabulary_size)
            log_proposals = np.log(np.log1p(1.0 / (ids + 1.0)) / math.log(self.vocabulary_size + 1))
        else:
            proposals = np.asarray(proposals, np.float64)
            fits = proposals.shape == (self.vocabulary_size,)
            if not fits or not (proposals > 0).all():
                raise ValueError(
                    f"`proposals` must be {self.vocabulary_size} numbers above 0, "
                    f"got an array of shape {proposals.shape} from {proposals.min():g} on."
                )
            self.proposals = proposals
            log_proposals = np.log(proposals / proposals.sum())
        self._log_proposals = log_proposals.astype(np.float32)

    def build(self, hidden_shape):
        """Make the matrix of the tokens and their bias."""
        self.kernel = self.add_rows(self.vocabulary_size, hidden_shape[-1], "kernel")
        self.bias = self.add_weight(
            shape=(self.vocabulary_size,),
            initializer=keras.initializers.Constant(self.first_bias()),
            autocast=False,
            name="bias",
        )

    def first_bias(self):
        """Give the number that all biases begin with."""
        return 0.0

    def draw(self):
        """Draw the tokens of a batch: int32 `(samples,)`."""
        if self.proposals is not None:
            logits = tf.constant(self._log_proposals)[tf.newaxis]
            drawn = keras.random.categorical(logits, self.samples, seed=self.seed_generator)
            return tf.cast(drawn[0], tf.int32)
        # The inverse of the distribution function, log(w + 2) / log(V + 1) up to w.
        uniform = keras.random.uniform([self.samples], seed=self.seed_generator)
        drawn = tf.exp(uniform * math.log(self.vocabulary_size + 1)) - 1.0
        return tf.minimum(tf.cast(drawn, tf.int32), self.vocabulary_size - 1)

    def score_labels(self, hidden, labels):
        """Compute the score of one token for each of `(tokens, features)`: `(tokens,)`."""
        rows = self.ready(tf.gather(self.kernel, labels))
        scores = tf.reduce_sum(tf.cast(rows * self.ready(hidden), tf.float32), axis=-1)
        return scores + tf.gather(self.bias, labels)

    def score_samples(self, hidden, drawn):
        """Compute the scores of the drawn tokens: `(tokens, samples)`."""
        rows = self.ready(tf.gather(self.kernel, drawn))
        scores = tf.matmul(self.ready(hidden), rows, transpose_b=True)
        return tf.cast(scores, tf.float32) + tf.gather(self.bias, drawn)

    def log_expected(self, tokens):
        """Give the logarithm of how often tokens are expected among the samples."""
        return tf.gather(self._log_proposals, tokens) + math.log(self.samples)

    def score_all(self, hidden):
        """Compute the scores of all tokens: float32 `(tokens, V)`."""
        scores = tf.matmul(self.ready(hidden), self.ready(self.kernel), transpose_b=True)
        return tf.cast(scores, tf.float32) + tf.convert_to_tensor(self.bias)

    def log_probabilities(self, hidden):
        """Compute the softmax over all tokens."""
        return tf.nn.log_softmax(self.score_all(hidden))

    def get_config(self):
        """Give the constructor arguments."""
        return {
            **super().get_config(),
            "samples": self.samples,
            "proposals": None if self.proposals is None else self.proposals.tolist(),
            "seed": self.seed,
        }


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class SampledSoftmax(SamplingOutput):
    """A softmax over the right token and a sample of the others.

        ℓ(w | h) = -s'(w) + log( e^{s'(w)} + Σ_{v ∈ S} e^{s'(v)} ),    s'(v) = s(v) - log(k q(v))

    (Bengio and Senécal 2008, Adaptive importance sampling to accelerate training of a neural
    probabilistic language model; Jean et al. 2015, On using very large target vocabulary for neural
    machine translation). The k samples are drawn with replacement, and where one of them is the
    right token it stays. So s(w) = log P(w | h), up to a number for each h, is the optimum with any
    number of samples: e^{s'} is then in proportion to the chance that a token, among these k + 1,
    is the one that was not drawn. Evaluation uses the softmax over all tokens. See
    `SamplingOutput` for the arguments.

    Example:
    >>> layer = SampledSoftmax(1000, samples=20)
    >>> layer(keras.ops.ones((2, 8))).shape
    TensorShape([2, 1000])
    >>> layer.training_losses(keras.ops.ones((2, 8)), tf.constant([3, 4])).shape
    TensorShape([2])
    """

    def training_losses(self, hidden, labels):
        """Compute the losses with tokens drawn now; see `LargeSoftmax`."""
        drawn = self.draw()
        right = self.score_labels(hidden, labels) - self.log_expected(labels)
        others = self.score_samples(hidden, drawn) - self.log_expected(drawn)
        scores = tf.concat([right[:, tf.newaxis], others], axis=1)
        return tf.reduce_logsumexp(scores, axis=1) - right


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class NoiseContrastiveEstimation(SamplingOutput):
    """Learns to tell the right token from noise.

        ℓ(w | h) = -log σ(Δ(w)) - Σ_{v ∈ S} log(1 - σ(Δ(v))),    Δ(v) = s(v) - log(k q(v))

    (Gutmann and Hyvärinen 2010; for language models Mnih and Teh 2012, A fast and simple algorithm
    for training neural probabilistic language models). Its optimum is a score s that is a log
    probability by itself, without a sum over the vocabulary. Evaluation normalises nonetheless,
    unless `self_normalized` takes the scores of given tokens as they are: fast, and a probability
    only as far as training has made it one. See `SamplingOutput` for the other arguments.

    Args:
        self_normalized: bool, whether `label_log_probabilities` gives s.

    Example:
    >>> layer = NoiseContrastiveEstimation(1000, samples=20)
    >>> round(float(keras.ops.exp(layer(keras.ops.ones((1, 8)))).numpy().sum()), 4)
    1.0
    """

    def __init__(self, vocabulary_size, samples=1024, self_normalized=False, **kwargs):
        super().__init__(vocabulary_size, samples, **kwargs)
        self.self_normalized = self_normalized

    def first_bias(self):
        """Give the number that all biases begin with: then scores are nearly normalised."""
        return -math.log(self.vocabulary_size)

    def training_losses(self, hidden, labels):
        """Compute the losses with noise drawn now; see `LargeSoftmax`."""
        drawn = self.draw()
        right = self.score_labels(hidden, labels) - self.log_expected(labels)
        noise = self.score_samples(hidden, drawn) - self.log_expected(drawn)
        return tf.nn.softplus(-right) + tf.reduce_sum(tf.nn.softplus(noise), axis=1)

    def label_log_probabilities(self, hidden, labels):
        """Compute log P of the given tokens, or their scores; see `LargeSoftmax`."""
        if self.self_normalized:
            return self.score_labels(hidden, labels)
        return super().label_log_probabilities(hidden, labels)

    def get_config(self):
        """Give the constructor arguments."""
        return {**super().get_config(), "self_normalized": self.self_normalized}


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class NegativeSampling(SamplingOutput):
    """Tells the right token from random ones, as word2vec does.

        ℓ(w | h) = -log σ(s(w)) - Σ_{v ∈ S} log σ(-s(v))

    (Mikolov et al. 2013, Distributed representations of words and phrases and their
    compositionality, equation 4). It is no estimate of a distribution: its optimum is
    s(w) = log P(w | h) - log(k q(w)), which makes good vectors. For evaluation the softmax of
    s(w) + log(k q(w)) is taken, the distribution that belongs to that optimum. Mikolov et al. draw
    from `counts ** 0.75`. See `SamplingOutput` for the arguments.

    Example:
    >>> layer = NegativeSampling(1000, samples=5, proposals=np.arange(1000, 0, -1) ** 0.75)
    >>> layer.build((None, 8))
    >>> layer.training_losses(keras.ops.ones((2, 8)), tf.constant([3, 4])).shape
    TensorShape([2])
    """

    def training_losses(self, hidden, labels):
        """Compute the losses with tokens drawn now; see `LargeSoftmax`."""
        right = self.score_labels(hidden, labels)
        others = self.score_samples(hidden, self.draw())
        return tf.nn.softplus(-right) + tf.reduce_sum(tf.nn.softplus(others), axis=1)

    def log_probabilities(self, hidden):
        """Compute the softmax of the corrected scores."""
        correction = self.log_expected(tf.range(self.vocabulary_size))
        return tf.nn.log_softmax(self.score_all(hidden) + correction)
