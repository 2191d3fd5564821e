"""Output layers trained on the label and randomly sampled tokens."""

import math

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.layers.large_softmax.base import LargeSoftmax


class SamplingOutput(LargeSoftmax):
    """Output layer that samples tokens in training.

    The score of token w is s(w) = e_w·h + b_w. In training, one set of `samples` tokens is drawn
    for the whole batch, with replacement, from a proposal distribution q.

    Args:
        vocabulary_size: int, V.
        samples: int, the number of sampled tokens.
        proposals: float array `(V,)` of positive numbers, proportional to q, such as the counts of
            the tokens plus one; or `None` for q(w) = log((w + 2) / (w + 1)) / log(V + 1), which is
            close to word frequencies if ids are sorted by frequency.
        seed: int or `None`, the seed of the samples.
        **kwargs: arguments of `keras.layers.Layer`.

    Raises:
        ValueError: if an argument is out of range.
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
            if (
                proposals.shape != (self.vocabulary_size,)
                or not (np.isfinite(proposals) & (proposals > 0)).all()
            ):
                raise ValueError(
                    f"`proposals` must be {self.vocabulary_size} finite numbers above 0, got an "
                    f"array of shape {proposals.shape} from {proposals.min(initial=math.inf):g} "
                    f"to {proposals.max(initial=-math.inf):g}."
                )
            self.proposals = proposals
            log_proposals = np.log(proposals / proposals.sum())
        self._log_proposals = log_proposals.astype(np.float32)

    def build(self, hidden_shape):
        """Create the matrix and the bias of the tokens."""
        self.kernel = self.add_rows(self.vocabulary_size, hidden_shape[-1], "kernel")
        self.bias = self.add_weight(
            shape=(self.vocabulary_size,),
            initializer=keras.initializers.Constant(self.initial_bias()),
            dtype="float32",
            autocast=False,
            name="bias",
        )

    def initial_bias(self):
        """Return the initial value of all biases."""
        return 0.0

    def draw(self):
        """Draw the tokens of a batch: int32 `(samples,)`."""
        if self.proposals is not None:
            logits = tf.constant(self._log_proposals)[tf.newaxis]
            drawn = keras.random.categorical(logits, self.samples, seed=self.seed_generator)
            return tf.cast(drawn[0], tf.int32)
        # The inverse of the cumulative distribution, log(w + 2) / log(V + 1) up to w.
        uniform = keras.random.uniform([self.samples], seed=self.seed_generator)
        drawn = tf.exp(uniform * math.log(self.vocabulary_size + 1)) - 1.0
        return tf.minimum(tf.cast(drawn, tf.int32), self.vocabulary_size - 1)

    def score_labels(self, hidden, labels):
        """Compute the scores of the labels, `(tokens,)`, from `(tokens, features)`."""
        rows = self.to_compute_dtype(tf.gather(self.kernel, labels))
        products = tf.cast(rows * self.to_compute_dtype(hidden), tf.float32)
        return tf.reduce_sum(products, axis=-1) + tf.gather(self.bias, labels)

    def score_samples(self, hidden, drawn):
        """Compute the scores of the drawn tokens, `(tokens, samples)`."""
        return self._score(hidden, tf.gather(self.kernel, drawn), tf.gather(self.bias, drawn))

    def score_all(self, hidden):
        """Compute the scores of all tokens, `(tokens, V)`."""
        return self._score(hidden, self.kernel, self.bias)

    def _score(self, hidden, kernel, bias):
        hidden, kernel = self.to_compute_dtype(hidden), self.to_compute_dtype(kernel)
        scores = tf.cast(tf.matmul(hidden, kernel, transpose_b=True), tf.float32)
        return scores + tf.convert_to_tensor(bias)

    def log_expected_count(self, tokens):
        """Return the logarithm of the expected count of tokens among the samples."""
        return tf.gather(self._log_proposals, tokens) + math.log(self.samples)

    def corrected_scores(self, hidden, labels):
        """Draw samples and compute s(v) - log(k q(v)) of the labels and the samples."""
        drawn = self.draw()
        label_scores = self.score_labels(hidden, labels) - self.log_expected_count(labels)
        sample_scores = self.score_samples(hidden, drawn) - self.log_expected_count(drawn)
        return label_scores, sample_scores

    def log_probabilities(self, hidden):
        """Compute the softmax over all tokens."""
        return tf.nn.log_softmax(self.score_all(hidden))

    def get_config(self):
        """Return the constructor arguments."""
        return {
            **super().get_config(),
            "samples": self.samples,
            "proposals": None if self.proposals is None else self.proposals.tolist(),
            "seed": self.seed,
        }


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class SampledSoftmax(SamplingOutput):
    """Softmax over the label and sampled tokens.

        ℓ(w | h) = -s'(w) + log( e^{s'(w)} + Σ_{v ∈ S} e^{s'(v)} ),    s'(v) = s(v) - log(k q(v))

    (Bengio and Senécal 2008, Adaptive importance sampling to accelerate training of a neural
    probabilistic language model; Jean et al. 2015, On using very large target vocabulary for neural
    machine translation). The k samples are drawn with replacement and may contain the label. So the
    optimum is s(w) = log P(w | h), up to a constant for each h, with any number of samples: e^{s'}
    is then proportional to the probability that a token is the one of these k + 1 that was not
    drawn. Evaluation uses the softmax over all tokens. For the arguments see `SamplingOutput`.

    Example:
    >>> layer = SampledSoftmax(1000, samples=20)
    >>> layer(keras.ops.ones((2, 8))).shape
    TensorShape([2, 1000])
    >>> layer.training_losses(keras.ops.ones((2, 8)), tf.constant([3, 4])).shape
    TensorShape([2])
    """

    def training_losses(self, hidden, labels):
        """Compute the losses with newly drawn samples; see `LargeSoftmax`."""
        label_scores, sample_scores = self.corrected_scores(hidden, labels)
        scores = tf.concat([label_scores[:, tf.newaxis], sample_scores], axis=1)
        return tf.reduce_logsumexp(scores, axis=1) - label_scores


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class NoiseContrastiveEstimation(SamplingOutput):
    """Noise-contrastive estimation: binary classification of the label against noise.

        ℓ(w | h) = -log σ(Δ(w)) - Σ_{v ∈ S} log(1 - σ(Δ(v))),    Δ(v) = s(v) - log(k q(v))

    (Gutmann and Hyvärinen 2010; for language models Mnih and Teh 2012, A fast and simple algorithm
    for training neural probabilistic language models). At the optimum the score s is a log
    probability, without a sum over the vocabulary. Evaluation still normalizes, unless
    `self_normalized` is set: it then takes the scores of given tokens as log probabilities, which
    is fast but only approximately normalized. For the other arguments see `SamplingOutput`.

    Args:
        self_normalized: bool, whether `label_log_probabilities` returns s.

    Example:
    >>> layer = NoiseContrastiveEstimation(1000, samples=20)
    >>> round(float(keras.ops.exp(layer(keras.ops.ones((1, 8)))).numpy().sum()), 4)
    1.0
    """

    def __init__(self, vocabulary_size, samples=1024, self_normalized=False, **kwargs):
        super().__init__(vocabulary_size, samples, **kwargs)
        self.self_normalized = self_normalized

    def initial_bias(self):
        """Return the initial value of all biases, which nearly normalizes the scores."""
        return -math.log(self.vocabulary_size)

    def training_losses(self, hidden, labels):
        """Compute the losses with newly drawn noise; see `LargeSoftmax`."""
        label_scores, noise_scores = self.corrected_scores(hidden, labels)
        return tf.nn.softplus(-label_scores) + tf.reduce_sum(tf.nn.softplus(noise_scores), axis=1)

    def label_log_probabilities(self, hidden, labels):
        """Compute log P of the given tokens, or their scores; see `LargeSoftmax`."""
        if self.self_normalized:
            return self.score_labels(hidden, labels)
        return super().label_log_probabilities(hidden, labels)

    def get_config(self):
        """Return the constructor arguments."""
        return {**super().get_config(), "self_normalized": self.self_normalized}


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class NegativeSampling(SamplingOutput):
    """Negative sampling, the loss of word2vec.

        ℓ(w | h) = -log σ(s(w)) - Σ_{v ∈ S} log σ(-s(v))

    (Mikolov et al. 2013, Distributed representations of words and phrases and their
    compositionality, equation 4). The scores do not estimate a distribution: the optimum is
    s(w) = log P(w | h) - log(k q(w)), which yields good vectors. Evaluation uses the softmax of
    s(w) + log(k q(w)), the distribution at that optimum. Mikolov et al. draw from
    `counts ** 0.75`. For the arguments see `SamplingOutput`.

    Example:
    >>> layer = NegativeSampling(1000, samples=5, proposals=np.arange(1000, 0, -1) ** 0.75)
    >>> layer.build((None, 8))
    >>> layer.training_losses(keras.ops.ones((2, 8)), tf.constant([3, 4])).shape
    TensorShape([2])
    """

    def training_losses(self, hidden, labels):
        """Compute the losses with newly drawn samples; see `LargeSoftmax`."""
        label_scores = self.score_labels(hidden, labels)
        sample_scores = self.score_samples(hidden, self.draw())
        return tf.nn.softplus(-label_scores) + tf.reduce_sum(tf.nn.softplus(sample_scores), axis=1)

    def log_probabilities(self, hidden):
        """Compute the softmax of the corrected scores."""
        correction = self.log_expected_count(tf.range(self.vocabulary_size))
        return tf.nn.log_softmax(self.score_all(hidden) + correction)
