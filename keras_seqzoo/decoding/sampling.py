"""Ancestral sampling."""

import math

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_integer, check_number, check_positive
from keras_seqzoo.decoding.greedy import decode_single_path
from keras_seqzoo.decoding.strategy import DecodingStrategy
from keras_seqzoo.random_numbers import uniform


def draw(log_probabilities, uniform):
    """Draw a token of each row.

    Args:
        log_probabilities: float tensor `(rows, V)`, up to a constant per row.
        uniform: float tensor `(rows, V)`, uniform noise in [0, 1).

    Returns:
        int32 tensor `(rows,)`.
    """
    # The argmax of log Q plus Gumbel noise is distributed as Q.
    noise = -tf.math.log(-tf.math.log(tf.maximum(uniform, 1e-30)))
    return tf.argmax(log_probabilities + noise, axis=-1, output_type=tf.int32)


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class Sampling(DecodingStrategy):
    """Ancestral sampling: draw each token from its distribution given the tokens before it.

        y_t ~ Q(y | y_1 … y_{t-1}, x),    Q(y) ∝ P(y)^(1 / temperature)

    over the tokens that pass all of

    - `top_k`: the k most likely (Fan et al. 2018, Hierarchical neural story generation);
    - `top_p`: the smallest set of most likely tokens whose probabilities sum to at least p
      (Holtzman et al. 2020, The curious case of neural text degeneration);
    - `min_p`: at least min_p times the highest probability (Nguyen et al. 2024, Min-p sampling).

    All three apply to Q. A token as likely as the last one of `top_k` or `top_p` passes too. Log
    probabilities and scores of the samples are computed from P, so they can be compared with those
    of other strategies. Samples are sorted by score and may repeat.

    Args:
        samples: int, at least 1, the number of hypotheses per row.
        temperature: float above 0.
        top_k: int, at least 1, or `None` for all tokens.
        top_p: float in (0, 1]; 1 keeps all tokens.
        min_p: float in [0, 1); 0 keeps all tokens.
        seed: int from 0 to 2^31 - 1, or `None` for different samples at each call. Samples depend
            on the seed and on the place in the batch: all batches share the noise.
        **kwargs: `constraints`, `max_source_ratio` and `check_values`, see `DecodingStrategy`.

    Call arguments: See `DecodingStrategy`.

    Returns:
        `Hypotheses` with N = `samples`.

    Raises:
        ValueError: if an argument is out of its range.

    Example:
    >>> table = tf.math.log([[0.1, 0.6, 0.3], [0.1, 0.2, 0.7], [0.0, 0.0, 1.0]])
    >>> def step(tokens, state):
    ...     return tf.gather(table, tokens), state
    >>> sampling = Sampling(samples=3, top_k=1)
    >>> sampling(step, (), start_tokens=[0], end_token=2, max_length=4).tokens.numpy().tolist()
    [[[1, 2, 0, 0], [1, 2, 0, 0], [1, 2, 0, 0]]]
    """

    def __init__(
        self, samples=1, temperature=1.0, top_k=None, top_p=1.0, min_p=0.0, seed=None, **kwargs
    ):
        super().__init__(**kwargs)
        self.samples = check_integer("samples", samples, minimum=1)
        self.temperature = check_positive("temperature", temperature)
        self.top_k = None if top_k is None else check_integer("top_k", top_k, minimum=1)
        self.top_p = check_number("top_p", top_p)
        self.min_p = check_number("min_p", min_p)
        self.seed = None if seed is None else check_integer("seed", seed, minimum=0)
        if self.seed is not None and self.seed >= 2**31:
            raise ValueError(f"`seed` must be below 2^31, got {seed}.")
        for name, fits, need in (
            ("top_p", 0 < self.top_p <= 1, "in (0, 1]"),
            ("min_p", 0 <= self.min_p < 1, "in [0, 1)"),
        ):
            if not fits:
                raise ValueError(f"`{name}` must be {need}, got {getattr(self, name)}.")

    @property
    def max_hypotheses(self):
        """The number of samples."""
        return self.samples

    def with_n_best(self, n_best):
        """Return the strategy itself: the samples are sorted."""
        if n_best > self.samples:
            raise ValueError(
                f"`n_best` must be at most the {self.samples} samples of the strategy, "
                f"got {n_best}."
            )
        return self

    def search(self, step, task):
        """Draw the samples; see the base class."""

        def choose(log_probabilities, time):
            scaled = self._restrict(log_probabilities / self.temperature)
            return draw(scaled, self.noise(tf.shape(log_probabilities), time))

        return decode_single_path(step, task, choose, copies=self.samples).best_first()

    def noise(self, shape, time):
        """Return uniform noise in [0, 1) for a step."""
        if self.seed is None:
            return tf.random.uniform(shape)
        return uniform(shape, tf.stack([self.seed, time]))

    def _restrict(self, logits):
        """Forbid the tokens that `top_k`, `top_p` and `min_p` exclude."""
        kept = logits
        if self.top_k is not None:
            size = logits.shape[-1] or tf.shape(logits)[-1]
            lowest = tf.math.top_k(logits, tf.minimum(self.top_k, size))[0][:, -1:]
            kept = tf.where(logits < lowest, -math.inf, kept)
        if self.top_p < 1:
            descending = tf.sort(logits, axis=-1, direction="DESCENDING")
            before = tf.cumsum(tf.nn.softmax(descending), axis=-1, exclusive=True)
            lowest = tf.reduce_min(
                tf.where(before < self.top_p, descending, math.inf), axis=-1, keepdims=True
            )
            kept = tf.where(logits < lowest, -math.inf, kept)
        if self.min_p > 0:
            lowest = tf.reduce_max(logits, axis=-1, keepdims=True) + math.log(self.min_p)
            kept = tf.where(logits < lowest, -math.inf, kept)
        return kept

    def get_config(self):
        """Return the constructor arguments."""
        names = ("samples", "temperature", "top_k", "top_p", "min_p", "seed")
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}
