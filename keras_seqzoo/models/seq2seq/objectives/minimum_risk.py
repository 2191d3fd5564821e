"""Minimum risk training: the expected error of translations in place of the likelihood."""

from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_choice, check_integer, check_number
from keras_seqzoo.decoding.rows import repeat_rows, split_rows
from keras_seqzoo.decoding.sampling import Sampling
from keras_seqzoo.metrics.token_bleu import token_bleu
from keras_seqzoo.models.common.next_token_training import (
    label_log_probabilities,
    weighted_log_probability,
)
from keras_seqzoo.models.common.objective import Objective, fold_in, uniform
from keras_seqzoo.replicas import part_of_mean
from keras_seqzoo.tensors import dimension

MEASURES = ("bleu", "chrf")


class Candidates(NamedTuple):
    """The translations of each source over which a risk is taken: the subset S of the space.

    B are the sources, K the candidates of each, L the positions.

    Attributes:
        tokens: int32 tensor `(B, K, L)`, without the start token, with the end token if it was
            reached, then padding.
        lengths: int32 tensor `(B, K)`, including the end token.
        risks: float32 tensor `(B, K)`, Δ.
        included: bool tensor `(B, K)`, `False` at those that are not in the set, such as
            duplicates.
    """

    tokens: tf.Tensor
    lengths: tf.Tensor
    risks: tf.Tensor
    included: tf.Tensor


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class MinimumRisk(Objective):
    """The expected risk of translations (Shen et al. 2016).

    "Minimum risk training for neural machine translation", equations 9 and 10, minimises

        R = Σ_x Σ_{y ∈ S(x)} Q(y | x) · Δ(y, y*),    Q(y | x) ∝ P(y | x)^α over S(x)

    for translations y of a source x and its reference y*. The risk Δ is 1 minus a measure of
    sentences. S(x) are `samples` translations, drawn from the model, and the reference; those that
    occur several times count once (Algorithm 1). The gradient of a batch of B sources is

        ∂R/∂θ = 1/B Σ_x Σ_y α · Q(y | x) · (Δ(y, y*) - R(x)) · ∂log P(y | x)/∂θ,

    that of the expected risk over the drawn set, which is taken as a constant.

    It is for a model that was trained on the likelihood: samples of an untrained model are all
    equally bad. The learning rate should be a small part of the one before. One step draws
    `samples` translations of each source, step by step and without dropout, and then scores these
    and the reference as in ordinary training, about `samples + 1` times the work of an ordinary
    step for the decoder. A translation is cut at a quarter more tokens than the padded length of
    the references, plus 4.

    The loss of `fit` is R; `evaluate` and validation data give the loss of `compile`.

    Args:
        samples: int, at least 1, the translations to draw for each source.
        alpha: α, a number above 0, the sharpness of Q. At 0 all of S(x) would count alike. The
            authors found 0.005 best, with 100 samples.
        temperature: a number above 0. Each token is drawn from P^(1 / temperature), normalized: 1
            is the paper's. Training with label smoothing leaves a tenth of each P to unlikely
            tokens, of which a sample at 1 has one or two; below 1 the samples are translations as
            a search finds them.
        measure: `"bleu"` or `"chrf"`. BLEU is `keras_seqzoo.metrics.token_bleu` of tokens, such as
            subwords; it is computed in graph, and XLA can compile it. chrF (Popović 2015) is
            sacrebleu's, of the text, computed outside of the graph: `compile` then turns XLA off,
            and it needs the package sacrebleu.
        seed: int, see `Objective`.

    Raises:
        ValueError: if an argument is out of range.

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

    def __init__(self, samples=10, alpha=0.005, temperature=0.5, measure="bleu", seed=0):
        super().__init__(seed)
        self.samples = check_integer("samples", samples, minimum=1)
        self.alpha = check_number("alpha", alpha)
        self.temperature = check_number("temperature", temperature)
        for name in ("alpha", "temperature"):
            if getattr(self, name) <= 0:
                raise ValueError(f"`{name}` must be a number above 0, got {getattr(self, name)}.")
        check_choice("measure", measure, MEASURES)
        self.measure = measure

    @property
    def is_compilable(self):
        """Whether XLA can compile a step: not with chrF."""
        return self.measure == "bleu"

    def check(self, model, metrics):
        """Raise `ValueError` without a preprocessor, or with metrics beside the loss."""
        if model.preprocessor is None:
            raise ValueError(
                "`objective` must not be MinimumRisk for a model without a preprocessor."
            )
        if metrics:
            raise ValueError(
                "`weighted_metrics` and `metrics` must be empty with MinimumRisk, whose steps have "
                f"no logits of the references, got {metrics!r}."
            )

    def train_step(self, model, data, likelihood_step):
        """Train on a batch; see the class."""
        inputs, labels, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        if sample_weight is None:
            sample_weight = tf.ones_like(labels, tf.bool)
        candidates = self.draw(model, inputs, labels, sample_weight)
        return model.minimize(lambda: self.loss(model, inputs, candidates), inputs)

    def draw(self, model, inputs, labels, sample_weight):
        """Draw translations, and compute their risks.

        Args:
            model: an `EncoderDecoder` with a preprocessor and an optimizer, whose step is the seed.
            inputs: its inputs.
            labels: int tensor `(B, T)`, the references with their end token.
            sample_weight: tensor `(B, T)`, not zero at the tokens of the references.

        Returns:
            `Candidates`, with K = `samples + 1`: first the reference. Of a row whose weights are
            all zero none is included.
        """
        tokenizer = model.preprocessor.tokenizer
        valid = tf.cast(sample_weight, tf.float32) != 0
        labels = tf.where(valid, tf.cast(labels, tf.int32), tokenizer.pad_token_id)
        lengths = tf.reduce_sum(tf.cast(valid, tf.int32), axis=-1)
        longest = dimension(labels, 1)
        longest, more = longest + longest // 4 + 4, longest // 4 + 4
        start = model.start(inputs["encoder_token_ids"], inputs["encoder_padding_mask"])
        step, state, memory = model.for_search(start)
        drawn = _SeededSampling(self.step_seed(model), self.samples, self.temperature)(
            step,
            state,
            tf.cast(inputs["decoder_token_ids"][:, 0], tf.int32),
            end_token=tokenizer.end_token_id,
            max_length=longest,
            pad_token=tokenizer.pad_token_id,
            memory=memory,
        )
        padding = [[0, 0], [0, more]]
        reference = tf.pad(labels, padding, constant_values=tokenizer.pad_token_id)
        tokens = tf.concat([reference[:, tf.newaxis], drawn.tokens], axis=1)  # (B, K, L)
        lengths = tf.concat([lengths[:, tf.newaxis], drawn.lengths], axis=1)  # (B, K)
        if not model.jit_compile:  # XLA needs shapes that are known before
            tokens = tokens[:, :, : tf.reduce_max(lengths)]
        included = _are_new(tokens) & (lengths > 0) & (lengths[:, :1] > 0)
        return Candidates(tokens, lengths, self.risks(tokens, lengths, tokenizer), included)

    def risks(self, tokens, lengths, tokenizer):
        """Return the risks Δ of candidates `(B, K, L)` to the first of each row, `(B, K)`."""
        count = dimension(tokens, 1)
        rows, row_lengths = _join(tokens), _join(lengths)
        last = tf.gather(rows, tf.maximum(row_lengths - 1, 0), batch_dims=1)
        ended = (last == tokenizer.end_token_id) & (row_lengths > 0)
        row_lengths -= tf.cast(ended, tf.int32)  # the end token is no word
        references = repeat_rows(tokens[:, 0], count)
        reference_lengths = repeat_rows(split_rows(row_lengths, count)[:, 0], count)
        pairs = rows, row_lengths, references, reference_lengths
        scores = token_bleu(*pairs) if self.measure == "bleu" else _chrf(tokenizer, *pairs)
        return 1.0 - split_rows(scores, count)

    def loss(self, model, inputs, candidates):
        """Compute the expected risk R of a batch, the mean over its sources, with its gradient.

        Args:
            model: an `EncoderDecoder`.
            inputs: its inputs, of which the source and the start tokens are read.
            candidates: `Candidates`; sources without any do not count.

        Returns:
            A float32 scalar; of several replicas, this one's part.
        """
        count = dimension(candidates.tokens, 1)
        hidden = _features(model, inputs, candidates.tokens)  # (B * K, L, D)
        labels, lengths = _join(candidates.tokens), _join(candidates.lengths)
        valid = tf.sequence_mask(lengths, dimension(labels, 1), tf.float32)
        flat = tf.reshape(tf.stop_gradient(hidden), [-1, hidden.shape[-1]])
        scores = label_log_probabilities(model.output_layer, flat, tf.reshape(labels, [-1]))
        scores = tf.reduce_sum(tf.reshape(scores, tf.shape(labels)) * valid, axis=-1)
        risk, weights = expected_risk(
            split_rows(scores, count), candidates.risks, candidates.included, self.alpha
        )
        sources = tf.cast(tf.reduce_any(candidates.included, axis=-1), tf.float32)
        total = tf.reduce_sum(sources)
        risk = part_of_mean(tf.reduce_sum(risk * sources), total)
        weights = part_of_mean(weights * sources[:, tf.newaxis], total)  # (B, K)
        weights = tf.reshape(weights, [-1, 1]) * valid  # (B * K, L)
        # In value the risk, in its gradient Σ weights · ∂log P.
        surrogate = weighted_log_probability(
            model.output_layer, hidden, labels, tf.stop_gradient(weights)
        )
        return tf.stop_gradient(risk - surrogate) + surrogate

    def get_config(self):
        """Return the constructor arguments."""
        names = ("samples", "alpha", "temperature", "measure")
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}


def expected_risk(log_probabilities, risks, included, alpha):
    """Compute expected risks and their derivatives by the log probabilities; see `MinimumRisk`.

    Args:
        log_probabilities: log P(y | x), float32 tensor `(B, K)`.
        risks: Δ, float32 tensor `(B, K)`.
        included: bool tensor `(B, K)`, which of them are in S(x).
        alpha: α, a float.

    Returns:
        A tuple `(risk, derivatives)`: R(x) `(B,)` and ∂R(x)/∂log P(y | x) `(B, K)`, float32; zero
        for a row of which none is included.
    """
    scaled = tf.where(included, alpha * log_probabilities, log_probabilities.dtype.min)
    chances = tf.where(included, tf.nn.softmax(scaled), 0.0)  # Q
    risk = tf.reduce_sum(chances * risks, axis=-1)
    return risk, alpha * chances * (risks - risk[:, tf.newaxis])


class _SeededSampling(Sampling):
    """Samples whose seed is a tensor, int32 `(2,)`, and differs from step to step of training."""

    def __init__(self, seed, samples, temperature):
        super().__init__(samples, temperature)
        self.step_seed = seed

    def noise(self, shape, time):
        return uniform(shape, fold_in(self.step_seed, time))


def _features(model, inputs, tokens):
    """Run the decoder over candidates `(B, K, L)`; the encoder reads each source once."""
    count = dimension(tokens, 1)
    mask = inputs["encoder_padding_mask"]
    memory, states = model.encoder(inputs["encoder_token_ids"], mask=mask, training=True)
    state = model.decoder.init_state(memory, states, mask=mask)
    state = tf.nest.map_structure(lambda x: repeat_rows(x, count), state)
    start = repeat_rows(tf.cast(inputs["decoder_token_ids"][:, :1], tf.int32), count)
    read = tf.concat([start, _join(tokens)[:, :-1]], axis=1)
    return model.decoder(read, state, training=True)[0]


def _join(tensor):
    """Join the first two dimensions."""
    batch, count, *rest = (dimension(tensor, axis) for axis in range(tensor.shape.rank))
    return tf.reshape(tensor, [batch * count, *rest])


def _are_new(tokens):
    """Return which sequences of `(B, K, L)` differ from all before them, bool `(B, K)`."""
    equal = tf.reduce_all(tokens[:, :, tf.newaxis] == tokens[:, tf.newaxis], axis=-1)  # (B, K, K)
    before = tf.linalg.band_part(tf.cast(equal, tf.int32), -1, 0)  # and itself
    return tf.reduce_sum(before, axis=-1) == 1


def _chrf(tokenizer, *pairs):
    """Return sacrebleu's chrF, from 0 to 1, of the texts of tokens and references, `(rows,)`."""
    texts = [
        # Outside of graphs tokenizers return lists.
        tf.convert_to_tensor(
            tokenizer.detokenize(tf.RaggedTensor.from_tensor(tokens, lengths)), tf.string
        )
        for tokens, lengths in (pairs[:2], pairs[2:])
    ]
    scores = tf.numpy_function(_chrf_of_texts, texts, tf.float32)
    return tf.ensure_shape(scores, pairs[0].shape[:1])


def _chrf_of_texts(*texts):
    import sacrebleu  # not required for training on other objectives

    metric = sacrebleu.metrics.CHRF()
    texts = ([text.decode("utf-8", "replace") for text in side] for side in texts)
    pairs = zip(*texts, strict=True)
    return np.array([metric.sentence_score(one, [other]).score / 100 for one, other in pairs], "f4")
