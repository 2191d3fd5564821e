"""Scheduled sampling: training on tokens that the model draws itself."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_fraction, check_number
from keras_seqzoo.decoding.sampling import draw
from keras_seqzoo.models.common.objective import Objective
from keras_seqzoo.random_numbers import fold_in, uniform
from keras_seqzoo.tensors import dimension


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class InverseSigmoidDecay(keras.optimizers.schedules.LearningRateSchedule):
    """Inverse sigmoid decay from almost 1 to 0.

        ε(i) = k / (k + exp(i / k))

    at step i (Bengio et al. 2015, "Scheduled sampling for sequence prediction with recurrent neural
    networks", section 2.4). It starts at k / (k + 1) and is 1/2 at step k·ln(k).

    Args:
        k: a number of at least 1, in steps.

    Call arguments:
        step: int or int tensor.

    Returns:
        A float32 tensor of the same shape.

    Raises:
        ValueError: if `k` is out of range.

    Example:
    >>> decay = InverseSigmoidDecay(1000)
    >>> [round(float(decay(step)), 3) for step in (0, 6908, 20_000)]
    [0.999, 0.5, 0.0]
    """

    def __init__(self, k):
        super().__init__()
        self.k = check_number("k", k, minimum=1.0)

    def __call__(self, step):
        """Return ε; see the class."""
        step = tf.cast(step, tf.float32)
        return tf.sigmoid(tf.math.log(self.k) - step / self.k)  # does not overflow

    def get_config(self):
        """Return the constructor arguments."""
        return {"k": self.k}


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class ScheduledSampling(Objective):
    """The likelihood of the references, where the decoder reads some tokens that it drew itself.

    With teacher forcing a decoder reads the reference, but in translation it reads its own output.
    So it never learned to go on after a mistake. With scheduled sampling (Bengio et al. 2015,
    section 2.4) the decoder reads at each position t

        x_t = y_{t-1} with probability ε,    else ŷ_{t-1} ~ P(y | x_1 … x_{t-1}, source),

    and learns to predict the reference y_t. ε falls from 1 during training. As in the paper, a coin
    is tossed for each position, and no gradient passes through the draw. [EOS] can also be drawn
    and read.

    As in the paper, the draws are sequential: ŷ_{t-1} depends on the tokens read before it,
    including drawn ones. (Mihaylova and Martins 2019, "Scheduled sampling for transformers", draw
    all tokens at once from the distributions after the reference. This saves a Transformer the
    loop, but a recurrent decoder runs one anyway.) The decoder first runs step by step, without
    gradients and dropout, to draw the tokens. Then it runs as always, over the whole sequence that
    it is to read. Without dropout this is exactly the single loop of the paper. Compared with an
    ordinary step, it takes one more forward pass of the encoder and the decoder, with the logits
    `(batch, V)` of one step at a time.

    Args:
        teacher_forcing: ε, a number from 0 to 1 or a function of the optimizer's step, a
            `keras.optimizers.schedules.LearningRateSchedule`: `InverseSigmoidDecay(k)`,
            `PolynomialDecay(1.0, steps, end)` for the linear decay of the paper, or
            `ExponentialDecay(1.0, 1, k)` for the exponential one.
        seed: int, see `Objective`.

    Raises:
        ValueError: if an argument is out of range.

    Example:
    ```python
    model.compile(objective=ScheduledSampling(InverseSigmoidDecay(1000)))
    model.fit({"encoder_text": english, "decoder_text": french}, epochs=20)
    ```
    """

    def __init__(self, teacher_forcing, seed=0):
        super().__init__(seed)
        if not isinstance(teacher_forcing, keras.optimizers.schedules.LearningRateSchedule):
            teacher_forcing = check_fraction("teacher_forcing", teacher_forcing, " or a schedule")
        self.teacher_forcing = teacher_forcing

    def train_step(self, model, data, likelihood_step):
        """Train on a batch in which the decoder reads some drawn tokens."""
        inputs, labels, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        read = self.draw(model, inputs, self.probability(model.optimizer.iterations))
        inputs = {**inputs, "decoder_token_ids": read}
        return likelihood_step(keras.utils.pack_x_y_sample_weight(inputs, labels, sample_weight))

    def probability(self, step):
        """Return ε at a step of the optimizer, a float32 scalar."""
        if callable(self.teacher_forcing):
            return tf.cast(self.teacher_forcing(step), tf.float32)
        return tf.constant(self.teacher_forcing)

    def draw(self, model, inputs, probability):
        """Return the tokens that the decoder is to read, int32 `(batch, length)`.

        Args:
            model: an `EncoderDecoder` with an optimizer, whose step seeds the draws.
            inputs: the inputs of the model.
            probability: ε, a float32 scalar.
        """
        reference = tf.cast(inputs["decoder_token_ids"], tf.int32)
        state = model.start(inputs["encoder_token_ids"], inputs["encoder_padding_mask"])
        length = dimension(reference, 1)
        steps = tf.transpose(reference)  # (T, B)
        coins, noises = (fold_in(self.step_seed(model), number) for number in range(2))
        read = tf.TensorArray(tf.int32, length, element_shape=reference.shape[:1])

        def advance(time, tokens, read, state):
            log_probabilities, state = model.step(tokens, state)
            coin = uniform(tf.shape(tokens), fold_in(coins, time))
            noise = uniform(tf.shape(log_probabilities), fold_in(noises, time))
            drawn = draw(log_probabilities, noise)
            tokens = tf.where(coin < probability, steps[time], drawn)
            tokens = tf.ensure_shape(tokens, reference.shape[:1])
            return time + 1, tokens, read.write(time, tokens), state

        _, _, read, _ = tf.while_loop(
            lambda time, *_: time < length,
            advance,
            (tf.constant(1), reference[:, 0], read.write(0, reference[:, 0]), state),
        )
        return tf.ensure_shape(tf.transpose(read.stack()), reference.shape)

    def get_config(self):
        """Return the constructor arguments."""
        teacher_forcing = keras.saving.serialize_keras_object(self.teacher_forcing)
        return {**super().get_config(), "teacher_forcing": teacher_forcing}

    @classmethod
    def from_config(cls, config):
        """Create the objective from the constructor arguments."""
        schedule = keras.saving.deserialize_keras_object(config["teacher_forcing"])
        return cls(**{**config, "teacher_forcing": schedule})
