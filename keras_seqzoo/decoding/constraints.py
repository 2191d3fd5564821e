"""Constraints, which change the distribution of the next token in a search."""

import abc
import math
from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_integer, check_number
from keras_seqzoo.decoding.token_ids import is_one_of
from keras_seqzoo.tensors import dimension


def times_source(name, ratio, source_lengths, up):
    """Return `ratio` times the source lengths, rounded up or down.

    Args:
        name: string, the argument that has the ratio.
        ratio: float.
        source_lengths: int32 tensor `(B,)`, or `None`, which is an error.
        up: bool.

    Returns:
        int32 tensor `(B,)`.
    """
    if source_lengths is None:
        raise ValueError(f"`source_lengths` must be given for `{name}`, got None.")
    scaled = ratio * tf.cast(source_lengths, tf.float64)
    # The tolerance is for ratios such as 1.2 that are not binary fractions.
    rounded = tf.math.ceil(scaled - 1e-6) if up else tf.floor(scaled + 1e-6)
    return tf.cast(tf.minimum(rounded, 2.0**30), tf.int32)


class Context(NamedTuple):
    """What a constraint depends on.

    Attributes:
        tokens: int32 tensor `(rows, L)`, the tokens of each hypothesis so far, without the start
            token; `None` unless a constraint `reads_tokens`.
        counts: int32 tensor `(rows,)`, the number of these tokens.
        end_tokens: tuple of ints or scalar int32 tensors, each of which finishes a hypothesis.
        source_lengths: int32 tensor `(rows,)` or `None`.
    """

    tokens: tf.Tensor | None
    counts: tf.Tensor
    end_tokens: tuple
    source_lengths: tf.Tensor | None


class Constraint(abc.ABC):
    """Base class of constraints on the next token, which depend on the tokens so far.

    Subclasses implement `apply` and `get_config`, and are registered with
    `keras.saving.register_keras_serializable`.

    Attributes:
        reads_tokens: whether `apply` reads `Context.tokens`.
    """

    reads_tokens = False

    def check(self, max_length):  # noqa: B027 (most have nothing to check)
        """Raise `ValueError` if no hypothesis of at most `max_length` (int) tokens can meet it."""

    @abc.abstractmethod
    def apply(self, log_probabilities, context):
        """Return the changed log probabilities.

        Args:
            log_probabilities: float32 tensor `(rows, V)`.
            context: `Context`.

        Returns:
            float32 tensor `(rows, V)`; `-inf` forbids a token.
        """

    def get_config(self):
        """Return the constructor arguments."""
        return {}

    @classmethod
    def from_config(cls, config):
        """Create a constraint from the constructor arguments."""
        return cls(**config)


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class ForbiddenTokens(Constraint):
    """Constraint that forbids some tokens.

    Args:
        tokens: list of at least one id.

    Raises:
        ValueError: if there is no id or one is below 0; in a search, if one is not in the
            vocabulary.
    """

    def __init__(self, tokens):
        self.tokens = sorted({int(token) for token in tokens})
        if not self.tokens or self.tokens[0] < 0:
            raise ValueError(f"`tokens` must be ids of at least 0, got {self.tokens}.")

    def apply(self, log_probabilities, context):
        """Forbid the tokens."""
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
        """Return the constructor arguments."""
        return {"tokens": self.tokens}


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class MinimumLength(Constraint):
    """Constraint that forbids the end token until a hypothesis has a minimum of other tokens.

    Args:
        length: int, at least 0, the minimum.
        source_ratio: float, at least 0. The minimum is also at least this factor times the length
            of the source (including its end token), rounded down. Requires `source_lengths`.

    Raises:
        ValueError: if an argument is out of its range, or `source_lengths` is missing.
    """

    def __init__(self, length=0, source_ratio=0.0):
        self.length = check_integer("length", length, minimum=0)
        self.source_ratio = check_number("source_ratio", source_ratio, minimum=0)

    def check(self, max_length):
        """Raise `ValueError` if the length exceeds the limit."""
        if self.length > max_length:
            raise ValueError(
                f"`max_length` must be at least the {self.length} of MinimumLength, "
                f"got {max_length}."
            )

    def apply(self, log_probabilities, context):
        """Forbid the end token in rows that are too short."""
        needed = self.length
        if self.source_ratio:
            scaled = times_source(
                "source_ratio", self.source_ratio, context.source_lengths, up=False
            )
            needed = tf.maximum(needed, scaled)
        short = (context.counts < needed)[:, tf.newaxis]
        return tf.where(short & _is_end(log_probabilities, context), -math.inf, log_probabilities)

    def get_config(self):
        """Return the constructor arguments."""
        return {"length": self.length, "source_ratio": self.source_ratio}


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class EndThreshold(Constraint):
    """Constraint that allows the end token only where it is likely enough.

    The end token is forbidden unless `log P(end) >= factor · max_{y ≠ end} log P(y)` (Hannun et
    al. 2019, Sequence-to-sequence speech recognition with time-depth separable convolutions,
    section 3.2). This prevents hypotheses from ending early.

    Args:
        factor: float, at least 0; with 1 the end must be the most likely of all tokens.

    Raises:
        ValueError: if `factor` is not a number of at least 0.
    """

    def __init__(self, factor=1.5):
        self.factor = check_number("factor", factor, minimum=0)

    def apply(self, log_probabilities, context):
        """Forbid the end token in rows where it is not likely enough."""
        is_end = _is_end(log_probabilities, context)
        others = tf.where(is_end, -math.inf, log_probabilities)
        highest = tf.reduce_max(others, axis=-1, keepdims=True)
        # The end is allowed if nothing else is.
        allowed = (log_probabilities >= self.factor * highest) | tf.math.is_inf(highest)
        return tf.where(is_end & ~allowed, -math.inf, log_probabilities)

    def get_config(self):
        """Return the constructor arguments."""
        return {"factor": self.factor}


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class NoRepeatedNGrams(Constraint):
    """Constraint that forbids repeated n-grams (Paulus et al. 2018, section 2.5).

    The end token is always allowed.

    Args:
        size: int, at least 1, the n; 1 forbids repeating any token.

    Raises:
        ValueError: if `size` is not an int of at least 1.
    """

    reads_tokens = True

    def __init__(self, size):
        self.size = check_integer("size", size, minimum=1)

    def apply(self, log_probabilities, context):
        """Forbid the tokens that followed earlier occurrences of the last n - 1 tokens."""
        tokens, counts = context.tokens, context.counts[:, tf.newaxis]  # (rows, L), (rows, 1)
        length = dimension(tokens, 1)
        position = tf.range(length)
        # Find the places after an earlier occurrence of the last n - 1 tokens.
        repeated = (position >= self.size - 1) & (position < counts)
        for back in range(1, self.size):
            before = tf.roll(tokens, back, axis=1)
            last = tf.gather(tokens, tf.maximum(counts - back, 0), batch_dims=1)  # (rows, 1)
            repeated &= before == last
        forbidden = _mark(tokens, repeated, log_probabilities)
        forbidden &= ~_is_end(log_probabilities, context)
        return tf.where(forbidden, -math.inf, log_probabilities)

    def get_config(self):
        """Return the constructor arguments."""
        return {"size": self.size}


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class RepetitionPenalty(Constraint):
    """Constraint that makes it less likely that tokens of the hypothesis are repeated.

    `P'(y) ∝ P(y)^penalty` for tokens of the hypothesis and `P'(y) ∝ P(y)` for others. P' has the
    same sum as P (1, unless tokens are forbidden). Keskar et al. 2019, CTRL, divide logits instead,
    so their result depends on the offset of the logits. Log probabilities and scores are computed
    from P'.

    Args:
        penalty: float, at least 1; 1 changes nothing.

    Raises:
        ValueError: if `penalty` is not a number of at least 1.
    """

    reads_tokens = True

    def __init__(self, penalty=1.2):
        self.penalty = check_number("penalty", penalty, minimum=1)

    def apply(self, log_probabilities, context):
        """Multiply the log probabilities of repeated tokens and normalize again."""
        tokens = context.tokens
        valid = tf.range(dimension(tokens, 1)) < context.counts[:, tf.newaxis]
        seen = _mark(tokens, valid, log_probabilities)
        penalized = tf.where(seen, self.penalty * log_probabilities, log_probabilities)
        # Not log_softmax: for a row of only -inf it is NaN.
        before, after = (
            tf.reduce_logsumexp(x, axis=-1, keepdims=True) for x in (log_probabilities, penalized)
        )
        return tf.where(tf.math.is_inf(penalized), -math.inf, penalized + (before - after))

    def get_config(self):
        """Return the constructor arguments."""
        return {"penalty": self.penalty}


def constrain(step, state, constraints, task):
    """Create a step function that applies constraints in order.

    Args:
        step: a step function, see `DecodingStrategy`.
        state: its start state.
        constraints: list of `Constraint`s.
        task: `SearchTask`.

    Returns:
        A tuple `(step, state)`; the given state is under `"inner"`.

    Raises:
        ValueError: if a constraint cannot be met within the length of the task.
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
        context = Context(written, counts, task.end_tokens, state["source_lengths"])
        for constraint in constraints:
            log_probabilities = constraint.apply(log_probabilities, context)
        return log_probabilities, {**state, "inner": inner, "tokens": written, "counts": counts}

    return constrained, state


def check_constraints(constraints):
    """Return a list of constraints, deserialized where necessary; raise `ValueError` for others."""
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


def _is_end(log_probabilities, context):
    return is_one_of(tf.range(tf.shape(log_probabilities)[-1]), context.end_tokens)  # (V,)


def _mark(tokens, chosen, log_probabilities):
    """Return which tokens of the vocabulary are at a chosen place in each row: `(rows, V)`."""
    shape = tf.shape(log_probabilities)
    rows = tf.range(shape[0])[:, tf.newaxis] + tf.zeros_like(tokens)
    places = tf.stack([rows, tokens], axis=-1)  # (rows, L, 2)
    return tf.scatter_nd(places, tf.cast(chosen, tf.int32), shape) > 0
