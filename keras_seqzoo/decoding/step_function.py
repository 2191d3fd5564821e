"""Step functions as searches run them: checked, and over a flat list of tensors."""

import tensorflow as tf

from keras_seqzoo.decoding.rows import indices_of_copies, repeat_rows
from keras_seqzoo.tensors import dimension

# Rounding makes log probabilities of 0 slightly positive.
MAX_LOG_PROBABILITY = 0.1


def check_step(step, check_values=False):
    """Create a step function that checks that its result is a distribution of the next token.

    Static shapes are always checked, and values in eager calls.

    Args:
        step: a step function, see `DecodingStrategy`.
        check_values: bool, whether a graph checks values and dynamic shapes at run time.

    Returns:
        A step function with the same arguments and float32 log probabilities.
    """

    def checked(tokens, state, *memory):
        returned = step(tokens, state, *memory)
        if not isinstance(returned, (tuple, list)) or len(returned) != 2:
            got = f"a tensor {returned.shape}" if tf.is_tensor(returned) else repr(returned)
            raise ValueError(f"`step` must return `(log_probabilities, state)`, got {got}.")
        log_probabilities, state = returned
        log_probabilities = tf.cast(log_probabilities, tf.float32)
        shape, rows = log_probabilities.shape, tokens.shape[:1]
        if shape.rank not in (None, 2) or not shape[:1].is_compatible_with(rows):
            raise ValueError(
                "`step` must return log probabilities of shape (rows, vocabulary) for tokens of "
                f"shape (rows,), {tokens.shape}, got shape {shape}."
            )
        if tf.executing_eagerly():
            _check_values(log_probabilities)
        elif check_values:
            log_probabilities = _assert_values(log_probabilities, tokens)
        return log_probabilities, state

    return checked


def _check_values(log_probabilities):
    if not tf.reduce_all(log_probabilities <= MAX_LOG_PROBABILITY):  # False for NaN
        values = log_probabilities.numpy()
        got = "NaN" if (values != values).any() else f"{values.max():g}"
        raise ValueError(
            "`step` must return log probabilities of at most 0 (use `tf.nn.log_softmax` for "
            f"logits), got {got}."
        )


def _assert_values(log_probabilities, tokens):
    shape = tf.shape(log_probabilities)
    rows = tf.debugging.Assert(
        shape[0] == tf.shape(tokens)[0],
        ["`step` must return log probabilities of shape (rows, vocabulary), got:", shape]
        + ["for this number of tokens:", tf.shape(tokens)[0]],
    )
    values = tf.debugging.Assert(
        tf.reduce_all(log_probabilities <= MAX_LOG_PROBABILITY),
        ["`step` must return log probabilities of at most 0 and not NaN, got:"]
        + [log_probabilities],
    )
    with tf.control_dependencies([rows, values]):
        return tf.identity(log_probabilities)


class StepFunction:
    """Step function over a flat list of tensors, as `tf.while_loop` requires.

    The list has the tensors of the state and then those of the memory, without `None` leaves. The
    end tokens must be in the vocabulary, and the state must keep its structure and dtypes.

    Args:
        step: `step(tokens, state) -> (log_probabilities, state)`, or with a memory
            `step(tokens, state, memory)`; see `check_step`.
        state: Nest of tensors with the batch as first dimension.
        start_tokens: `(B,)` int32 tensor.
        end_tokens: Ids of the end tokens.
        alignment: `alignment(state) -> (rows, S)` or `None`.
        memory: Nest of tensors with the batch as first dimension, or `None`.

    Raises:
        ValueError: If a tensor has another first dimension.
    """

    def __init__(self, step, state, start_tokens, end_tokens, alignment=None, memory=None):  # noqa: D107
        self._step = step
        self._alignment = alignment
        self._end_tokens = [end for end in end_tokens if isinstance(end, int)]
        self._structure = (state,) if memory is None else (state, memory)
        self._present = [leaf is not None for leaf in tf.nest.flatten(self._structure)]
        self._state_size = len(tf.nest.flatten(state))  # leaves before the memory
        self._own = sum(self._present[: self._state_size])
        self._leaves = [
            tf.convert_to_tensor(leaf)
            for leaf in tf.nest.flatten(self._structure)
            if leaf is not None
        ]
        self._batch = dimension(start_tokens, 0)
        for index, leaf in enumerate(self._leaves):
            rows = leaf.shape[0] if leaf.shape.rank else None
            known = rows is not None and isinstance(self._batch, int)
            if leaf.shape.rank == 0 or (known and rows != self._batch):
                name = "state" if index < self._own else "memory"
                raise ValueError(
                    f"`{name}` must have tensors with the batch of `start_tokens`, "
                    f"{start_tokens.shape}, as first dimension, got shape {leaf.shape}."
                )

    def start(self, copies=1):
        """Return the initial flat list, with each row of the state repeated `copies` times."""
        return self.repeat(self._leaves, copies)

    def repeat(self, leaves, copies):
        """Return the list with each row of the state `copies` times, next to each other."""
        state, memory = leaves[: self._own], leaves[self._own :]
        return [repeat_rows(leaf, copies) for leaf in state] + memory

    def reorder(self, before, after, rows):
        """Gather rows of the state after a step, except of tensors that the step does not change.

        Those are equal in all hypotheses of a row of the batch. Only a graph guarantees that they
        never change: an eager step may differ each time.
        """
        eager = tf.executing_eagerly()
        own = [
            tf.gather(new, rows) if eager or new is not old else new
            for old, new in zip(before[: self._own], after[: self._own], strict=True)
        ]
        return own + after[self._own :]

    def select(self, leaves, rows, copies):
        """Gather the `copies` hypotheses and the memory of some rows of the batch."""
        hypotheses = indices_of_copies(rows, copies)
        return [
            tf.gather(leaf, hypotheses if index < self._own else rows)
            for index, leaf in enumerate(leaves)
        ]

    def alignment(self, leaves):
        """Return the alignment `(rows, S)` float32 of a flat state, or `None`."""
        if self._alignment is None:
            return None
        return tf.cast(self._alignment(self._pack(leaves)[0]), tf.float32)

    def __call__(self, tokens, leaves):
        """Run a step on tokens `(rows,)`: log probabilities `(rows, V)` and a flat state."""
        log_probabilities, state = self._step(tokens, *self._pack(leaves))
        shape = log_probabilities.shape
        vocabulary = shape[1] if shape.rank else None
        if vocabulary is not None and any(end >= vocabulary for end in self._end_tokens):
            raise ValueError(
                f"`end_token` must be in the vocabulary, which has {vocabulary} tokens, "
                f"got {max(self._end_tokens)}."
            )
        return log_probabilities, self._flatten(state, leaves[: self._own]) + leaves[self._own :]

    def _pack(self, leaves):
        leaves = iter(leaves)
        filled = [next(leaves) if present else None for present in self._present]
        return tf.nest.pack_sequence_as(self._structure, filled)

    def _flatten(self, state, before):
        flat = tf.nest.flatten(state)
        if [leaf is not None for leaf in flat] != self._present[: self._state_size]:
            raise ValueError(
                f"`step` must return a state of the structure {self._structure[0]}, got {state}."
            )
        leaves = [tf.convert_to_tensor(leaf) for leaf in flat if leaf is not None]
        for old, new in zip(before, leaves, strict=True):
            if old.dtype != new.dtype:
                raise TypeError(
                    "`step` must keep the dtypes of the state, "
                    f"{old.dtype.name} {old.shape}, got {new.dtype.name} {new.shape}."
                )
        # Loops need constant static shapes, so those that the step lost are restored.
        return [
            new if new is old else tf.ensure_shape(new, old.shape)
            for old, new in zip(before, leaves, strict=True)
        ]
