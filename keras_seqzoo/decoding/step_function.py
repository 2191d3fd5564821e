"""A step function as the searches run it: over a flat list of tensors, and checked."""

import tensorflow as tf

from keras_seqzoo.tensors import dimension

# Rounding puts probabilities of 1 a little above.
HIGHEST = 0.1


def check_step(step, check_values=False):
    """Make a step function that refuses what is no distribution of the next token.

    Shapes are checked as far as they are known, values in an eager call.

    Args:
        step: a step function, see `DecodingStrategy`.
        check_values: bool, whether a graph checks, as it runs, what is not known before.

    Returns:
        A step function of the same arguments, with float32 log probabilities.
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
            _refuse(log_probabilities)
        elif check_values:
            log_probabilities = _assert(log_probabilities, tokens)
        return log_probabilities, state

    return checked


def _refuse(log_probabilities):
    if not tf.reduce_all(log_probabilities <= HIGHEST):  # NaN neither
        values = log_probabilities.numpy()
        got = "NaN" if (values != values).any() else f"{values.max():g}"
        raise ValueError(
            "`step` must return log probabilities, which are at most 0 (of logits, "
            f"`tf.nn.log_softmax`), got {got}."
        )


def _assert(log_probabilities, tokens):
    shape = tf.shape(log_probabilities)
    rows = tf.debugging.Assert(
        shape[0] == tf.shape(tokens)[0],
        ["`step` must return log probabilities of shape (rows, vocabulary), got:", shape]
        + ["for so many rows:", tf.shape(tokens)[0]],
    )
    values = tf.debugging.Assert(
        tf.reduce_all(log_probabilities <= HIGHEST),
        ["`step` must return log probabilities, which are at most 0 and no NaN, got:"]
        + [log_probabilities],
    )
    with tf.control_dependencies([rows, values]):
        return tf.identity(log_probabilities)


def write(history, time, value):
    """Returns `history (L, ...)` with `value (...)` at index `time`."""
    # Not a scatter: that refuses an empty batch and, under XLA, a length of zero.
    here = tf.range(dimension(history, 0)) == time
    return tf.where(tf.reshape(here, [-1] + [1] * (history.shape.rank - 1)), value, history)


def repeat_rows(tensor, copies):
    """Returns `(B, ...)` with each row `copies` times, one after the other: `(B * copies, ...)`."""
    if copies == 1:
        return tensor
    batch = dimension(tensor, 0)
    rows = tf.reshape(tf.repeat(tf.range(batch), copies), [batch * copies])
    return tf.gather(tensor, rows)


def each_copy(rows, copies):
    """Returns where the `copies` of each of `rows (R,)` stand in a tensor that `repeat_rows` made.

    That is `(R * copies,)`.
    """
    return tf.reshape(rows[:, tf.newaxis] * copies + tf.range(copies), [-1])


class StepFunction:
    """Runs a user's `step` over a flat list of tensors, as a `tf.while_loop` needs it.

    The list holds the tensors of the state and then those of the memory; `None` leaves are kept
    aside. What `step` returns is checked: a matrix that the end tokens fit in, and a state of the
    structure and dtypes of the one it was given.

    Args:
        step: `step(tokens, state) -> (log_probabilities, state)`, or with a memory
            `step(tokens, state, memory)`; see `check_step`.
        state: Nest of tensors whose first dimension is the batch.
        start_tokens: `(B,)` int32 tensor.
        end_tokens: Ids of the end tokens.
        alignment: `alignment(state) -> (rows, S)` or `None`.
        memory: Nest of tensors whose first dimension is the batch, or `None`.

    Raises:
        ValueError: If a tensor of the state or the memory does not have the batch as its first
            dimension.
    """

    def __init__(self, step, state, start_tokens, end_tokens, alignment=None, memory=None):  # noqa: D107
        self._step = step
        self._alignment = alignment
        self._end_tokens = [end for end in end_tokens if isinstance(end, int)]
        self._structure = (state,) if memory is None else (state, memory)
        self._present = [leaf is not None for leaf in tf.nest.flatten(self._structure)]
        self._state_size = len(tf.nest.flatten(state))  # before what the memory has
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
                    f"`{name}` must have the batch as the first dimension of each tensor, as "
                    f"`start_tokens` {start_tokens.shape} has, got a tensor of shape {leaf.shape}."
                )

    def start(self, copies=1):
        """Returns the start as a flat list, each row of the state repeated `copies` times."""
        state, memory = self._leaves[: self._own], self._leaves[self._own :]
        return [repeat_rows(leaf, copies) for leaf in state] + memory

    def reorder(self, before, after, rows):
        """Gathers the rows of the state after a step, but for what the step handed on untouched.

        That is the same in all hypotheses of a row of the batch. Only in a graph is it known to
        stay untouched: an eager step may do other things each time.
        """
        eager = tf.executing_eagerly()
        own = [
            tf.gather(new, rows) if eager or new is not old else new
            for old, new in zip(before[: self._own], after[: self._own], strict=True)
        ]
        return own + after[self._own :]

    def keep(self, leaves, rows, copies):
        """Gathers the hypotheses, `copies` each, and the memory of some rows of the batch."""
        hypotheses = each_copy(rows, copies)
        return [
            tf.gather(leaf, hypotheses if index < self._own else rows)
            for index, leaf in enumerate(leaves)
        ]

    def alignment(self, leaves):
        """Returns the alignment `(rows, S)` float32 that a flat state holds, or `None`."""
        if self._alignment is None:
            return None
        return tf.cast(self._alignment(self._pack(leaves)[0]), tf.float32)

    def __call__(self, tokens, leaves):
        """Takes one step: `(rows,)` and a flat state to `(rows, V)` float32 and a flat state."""
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
                "`step` must return a state of the structure it was given. "
                f"It was given {self._structure[0]} and returned {state}."
            )
        leaves = [tf.convert_to_tensor(leaf) for leaf in flat if leaf is not None]
        for old, new in zip(before, leaves, strict=True):
            if old.dtype != new.dtype:
                raise TypeError(
                    "`step` must keep the dtypes of the state. It was given a tensor of "
                    f"{old.dtype.name} {old.shape} and returned {new.dtype.name} {new.shape}."
                )
        # A loop keeps static shapes: what the step forgot is filled in from what it was given.
        return [
            new if new is old else tf.ensure_shape(new, old.shape)
            for old, new in zip(before, leaves, strict=True)
        ]
