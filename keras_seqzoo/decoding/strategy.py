"""The contract of every search."""

import abc
from typing import NamedTuple

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_integer, check_number
from keras_seqzoo.decoding.constraints import check_constraints, constrain, times_source
from keras_seqzoo.decoding.end_tokens import as_ids, check_end_tokens
from keras_seqzoo.decoding.forced_prefix import force_prefix
from keras_seqzoo.decoding.step_function import StepFunction, check_step
from keras_seqzoo.tensors import dimension


class SearchTask(NamedTuple):
    """What is asked of a search, checked.

    Attributes:
        start_tokens: int32 tensor `(B,)`.
        end_tokens: tuple of ints or scalar int32 tensors, at least one.
        max_length: int or scalar tensor, the length L of what is returned.
        limits: int32 tensor `(B,)`, the most tokens of each row, at most `max_length`.
        pad_token: int32 scalar tensor.
        source_lengths: int32 tensor `(B,)` or `None`.
        phrases: int32 tensor `(B, C, P)`, -1 where there is none, or `None`.
        shrink: bool, whether shapes may change from step to step.
    """

    start_tokens: tf.Tensor
    end_tokens: tuple
    max_length: int
    limits: tf.Tensor
    pad_token: tf.Tensor
    source_lengths: tf.Tensor | None
    phrases: tf.Tensor | None = None
    shrink: bool = False

    def of(self, rows):
        """Returns the task of some `LiveRows`."""
        return self._replace(
            **{
                name: rows.take(value)
                for name in ("start_tokens", "limits", "source_lengths", "phrases")
                if (value := getattr(self, name)) is not None
            }
        )


class DecodingStrategy(abc.ABC):
    """A way of searching for the sequences that a model finds likely.

    A strategy knows no model. It is called with a *step function*

        step(tokens, state) -> (log_probabilities, state)

    that takes the last token of each hypothesis, `(rows,)` int32, and gives the log probabilities
    of the next one, `(rows, V)` float32, at most 0; `-inf` forbids a token. `state` is any nest of
    tensors whose first dimension is `rows`, of any dtypes and further dimensions, which stay as
    they are from step to step. A search with a beam runs `rows = batch * width` and reorders the
    state after each step, so whatever differs between the rows of the batch must be in the state,
    or in a *memory* beside it: what is the same for all hypotheses of a row and never changes, such
    as an encoded source. With one the step function is

        step(tokens, state, memory) -> (log_probabilities, state)

    and the memory is neither repeated nor reordered: to each of its rows belong `rows / batch`
    hypotheses, which stand one after the other.

    It uses core TensorFlow ops only. It runs eagerly, in a `tf.function`, under XLA (where the
    shapes must be static) and inside a SavedModel (where the batch and `max_length` may be
    unknown). A new strategy implements `search` and `get_config`, and is registered with
    `keras.saving.register_keras_serializable`.

    Args:
        constraints: a list of `keras_seqzoo.decoding.Constraint`s.
        max_source_ratio: float above 0 or `None`: also limits each row to as many tokens as this
            times its source's (the end token counted in both), rounded up, and to no fewer than a
            prefix has. It needs `source_lengths`.
        check_values: Bool, for debugging: whether a graph checks at every step that there are as
            many rows as tokens, that log probabilities are at most 0 and no NaN, and that `prefix`
            is in the vocabulary. An eager search always does, XLA never.

    Call arguments:
        step: The step function.
        state: The state before the first step, first dimension `B`.
        start_tokens: `(B,)` int32, the token each row starts from.
        end_token: Int, id of the token that finishes a hypothesis; or a list of several that do.
        max_length: Int or scalar int32 tensor, at least 0: tokens per hypothesis at most, the end
            token counted, the start token not.
        pad_token: Int, what follows the end of a hypothesis in the result. Never fed to `step`.
        alignment: `None`, or a function that reads the attention weights `(rows, S)` of the last
            step from the state. It must also take the start state, of which only its shape counts.
        source_lengths: `None` or `(B,)` int32, the tokens of each row's source, for what depends on
            them.
        prefix: `None` or `(B, P)` int32, tokens that hypotheses begin with, after the start token.
            They have probability 1, count in the length, and no constraint forbids them.
        prefix_mask: `None` or `(B, P)` bool, `True` at the given tokens of each row, from the left;
            by default all.
        phrases: `None` or `(B, C, P)` int32, for a `LexicallyConstrainedBeamSearch` alone: up to C
            phrases of up to P tokens that every hypothesis of a row must have, -1 after each and
            where a row has fewer.
        memory: `None` or a nest of tensors whose first dimension is `B`, see above.
        shrink: Bool, whether rows of the batch that are done may be left out of later steps, so
            that these cost less: `step` then gets fewer rows. A beam search does it, whatever it
            returns stays the same. Shapes change in it, so it does not compile under XLA.

    Returns:
        `Hypotheses`, with `tokens (B, N, max_length)` int32.

    Raises:
        ValueError: If an argument has the wrong shape or value, or `step` returns what does not
            fit it.
        TypeError: If `step` changes a dtype of the state.
        tf.errors.InvalidArgumentError: If a check of `check_values` fails.
    """

    needs_alignment = False  # whether the search itself reads the attention weights
    takes_phrases = False
    needs_static_length = False  # whether `max_length` has to be an int

    def __init__(self, constraints=(), max_source_ratio=None, check_values=False):
        self.constraints = check_constraints(constraints)
        if max_source_ratio is not None:
            max_source_ratio = check_number("max_source_ratio", max_source_ratio)
            if max_source_ratio <= 0:
                raise ValueError(
                    f"`max_source_ratio` must be a number above 0, got {max_source_ratio}."
                )
        self.max_source_ratio = max_source_ratio
        self.check_values = bool(check_values)

    def __call__(
        self,
        step,
        state,
        start_tokens,
        end_token,
        max_length,
        pad_token=0,
        alignment=None,
        source_lengths=None,
        prefix=None,
        prefix_mask=None,
        phrases=None,
        memory=None,
        shrink=False,
    ):
        """Searches; see the class docstring."""
        start_tokens = as_ids("start_tokens", start_tokens)
        if start_tokens.shape.rank != 1:
            raise ValueError(
                f"`start_tokens` must have shape (batch,), got shape {start_tokens.shape}."
            )
        step = check_step(step, self.check_values)
        end_tokens = check_end_tokens(end_token)
        pad_token = tf.cast(pad_token, tf.int32)
        if not tf.is_tensor(max_length):
            max_length = check_integer("max_length", max_length, minimum=0)
        elif max_length.shape.rank != 0 or not max_length.dtype.is_integer:
            raise ValueError(
                "`max_length` must be an int or a scalar integer tensor, "
                f"got a tensor of {max_length.dtype.name} {max_length.shape}."
            )
        else:
            constant = tf.get_static_value(max_length)
            if constant is not None:
                max_length = check_integer("max_length", constant.item(), minimum=0)
            else:
                max_length = tf.cast(max_length, tf.int32)
        if source_lengths is not None:
            source_lengths = tf.cast(tf.convert_to_tensor(source_lengths), tf.int32)
            if not source_lengths.shape.is_compatible_with(start_tokens.shape):
                raise ValueError(
                    f"`source_lengths` must have shape {start_tokens.shape}, that of "
                    f"`start_tokens`, got shape {source_lengths.shape}."
                )
        limits = self._limits(dimension(start_tokens, 0), max_length, source_lengths)
        if prefix is not None:
            if prefix_mask is None:
                prefix_mask = tf.ones_like(prefix, tf.bool)
            prefix_mask = tf.convert_to_tensor(prefix_mask)
            _check_prefix(prefix_mask, max_length)
            # What is given is never cut by the length of the source.
            given = tf.reduce_sum(tf.cast(prefix_mask, tf.int32), axis=-1)
            limits = tf.minimum(tf.maximum(limits, given), tf.cast(max_length, tf.int32))
        task = SearchTask(
            start_tokens,
            end_tokens,
            max_length,
            limits,
            pad_token,
            source_lengths,
            self._check_phrases(phrases, start_tokens),
            shrink,
        )
        if self.constraints:
            step, state = constrain(step, state, self.constraints, task)
            alignment = _inside(alignment)
        if prefix is not None:
            step, state = force_prefix(step, state, prefix, prefix_mask, self.check_values)
            alignment = _inside(alignment)
        step = StepFunction(step, state, start_tokens, end_tokens, alignment, memory)
        return self.search(step, task)

    def _limits(self, batch, max_length, source_lengths):
        limits = tf.fill([batch], tf.cast(max_length, tf.int32))
        if self.max_source_ratio is None:
            return limits
        scaled = times_source("max_source_ratio", self.max_source_ratio, source_lengths, up=True)
        return tf.minimum(limits, scaled)

    def _check_phrases(self, phrases, start_tokens):
        if not self.takes_phrases:
            if phrases is not None:
                raise ValueError(
                    "`phrases` needs a LexicallyConstrainedBeamSearch, got them with a "
                    f"{type(self).__name__}."
                )
            return None
        if phrases is None:
            raise ValueError(f"A {type(self).__name__} needs `phrases`, got None.")
        phrases = tf.cast(tf.convert_to_tensor(phrases), tf.int32)
        if phrases.shape.rank != 3 or not phrases.shape[:1].is_compatible_with(start_tokens.shape):
            raise ValueError(
                "`phrases` must have shape (batch, phrases, length) with the batch of "
                f"`start_tokens`, {start_tokens.shape}, got shape {phrases.shape}."
            )
        return phrases

    @property
    def most_hypotheses(self):
        """The most hypotheses of a row that the strategy can give."""
        return 1

    def giving(self, n_best):
        """Makes a strategy that gives so many hypotheses of a row first, and perhaps others after.

        Raises:
            ValueError: if it cannot give so many.
        """
        if n_best != 1:
            raise ValueError(
                f"`n_best` must be 1 with a {type(self).__name__}, which gives one hypothesis, "
                f"got {n_best}."
            )
        return self

    @abc.abstractmethod
    def search(self, step, task):
        """Searches with checked arguments.

        Args:
            step: `StepFunction`.
            task: `SearchTask`.

        Returns:
            `Hypotheses`.
        """

    def get_config(self):
        """Returns the constructor arguments."""
        return {
            "constraints": [keras.saving.serialize_keras_object(x) for x in self.constraints],
            "max_source_ratio": self.max_source_ratio,
            "check_values": self.check_values,
        }

    @classmethod
    def from_config(cls, config):
        """Makes a strategy from the constructor arguments."""
        return cls(**config)


def _check_prefix(mask, max_length):
    """Refuses a prefix that is longer than what it begins, where numbers are known."""
    known = tf.get_static_value(mask)
    if known is not None and known.ndim == 2 and isinstance(max_length, int):
        for row, count in enumerate(known.sum(axis=1)):
            if count > max_length:
                raise ValueError(
                    f"`prefix` of row {row} has {count} tokens, and `max_length` is {max_length}."
                )


def _inside(alignment):
    """Makes a reader of the alignment of one that reads the state which is inside another."""
    return None if alignment is None else lambda state: alignment(state["inner"])
