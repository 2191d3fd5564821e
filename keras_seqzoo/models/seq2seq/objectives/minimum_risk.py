"""Minimum risk training: the expected error of translations instead of the likelihood."""

from typing import NamedTuple

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_positive
from keras_seqzoo.decoding.rows import split_rows
from keras_seqzoo.models.common.next_token_training import sentence_log_probabilities
from keras_seqzoo.models.seq2seq.objectives.sampled_translations import (
    SampledTranslations,
    features_of,
    join,
    with_gradient,
)
from keras_seqzoo.replicas import part_of_mean
from keras_seqzoo.tensors import dimension


class Candidates(NamedTuple):
    """The translations of each source over which the risk is taken: the subset S of the space.

    B is the number of sources, K the candidates of each, L the positions.

    Attributes:
        tokens: int32 tensor `(B, K, L)` without the start token: tokens, the end token if it was
            reached, then padding.
        lengths: int32 tensor `(B, K)`, including the end token.
        risks: float32 tensor `(B, K)`, Δ.
        included: bool tensor `(B, K)`, `False` at candidates that are not in the set, such as
            duplicates.
        weights: float32 tensor `(B,)`, the weight of each source in the mean.
    """

    tokens: tf.Tensor
    lengths: tf.Tensor
    risks: tf.Tensor
    included: tf.Tensor
    weights: tf.Tensor


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class MinimumRisk(SampledTranslations):
    """The expected risk of translations (Shen et al. 2016).

    "Minimum risk training for neural machine translation", equations 9 and 10, minimizes

        R = Σ_x Σ_{y ∈ S(x)} Q(y | x) · Δ(y, y*),    Q(y | x) ∝ P(y | x)^α over S(x)

    for translations y of a source x and its reference y*. The risk Δ is 1 minus a sentence-level
    measure. S(x) contains `samples` translations drawn from the model, and the reference unless
    `include_reference=False`; duplicates count once (Algorithm 1). The gradient of a batch of B
    sources is

        ∂R/∂θ = 1/B Σ_x Σ_y α · Q(y | x) · (Δ(y, y*) - R(x)) · ∂log P(y | x)/∂θ,

    the gradient of the expected risk over the drawn set, which is treated as a constant. With
    sample weights it is the weighted mean over the sources.

    Start from a model that was trained on the likelihood: samples of an untrained model are all
    equally bad. Use a learning rate that is a small part of the previous one, and a dropout rate of
    0: translations are drawn without dropout but scored with it, which makes the gradient noisy. A
    step draws `samples` translations of each source, token by token and without dropout. Then it
    scores the translations in S(x) as in ordinary training. For the decoder this is about `samples
    + 1` times the work of an ordinary step, or `samples` times without the reference. A translation
    may have a quarter more tokens than the padded length of the references, plus 4; longer ones are
    cut.

    The loss of `fit` is R; `evaluate` and validation data give the loss of `compile`.

    Args:
        samples: int, at least 1, the translations to draw for each source.
        alpha: α, a number above 0, the sharpness of Q. At 0 all of S(x) would count alike. The
            authors found 0.005 best, with 100 samples.
        temperature: a number above 0. Each token is drawn from P^(1 / temperature), normalized; the
            paper uses 1. Training with label smoothing leaves a tenth of each P to unlikely tokens,
            and a sample at 1 has one or two of them. Below 1, samples resemble the translations
            that a search finds.
        measure: `"bleu"` or `"chrf"`. BLEU is `keras_seqzoo.metrics.token_bleu` of tokens, such as
            subwords; it is computed in graph, and XLA can compile it. chrF (Popović 2015) is
            sacrebleu's, of the text, computed outside of the graph: it needs the package sacrebleu,
            and `compile` turns XLA off.
        seed: int, see `Objective`.
        include_reference: bool, whether the reference is in S(x), as in the paper. Its risk is 0,
            so every step makes it more likely, at the cost of samples with a risk above R. Without
            it, samples are compared with each other alone, so at least 2 are needed.

    Raises:
        ValueError: if an argument is out of range. `compile` raises one with the `source_output`
            copy or lexicon.

    Example:
    ```python
    model = keras_seqzoo.models.RecurrentSeq2SeqLM.from_preset("gru_attention_multi30k_en_fr")
    model.compile(
        keras.optimizers.Adam(1e-4, global_clipnorm=1.0),
        objective=keras_seqzoo.models.MinimumRisk(samples=10),
    )
    model.fit({"encoder_text": english, "decoder_text": french}, batch_size=32)
    ```
    """

    def __init__(
        self,
        samples=10,
        alpha=0.005,
        temperature=0.5,
        measure="bleu",
        seed=0,
        include_reference=True,
    ):
        super().__init__(samples, measure, seed)
        if not include_reference and self.samples < 2:
            raise ValueError(
                f"`samples` must be at least 2 with `include_reference=False`, got {samples}."
            )
        self.include_reference = bool(include_reference)
        self.alpha = check_positive("alpha", alpha)
        self.temperature = check_positive("temperature", temperature)

    def train_step(self, model, data, likelihood_step):
        """Train on a batch; see the class."""
        inputs, labels, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        candidates = self.draw(model, inputs, labels, sample_weight)
        return model.minimize(lambda: self.loss(model, inputs, candidates), inputs)

    def draw(self, model, inputs, labels, sample_weight):
        """Draw translations and compute their risks.

        Args:
            model: an `EncoderDecoder` with a preprocessor and an optimizer, whose step is the seed.
            inputs: its inputs.
            labels: int tensor `(B, T)`, the references with their end token.
            sample_weight: tensor `(B, T)`, nonzero at the tokens of the references, or `None`. The
                weight of a source is the largest of its row.

        Returns:
            `Candidates` with K = `samples + 1`, the reference first, or K = `samples` without it. A
            row whose weights are all zero has no included candidates. One whose candidates are all
            equal has no gradient.
        """
        tokenizer = model.preprocessor.tokenizer
        weights = self.pair_weights(labels, sample_weight)
        labels, lengths = self.references(labels, sample_weight, tokenizer)
        more = self.length_beyond(labels)
        longest = dimension(labels, 1) + more
        drawn = self.draw_samples(model, inputs, tokenizer, longest, self.temperature)
        padding = [[0, 0], [0, more]]
        reference = tf.pad(labels, padding, constant_values=tokenizer.pad_token_id)
        tokens = tf.concat([reference[:, tf.newaxis], drawn.tokens], axis=1)  # (B, K, L)
        lengths = tf.concat([lengths[:, tf.newaxis], drawn.lengths], axis=1)  # (B, K)
        tokens = self.trimmed(model, tokens, lengths)
        risks, known = self.risks(tokens, lengths, tokenizer), lengths[:, :1] > 0
        first = 0 if self.include_reference else 1
        tokens, lengths, risks = (x[:, first:] for x in (tokens, lengths, risks))
        included = _are_new(tokens) & (lengths > 0) & known
        return Candidates(tokens, lengths, risks, included, weights)

    def risks(self, tokens, lengths, tokenizer):
        """Return the risks Δ, `(B, K)`, of candidates `(B, K, L)`, with the first as reference."""
        return 1.0 - self.scores(tokens, lengths, tokens[:, 0], lengths[:, 0], tokenizer)

    def loss(self, model, inputs, candidates):
        """Compute the expected risk R of a batch, a mean over its sources, with its gradient.

        Args:
            model: an `EncoderDecoder`.
            inputs: the inputs of the model; only the source and the start tokens are read.
            candidates: `Candidates`. Sources without included candidates do not count.

        Returns:
            A float32 scalar; with several replicas, this replica's part.
        """
        count = dimension(candidates.tokens, 1)
        present = tf.where(candidates.included, candidates.lengths, 0)
        hidden = features_of(model, inputs, candidates.tokens, present)  # (B * K, L, D)
        labels, lengths = join(candidates.tokens), join(candidates.lengths)
        valid = tf.sequence_mask(lengths, dimension(labels, 1), tf.float32)
        scores = sentence_log_probabilities(model.output_layer, hidden, labels, valid)
        risk, weights = expected_risk(
            split_rows(scores, count), candidates.risks, candidates.included, self.alpha
        )
        sources = tf.where(tf.reduce_any(candidates.included, axis=-1), candidates.weights, 0.0)
        total = tf.reduce_sum(sources)
        risk = part_of_mean(tf.reduce_sum(risk * sources), total)
        weights = part_of_mean(weights * sources[:, tf.newaxis], total)  # (B, K)
        return with_gradient(risk, weights, model, hidden, candidates.tokens, candidates.lengths)

    def get_config(self):
        """Return the constructor arguments."""
        names = ("alpha", "temperature", "include_reference")
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}


def expected_risk(log_probabilities, risks, included, alpha):
    """Compute expected risks and their derivatives by log probability; see `MinimumRisk`.

    Args:
        log_probabilities: log P(y | x), float32 tensor `(B, K)`.
        risks: Δ, float32 tensor `(B, K)`.
        included: bool tensor `(B, K)`, true at candidates in S(x).
        alpha: α, a float.

    Returns:
        A tuple `(risk, derivatives)`: R(x) `(B,)` and ∂R(x)/∂log P(y | x) `(B, K)`, float32. Both
        are zero for a row without included candidates.
    """
    scaled = tf.where(included, alpha * log_probabilities, log_probabilities.dtype.min)
    chances = tf.where(included, tf.nn.softmax(scaled), 0.0)  # Q
    risk = tf.reduce_sum(chances * risks, axis=-1)
    return risk, alpha * chances * (risks - risk[:, tf.newaxis])


def _are_new(tokens):
    """Return which sequences of `(B, K, L)` differ from all previous ones, bool `(B, K)`."""
    equal = tf.reduce_all(tokens[:, :, tf.newaxis] == tokens[:, tf.newaxis], axis=-1)  # (B, K, K)
    before = tf.linalg.band_part(tf.cast(equal, tf.int32), -1, 0)  # and itself
    return tf.reduce_sum(before, axis=-1) == 1
