"""REINFORCE: the gradient of the expected reward of translations, from samples and a baseline."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_choice
from keras_seqzoo.decoding import Greedy
from keras_seqzoo.models.seq2seq.objectives.moving_average import MovingAverage
from keras_seqzoo.models.seq2seq.objectives.sampled_translations import (
    SampledTranslations,
    features_of,
    with_gradient,
)
from keras_seqzoo.replicas import part_of_mean, sum_over_replicas
from keras_seqzoo.tensors import dimension

BASELINES = ("greedy", "average", "samples")


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class Reinforce(SampledTranslations):
    """The expected reward of translations, by policy gradient (Williams 1992).

    The reward r is a measure of a translation y of a source x, given its reference y*:

    ```
    maximize     J = Σ_x E_{y ~ P(y | x)} r(y, y*)
    gradient     Σ_x 1/K Σ_k (r(y_k, y*) - b(x)) ∇ log P(y_k | x),        y_k ~ P(y | x)
    ```

    (Ranzato et al. 2016, "Sequence level training with recurrent neural networks", section 3.2.1).
    The baseline b reduces the variance of the estimate, which stays unbiased for every b that does
    not depend on y_k:

    - "greedy": the reward of the greedy translation of x (the self-critical training of Rennie et
      al. 2017, "Self-critical sequence training for image captioning", equation 8). Samples that
      are better than the model's own output get likelier. It takes one more search.
    - "average": the moving average of the rewards of earlier steps, the same for all x.
    - "samples": the mean reward of the other samples of x (Kool et al. 2019, "Buy 4 REINFORCE
      samples, get a baseline for free!"); it needs at least two samples.

    `MinimumRisk` has the same aim, but normalizes the probabilities over the samples and, unless it
    is left out, the reference, and has a sharpness. As there, training starts from a model that was
    trained on the likelihood, with a low learning rate. Translations are drawn without dropout, and
    cut at a quarter more tokens than the padded length of the references, plus 4. They are drawn
    from P itself, because another temperature would give the gradient of another expectation.

    The loss of `fit` is 1 minus the mean reward of the samples, weighted by the sample weights of
    the pairs; `evaluate` and validation data give the loss of `compile`. For the decoder, a step
    takes about `samples` times the work of an ordinary one, plus the search.

    Args:
        samples: int, at least 1, K.
        baseline: `"greedy"`, `"average"` or `"samples"`.
        measure: `"bleu"` or `"chrf"`, the reward; see `MinimumRisk`.
        momentum: float in [0, 1), of the moving average.
        seed: int, see `Objective`.

    Raises:
        ValueError: if an argument is out of range.

    Example:
    ```python
    model = keras_seqzoo.models.RecurrentSeq2SeqLM.from_preset("gru_attention_multi30k_en_fr")
    model.compile(
        keras.optimizers.Adam(1e-5, global_clipnorm=1.0),
        objective=keras_seqzoo.models.Reinforce(samples=5),
    )
    model.fit({"encoder_text": english, "decoder_text": french}, batch_size=32)
    ```
    """

    def __init__(self, samples=5, baseline="greedy", measure="bleu", momentum=0.9, seed=0):
        super().__init__(samples, measure, seed)
        check_choice("baseline", baseline, BASELINES)
        if baseline == "samples" and self.samples < 2:
            raise ValueError(
                f'`samples` must be an int of at least 2 with `baseline="samples"`, got {samples}.'
            )
        self.baseline = baseline
        self.average = MovingAverage(momentum)

    def build(self):
        """Create the variable of the moving average."""
        if self.baseline == "average":
            self.average.build()

    def train_step(self, model, data, likelihood_step):
        """Train on a batch; see the class."""
        inputs, labels, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        tokenizer = model.preprocessor.tokenizer
        references = self.references(labels, sample_weight, tokenizer)
        longest = dimension(labels, 1) + self.length_beyond(labels)
        drawn = self.draw_samples(model, inputs, tokenizer, longest)
        rewards = self.scores(drawn.tokens, drawn.lengths, *references, tokenizer)  # (B, K)
        weights = self.pair_weights(labels, sample_weight)
        if self.baseline == "greedy":
            best = self.search(Greedy(), model, inputs, tokenizer, longest)
            baseline = self.scores(best.tokens, best.lengths, *references, tokenizer)
        else:
            baseline = self.baseline_of(rewards, weights)
        tokens = self.trimmed(model, drawn.tokens, drawn.lengths)
        parts = tokens, drawn.lengths, rewards, baseline, weights
        return model.minimize(lambda: self.loss(model, inputs, *parts), inputs)

    def baseline_of(self, rewards, weights):
        """Return the baseline "average" or "samples" of rewards, float32 `(B, K)` or a scalar.

        Args:
            rewards: float32 tensor `(B, K)`.
            weights: float32 tensor `(B,)`, the weights of the sources in the mean.
        """
        if self.baseline == "samples":
            total = tf.reduce_sum(rewards, axis=-1, keepdims=True)
            return (total - rewards) / (self.samples - 1)
        baseline = self.average.value()
        mean = part_of_mean(
            tf.reduce_sum(weights * tf.reduce_mean(rewards, axis=-1)), tf.reduce_sum(weights)
        )
        self.average.update(sum_over_replicas(mean))
        return baseline

    def loss(self, model, inputs, tokens, lengths, rewards, baseline, weights):
        """Compute 1 minus the mean reward, with the gradient of the class.

        Args:
            model: an `EncoderDecoder`.
            inputs: the inputs of the model; only the source and the start tokens are read.
            tokens: int32 tensor `(B, K, L)`, samples of P, with padding.
            lengths: int32 tensor `(B, K)`, including the end token.
            rewards: float32 tensor `(B, K)`.
            baseline: b, float32 tensor of a shape that broadcasts to the rewards.
            weights: float32 tensor `(B,)`, the weights of the sources in the mean.

        Returns:
            A float32 scalar; with several replicas, this replica's part.
        """
        rows = weights[:, tf.newaxis]
        count = tf.reduce_sum(rows) * tf.cast(dimension(tokens, 1), tf.float32)
        value = part_of_mean(tf.reduce_sum(rows * (1.0 - rewards)), count)
        derivatives = part_of_mean(rows * (baseline - rewards), count)
        features = features_of(model, inputs, tokens, tf.where(rows != 0, lengths, 0))
        return with_gradient(value, derivatives, model, features, tokens, lengths)

    def get_state(self):
        """Return the state of the moving average, if it is the baseline."""
        return self.average.get_state() if self.baseline == "average" else {}

    def set_state(self, state, model):
        """Restore a state from `get_state`."""
        self.average.set_state(state)

    def get_config(self):
        """Return the constructor arguments."""
        own = {"baseline": self.baseline, "momentum": self.average.momentum}
        return {**super().get_config(), **own}
