"""Base class of all searches, and their arguments and results."""

import abc
from typing import NamedTuple

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_integer, check_positive
from keras_seqzoo.decoding.constraints import check_constraints, constrain, times_source
from keras_seqzoo.decoding.forced_prefix import force_prefix
from keras_seqzoo.decoding.step_function import StepFunction, check_step
from keras_seqzoo.decoding.token_ids import as_token_ids, check_end_tokens
from keras_seqzoo.tensors import dimension


class Hypotheses(NamedTuple):
    """The hypotheses that a search found for each row of a batch, best first.

    B is the batch, N the hypotheses per row, L the maximum length and S the source positions. A row
    with fewer than N hypotheses (a tiny vocabulary, or most tokens forbidden) is filled up with
    empty ones: length 0, log probability and score `-inf`.

    Attributes:
        tokens: `(B, N, L)` int32, without the start token, with the end token of finished
            hypotheses, then padding.
        lengths: `(B, N)` int32, including the end token.
        log_probabilities: `(B, N)` float32, summed over the tokens.
        scores: `(B, N)` float32, what the search ranks by.
        alignments: `(B, N, L, S)` float32, zero at padding; `None` without `alignment`.
    """

    tokens: tf.Tensor
    lengths: tf.Tensor
    log_probabilities: tf.Tensor
    scores: tf.Tensor
    alignments: tf.Tensor | None

    def best_first(self):
        """Return the hypotheses of each row sorted by score."""
        scores, order = tf.math.top_k(self.scores, self.scores.shape[1])
        rest = {
            name: None if tensor is None else tf.gather(tensor, order, batch_dims=1)
            for name, tensor in self._asdict().items()
        }
        return Hypotheses(**{**rest, "scores": scores})


class SearchTask(NamedTuple):
    """The checked arguments of a search.

    Attributes:
        start_tokens: int32 tensor `(B,)`.
        end_tokens: tuple of ints or scalar int32 tensors, at least one.
        max_length: int or scalar tensor, the length L of the result.
        limits: int32 tensor `(B,)`, the maximum tokens of each row, at most `max_length`.
        pad_token: int32 scalar tensor.
        source_lengths: int32 tensor `(B,)` or `None`.
        required_phrases: int32 tensor `(B, C, P)`, padded with -1, or `None`.
        shrink: bool, whether the number of rows may shrink from step to step.
    """

    start_tokens: tf.Tensor
    end_tokens: tuple
    max_length: int
    limits: tf.Tensor
    pad_token: tf.Tensor
    source_lengths: tf.Tensor | None
    required_phrases: tf.Tensor | None = None
    shrink: bool = False

    def select(self, rows):
        """Return the task of some `LiveRows`."""
        return self._replace(
            **{
                name: rows.take(value)
                for name in ("start_tokens", "limits", "source_lengths", "required_phrases")
                if (value := getattr(self, name)) is not None
            }
        )


class DecodingStrategy(abc.ABC):
    """Base class of searches for likely sequences.

    A strategy is independent of the model. It is called with a *step function*

        step(tokens, state) -> (log_probabilities, state)

    The function takes the last token of each hypothesis, `(rows,)` int32, and returns the log
    probabilities of the next one, `(rows, V)` float32, at most 0; `-inf` forbids a token. `state`
    is any nest of tensors with first dimension `rows`; dtypes and shapes stay the same from step to
    step. A beam search runs `rows = batch * width` and reorders the state after each step. So
    everything that differs between the rows of the batch must be in the state, or in the *memory*:
    tensors that never change and are the same for all hypotheses of a row, such as an encoded
    source. With a memory the step function is

        step(tokens, state, memory) -> (log_probabilities, state)

    The memory is neither repeated nor reordered: each of its rows belongs to `rows / batch`
    consecutive hypotheses.

    Only core TensorFlow ops are used. A search runs eagerly, in a `tf.function`, under XLA (with
    static shapes) and in a SavedModel (where the batch and `max_length` may be unknown). There is
    nothing that AutoGraph must convert: `tf.function(autograph=False)` saves seconds. Subclasses
    implement `search` and `get_config`, and are registered with
    `keras.saving.register_keras_serializable`.

    Args:
        constraints: List of `keras_seqzoo.decoding.Constraint`s.
        max_source_ratio: Float above 0 or `None`. Also limits each row to this factor times the
            length of its source, rounded up (end tokens included), but never below its prefix.
            Requires `source_lengths`.
        check_values: Bool, for debugging. Whether graphs check at every step that the rows of the
            log probabilities match the tokens, that they are at most 0 and not NaN, and that
            `prefix` is in the vocabulary. Eager searches always check, XLA never does.

    Call arguments:
        step: Step function.
        state: State before the first step, first dimension `B`.
        start_tokens: `(B,)` int32, the token each row starts from.
        end_token: Int or list of ints, the tokens that finish a hypothesis.
        max_length: Int or scalar int32 tensor, at least 0: the maximum number of tokens per
            hypothesis, with the end token but not the start token.
        pad_token: Int, the token after the end of a hypothesis in the result, never fed to `step`.
        alignment: `None`, or a function that reads the attention weights `(rows, S)` of the last
            step from the state. For the start state, only the shape of its result is used.
        source_lengths: `None` or `(B,)` int32, the tokens of each row's source.
        prefix: `None` or `(B, P)` int32, the first tokens of all hypotheses of a row, after the
            start token. They have probability 1, count in the length and ignore constraints.
        prefix_mask: `None` or `(B, P)` bool, `True` at the prefix tokens of each row, from the
            left; by default all.
        required_phrases: `None` or `(B, C, P)` int32, padded with -1. For
            `LexicallyConstrainedBeamSearch` only: up to C phrases of up to P tokens that all
            hypotheses of a row must contain.
        memory: `None` or a nest of tensors with first dimension `B`, see above.
        shrink: Bool, whether a beam search may drop finished rows to save time; `step` then gets
            fewer rows. The result is the same. Shapes change, so XLA cannot compile it.

    Returns:
        `Hypotheses`, with `tokens (B, N, max_length)` int32.

    Raises:
        ValueError: If an argument or a result of `step` has the wrong shape or value.
        TypeError: If `step` changes a dtype of the state.
        tf.errors.InvalidArgumentError: If a check of `check_values` fails.
    """

    needs_alignment = False  # whether the search reads the attention weights
    takes_phrases = False
    needs_static_length = False  # whether `max_length` must be an int

    def __init__(self, constraints=(), max_source_ratio=None, check_values=False):
        self.constraints = check_constraints(constraints)
        if max_source_ratio is not None:
            max_source_ratio = check_positive("max_source_ratio", max_source_ratio)
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
        required_phrases=None,
        memory=None,
        shrink=False,
    ):
        """Run the search; see the class docstring."""
        start_tokens = as_token_ids("start_tokens", start_tokens)
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
                    f"`source_lengths` must have the shape of `start_tokens`, "
                    f"{start_tokens.shape}, got shape {source_lengths.shape}."
                )
        limits = self._limits(dimension(start_tokens, 0), max_length, source_lengths)
        if prefix is not None:
            if prefix_mask is None:
                prefix_mask = tf.ones_like(prefix, tf.bool)
            prefix_mask = tf.convert_to_tensor(prefix_mask)
            _check_prefix(prefix_mask, max_length)
            # The source never limits a row to less than its prefix.
            given = tf.reduce_sum(tf.cast(prefix_mask, tf.int32), axis=-1)
            limits = tf.minimum(tf.maximum(limits, given), tf.cast(max_length, tf.int32))
        task = SearchTask(
            start_tokens,
            end_tokens,
            max_length,
            limits,
            pad_token,
            source_lengths,
            self._check_phrases(required_phrases, start_tokens),
            shrink,
        )
        if self.constraints:
            step, state = constrain(step, state, self.constraints, task)
            alignment = _read_inner_state(alignment)
        if prefix is not None:
            step, state = force_prefix(step, state, prefix, prefix_mask, self.check_values)
            alignment = _read_inner_state(alignment)
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
                    f"`required_phrases` must be None for a {type(self).__name__}: only a "
                    f"LexicallyConstrainedBeamSearch takes them, got {phrases!r}."
                )
            return None
        if phrases is None:
            raise ValueError(
                f"`required_phrases` must be given to a {type(self).__name__}, got None."
            )
        phrases = tf.cast(tf.convert_to_tensor(phrases), tf.int32)
        if phrases.shape.rank != 3 or not phrases.shape[:1].is_compatible_with(start_tokens.shape):
            raise ValueError(
                "`required_phrases` must have shape (batch, phrases, length) with the batch of "
                f"`start_tokens`, {start_tokens.shape}, got shape {phrases.shape}."
            )
        return phrases

    @property
    def max_hypotheses(self):
        """The largest `n_best` of the strategy."""
        return 1

    def with_n_best(self, n_best):
        """Return a strategy that finds at least `n_best` hypotheses per row, the best first.

        Raises:
            ValueError: If `n_best` is above `max_hypotheses`.
        """
        if n_best != 1:
            raise ValueError(
                f"`n_best` must be 1 for a {type(self).__name__}, which finds one hypothesis, "
                f"got {n_best}."
            )
        return self

    @abc.abstractmethod
    def search(self, step, task):
        """Run the search with checked arguments.

        Args:
            step: `StepFunction`.
            task: `SearchTask`.

        Returns:
            `Hypotheses`.
        """

    def get_config(self):
        """Return the constructor arguments."""
        return {
            "constraints": [keras.saving.serialize_keras_object(x) for x in self.constraints],
            "max_source_ratio": self.max_source_ratio,
            "check_values": self.check_values,
        }

    @classmethod
    def from_config(cls, config):
        """Create a strategy from the constructor arguments."""
        return cls(**config)


def _check_prefix(mask, max_length):
    """Raise `ValueError` if a prefix is known to be longer than `max_length`."""
    known = tf.get_static_value(mask)
    if known is not None and known.ndim == 2 and isinstance(max_length, int):
        for row, count in enumerate(known.sum(axis=1)):
            if count > max_length:
                raise ValueError(
                    f"`prefix` must have at most `max_length` ({max_length}) tokens, "
                    f"got {count} in row {row}."
                )


def _read_inner_state(alignment):
    """Return a function that applies `alignment` to the state inside a wrapped state."""
    return None if alignment is None else lambda state: alignment(state["inner"])
