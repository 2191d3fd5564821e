"""REINFORCE for hard attention: the likelihood of a sentence is the reward of its alignment."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_number
from keras_seqzoo.models.common.next_token_training import sentence_log_probabilities
from keras_seqzoo.models.common.objective import Objective
from keras_seqzoo.models.seq2seq.objectives.attended import (
    check_attention,
    likelihood_loss,
    read_attending,
)
from keras_seqzoo.models.seq2seq.objectives.moving_average import MovingAverage
from keras_seqzoo.replicas import part_of_mean, sum_over_replicas


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class ReinforcedAttention(Objective):
    """The likelihood of the references under sampled hard attention.

    For a source x and its reference y, the objective maximizes Σ_s p(s | x) log p(y | s, x), a
    lower bound of log p(y | x). An alignment s has one source position for each target token. The
    gradient is

    ```
    ∇ log p(y | s̃, x) + scale · (log p(y | s̃, x) - b) ∇ log p(s̃ | x) + entropy · ∇H,    s̃ ~ p(s | x)
    ```

    (Xu et al. 2015, "Show, attend and tell: neural image caption generation with visual attention",
    section 4.1). The reward of an alignment is the log probability of the whole sentence. The
    baseline b is the moving average of the rewards of earlier steps. H is the entropy of the
    attention, summed over the steps. The first term uses the loss of `compile`, with its label
    smoothing. As in that loss, all three terms are divided by the number of target tokens of the
    batch. The paper also uses soft attention for a random half of the examples, which is left out
    here.

    The attention of the model must have a `HardWeighting` with `estimator="reinforce"`. If later
    positions depend on earlier ones, as with `attend="before"`, the second term includes the
    gradient of the earlier ones too. The loss of `fit` is that of the first term. A step costs as
    much as one with an attention that runs in a loop.

    Args:
        scale: a number of at least 0.
        entropy: a number of at least 0.
        momentum: float in [0, 1), of the moving average.

    Raises:
        ValueError: if an argument is out of range.

    Example:
    ```python
    model = make_translation_model(english, french, attention_weighting="hard-reinforce")
    model.compile(objective=ReinforcedAttention())
    model.fit({"encoder_text": english, "decoder_text": french}, batch_size=64, epochs=20)
    ```
    """

    def __init__(self, scale=1.0, entropy=0.01, momentum=0.9):
        super().__init__()
        self.scale = check_number("scale", scale, minimum=0.0)
        self.entropy = check_number("entropy", entropy, minimum=0.0)
        self.average = MovingAverage(momentum)

    def check(self, model, metrics):
        """Raise `ValueError` without sampled hard attention, or with metrics."""
        check_attention("ReinforcedAttention", model, metrics)
        weighting = model.decoder.attention.weighting
        if getattr(weighting, "estimator", None) != "reinforce":
            raise ValueError(
                "`objective` must not be ReinforcedAttention for a model whose attention has no "
                f'HardWeighting with `estimator="reinforce"`, got the weighting {weighting!r}.'
            )

    def build(self):
        """Create the variable of the moving average."""
        self.average.build()

    def train_step(self, model, data, likelihood_step):
        """Train on a batch; see the class."""
        inputs, labels, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        if sample_weight is None:
            sample_weight = tf.ones(tf.shape(labels))
        return model.minimize(lambda: self.loss(model, inputs, labels, sample_weight), inputs)

    def loss(self, model, inputs, labels, sample_weight):
        """Compute the loss of one sample of the attention, with the gradient of the class.

        Args:
            model: a `RecurrentSeq2SeqLM`, compiled with this objective.
            inputs: its inputs.
            labels: int tensor `(B, T)`.
            sample_weight: tensor `(B, T)`, 1 at target tokens and 0 at padding.

        Returns:
            A float32 scalar; with several replicas, this replica's part.
        """
        valid = tf.cast(sample_weight, tf.float32)
        features, _, state = read_attending(model, inputs, mask=valid != 0)
        drawn = state["attention"]["weighting"]
        chances, entropies = (
            tf.cast(drawn[name], tf.float32) for name in ("log_probability", "entropy")
        )  # (B,)
        rewards = sentence_log_probabilities(model.output_layer, features, labels, valid)  # (B,)
        baseline = self.average.value()
        present = tf.cast(tf.reduce_any(valid != 0, axis=-1), tf.float32)
        mean = part_of_mean(tf.reduce_sum(present * rewards), tf.reduce_sum(present))
        self.average.update(sum_over_replicas(mean))
        gain = self.scale * tf.stop_gradient(rewards - baseline) * chances
        gain = tf.reduce_sum(present * (gain + self.entropy * entropies))
        surrogate = -part_of_mean(gain, tf.reduce_sum(valid))
        likelihood = likelihood_loss(model, features, labels, sample_weight)
        return likelihood + surrogate - tf.stop_gradient(surrogate)

    def get_state(self):
        """Return the state of the moving average."""
        return self.average.get_state()

    def set_state(self, state, model):
        """Restore a state from `get_state`."""
        self.average.set_state(state)

    def get_config(self):
        """Return the constructor arguments."""
        return {"scale": self.scale, "entropy": self.entropy, "momentum": self.average.momentum}
