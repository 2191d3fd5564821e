"""What a search must not, or must, write: changes of the next token's distribution."""

import abc
import math
from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_integer, check_number
from keras_seqzoo.decoding.end_tokens import is_any_of
from keras_seqzoo.tensors import dimension


def times_source(name, ratio, source_lengths, up):
    """Multiplies lengths of sources with a ratio and rounds, up or down.

    Args:
        name: string, the argument that the ratio is.
        ratio: float.
        source_lengths: int32 tensor `(B,)`, or `None`, which is an error.
        up: bool.

    Returns:
        int32 tensor `(B,)`.
    """
    if source_lengths is None:
        raise ValueError(f"`{name}` needs the search's `source_lengths`, got None.")
    scaled = ratio * tf.cast(source_lengths, tf.float64)
    # The tolerance is for ratios such as 1.2 that are no binary fractions.
    rounded = tf.math.ceil(scaled - 1e-6) if up else tf.floor(scaled + 1e-6)
    return tf.cast(tf.minimum(rounded, 2.0**30), tf.int32)


class Written(NamedTuple):
    """What a constraint may look at.

    Attributes:
        tokens: int32 tensor `(rows, L)`, the tokens of each hypothesis so far, the start token not
            among them; `None` unless a constraint `reads_tokens`.
        counts: int32 tensor `(rows,)`, how many these are.
        end_tokens: tuple of ints or scalar int32 tensors, at least one: each finishes a hypothesis.
        source_lengths: int32 tensor `(rows,)` or `None`.
    """

    tokens: tf.Tensor | None
    counts: tf.Tensor
    end_tokens: tuple
    source_lengths: tf.Tensor | None


class Constraint(abc.ABC):
    """Changes the distribution of the next token by what is written.

    A new constraint implements `apply` and `get_config`, and is registered with
    `keras.saving.register_keras_serializable`.

    Attributes:
        reads_tokens: whether `apply` needs the tokens themselves.
    """

    reads_tokens = False

    def check(self, max_length):  # noqa: B027 (most have nothing to check)
        """Raises a ValueError if nothing of at most `max_length` tokens, an int, can meet it."""

    @abc.abstractmethod
    def apply(self, log_probabilities, written):
        """Return the changed log probabilities.

        Args:
            log_probabilities: float32 tensor `(rows, V)`.
            written: `Written`. Of its `end_tokens` there may be several.

        Returns:
            float32 tensor `(rows, V)`; `-inf` forbids a token.
        """

    def get_config(self):
        """Returns the constructor arguments."""
        return {}

    @classmethod
    def from_config(cls, config):
        """Makes a constraint from the constructor arguments."""
        return cls(**config)


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class ForbiddenTokens(Constraint):
    """Never writes some tokens.

    Args:
        tokens: ids, at least one.

    Raises:
        ValueError: if there is none or one is below 0, and in a search if one is not in the
            vocabulary.
    """

    def __init__(self, tokens):
        self.tokens = sorted({int(token) for token in tokens})
        if not self.tokens or self.tokens[0] < 0:
            raise ValueError(f"`tokens` must be ids of at least 0, got {self.tokens}.")

    def apply(self, log_probabilities, written):
        """Forbids them."""
        vocabulary = log_probabilities.shape[-1]
        if vocabulary is None:
            forbidden = tf.reduce_any(
                tf.range(tf.shape(log_probabilities)[-1])[:, tf.newaxis] == self.tokens, axis=-1
            )
        elif self.tokens[-1] >= vocabulary:
            raise ValueError(
                f"`tokens` must be in the vocabulary of {vocabulary}, got {self.tokens[-1]}."
            )
        else:
            forbidden = np.isin(np.arange(vocabulary), self.tokens)
        return tf.where(forbidden, -math.inf, log_probabilities)

    def get_config(self):
        """Returns the constructor arguments."""
        return {"tokens": self.tokens}


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class MinimumLength(Constraint):
    """Forbids the end token before a hypothesis has as many tokens, the end not counted.

    Args:
        length: int, at least 0.
        source_ratio: float, at least 0: also as many tokens as this times the source's (its end
            token counted), rounded down. It needs the search's `source_lengths`.

    Raises:
        ValueError: if an argument is out of its range, or `source_lengths` is missing.
    """

    def __init__(self, length=0, source_ratio=0.0):
        self.length = check_integer("length", length, minimum=0)
        self.source_ratio = check_number("source_ratio", source_ratio, minimum=0)

    def check(self, max_length):
        """Compares the length with the limit."""
        if self.length > max_length:
            raise ValueError(
                f"A MinimumLength of {self.length} cannot be met: `max_length` is {max_length}."
            )

    def apply(self, log_probabilities, written):
        """Forbids the end token in rows that are too short."""
        needed = self.length
        if self.source_ratio:
            scaled = times_source(
                "source_ratio", self.source_ratio, written.source_lengths, up=False
            )
            needed = tf.maximum(needed, scaled)
        short = (written.counts < needed)[:, tf.newaxis]
        return tf.where(short & _is_end(log_probabilities, written), -math.inf, log_probabilities)

    def get_config(self):
        """Returns the constructor arguments."""
        return {"length": self.length, "source_ratio": self.source_ratio}


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class EndThreshold(Constraint):
    """Lets a hypothesis end only where the end is likely enough beside the likeliest other token.

    The end token is forbidden unless `log P(end) >= factor · max_{y ≠ end} log P(y)` (Hannun et
    al. 2019, Sequence-to-sequence speech recognition with time-depth separable convolutions,
    section 3.2): it keeps a search from stopping at a halfway good place.

    Args:
        factor: float, at least 0; with 1 the end must be the likeliest of all tokens.

    Raises:
        ValueError: if `factor` is no number of at least 0.
    """

    def __init__(self, factor=1.5):
        self.factor = check_number("factor", factor, minimum=0)

    def apply(self, log_probabilities, written):
        """Forbids the end token in rows where it is not likely enough."""
        is_end = _is_end(log_probabilities, written)
        others = tf.where(is_end, -math.inf, log_probabilities)
        highest = tf.reduce_max(others, axis=-1, keepdims=True)
        # Where nothing else is possible, the end is.
        allowed = (log_probabilities >= self.factor * highest) | tf.math.is_inf(highest)
        return tf.where(is_end & ~allowed, -math.inf, log_probabilities)

    def get_config(self):
        """Returns the constructor arguments."""
        return {"factor": self.factor}


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class NoRepeatedNGrams(Constraint):
    """Never writes the same n tokens in a row twice (Paulus et al. 2018, section 2.5).

    The end token may always come.

    Args:
        size: int, at least 1, the n; 1 forbids every token that was written.

    Raises:
        ValueError: if `size` is no number of at least 1.
    """

    reads_tokens = True

    def __init__(self, size):
        self.size = check_integer("size", size, minimum=1)

    def apply(self, log_probabilities, written):
        """Forbids what followed the last n - 1 tokens before."""
        tokens, counts = written.tokens, written.counts[:, tf.newaxis]  # (rows, L), (rows, 1)
        length = dimension(tokens, 1)
        position = tf.range(length)
        # A place is repeated if the n - 1 tokens before it are the last n - 1 of all.
        repeated = (position >= self.size - 1) & (position < counts)
        for back in range(1, self.size):
            before = tf.roll(tokens, back, axis=1)
            last = tf.gather(tokens, tf.maximum(counts - back, 0), batch_dims=1)  # (rows, 1)
            repeated &= before == last
        forbidden = _mark(tokens, repeated, log_probabilities)
        forbidden &= ~_is_end(log_probabilities, written)
        return tf.where(forbidden, -math.inf, log_probabilities)

    def get_config(self):
        """Returns the constructor arguments."""
        return {"size": self.size}


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class RepetitionPenalty(Constraint):
    """Makes tokens that were written less likely.

    `P'(y) ∝ P(y)^penalty` for written tokens and `P'(y) ∝ P(y)` for others, with the sum that P had
    (1, unless something was forbidden). Keskar et al. 2019, CTRL, divide logits, which depends on
    where their zero is; this does not. Log probabilities and scores are those of P'.

    Args:
        penalty: float, at least 1; 1 changes nothing.

    Raises:
        ValueError: if `penalty` is no number of at least 1.
    """

    reads_tokens = True

    def __init__(self, penalty=1.2):
        self.penalty = check_number("penalty", penalty, minimum=1)

    def apply(self, log_probabilities, written):
        """Multiplies the log probabilities of written tokens, and normalises again."""
        tokens = written.tokens
        valid = tf.range(dimension(tokens, 1)) < written.counts[:, tf.newaxis]
        seen = _mark(tokens, valid, log_probabilities)
        penalised = tf.where(seen, self.penalty * log_probabilities, log_probabilities)
        # Not log_softmax, which makes NaN of a row that is all -inf.
        before, after = (
            tf.reduce_logsumexp(x, axis=-1, keepdims=True) for x in (log_probabilities, penalised)
        )
        return tf.where(tf.math.is_inf(penalised), -math.inf, penalised + (before - after))

    def get_config(self):
        """Returns the constructor arguments."""
        return {"penalty": self.penalty}


def constrain(step, state, constraints, task):
    """Makes a step function whose distributions the constraints have changed, one after another.

    Args:
        step: a step function, see `DecodingStrategy`.
        state: its start state.
        constraints: list of `Constraint`s.
        task: `SearchTask`.

    Returns:
        A tuple `(step, state)`; the state holds the given one under `"inner"`.

    Raises:
        ValueError: if a constraint cannot be met in the length of the task.
    """
    if isinstance(task.max_length, int):
        for constraint in constraints:
            constraint.check(task.max_length)
    batch = dimension(task.start_tokens, 0)
    reads_tokens = any(constraint.reads_tokens for constraint in constraints)
    state = {
        "inner": state,
        "tokens": tf.zeros([batch, task.max_length], tf.int32) if reads_tokens else None,
        "counts": tf.fill([batch], -1),  # the start token is not counted
        "source_lengths": task.source_lengths,
    }

    def constrained(tokens, state, *memory):
        log_probabilities, inner = step(tokens, state["inner"], *memory)
        log_probabilities = tf.cast(log_probabilities, tf.float32)
        written, counts = state["tokens"], state["counts"] + 1
        if reads_tokens:
            here = tf.range(tf.shape(written)[1]) == counts[:, tf.newaxis] - 1
            written = tf.where(here, tokens[:, tf.newaxis], written)
        context = Written(written, counts, task.end_tokens, state["source_lengths"])
        for constraint in constraints:
            log_probabilities = constraint.apply(log_probabilities, context)
        return log_probabilities, {**state, "inner": inner, "tokens": written, "counts": counts}

    return constrained, state


def check_constraints(constraints):
    """Returns a list of constraints, or raises an error; configurations are made to objects."""
    constraints = [
        keras.saving.deserialize_keras_object(constraint)
        if isinstance(constraint, dict)
        else constraint
        for constraint in constraints
    ]
    for constraint in constraints:
        if not isinstance(constraint, Constraint):
            raise ValueError(f"`constraints` must be `Constraint` objects, got {constraint!r}.")
    return constraints


def _is_end(log_probabilities, written):
    return is_any_of(tf.range(tf.shape(log_probabilities)[-1]), written.end_tokens)  # (V,)


def _mark(tokens, chosen, log_probabilities):
    """Gives for each row which tokens of the vocabulary stand at a chosen place: `(rows, V)`."""
    shape = tf.shape(log_probabilities)
    rows = tf.range(shape[0])[:, tf.newaxis] + tf.zeros_like(tokens)
    places = tf.stack([rows, tokens], axis=-1)  # (rows, L, 2)
    return tf.scatter_nd(places, tf.cast(chosen, tf.int32), shape) > 0
