"""A step function as the searches run it: over a flat list of tensors, and checked."""

import tensorflow as tf

from keras_seqzoo.shapes import dimension


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


def reorder(before, after, rows):
    """Gathers the rows of a state, a flat list, but for what a step hands on untouched.

    That, such as the encoder's memory, is the same in all hypotheses of a row of the batch. Only in
    a graph is it known to stay untouched: an eager step may do other things each time.
    """
    if tf.executing_eagerly():
        return [tf.gather(leaf, rows) for leaf in after]
    return [
        new if new is old else tf.gather(new, rows) for old, new in zip(before, after, strict=True)
    ]


class StepFunction:
    """Runs a user's `step` over a flat list of tensors, as a `tf.while_loop` needs it.

    `None` leaves of the state are kept aside. What `step` returns is checked: a float matrix that
    the end token fits in, and a state of the structure and dtypes of the one it was given.

    Args:
        step: `step(tokens, state) -> (log_probabilities, state)`.
        state: Nest of tensors whose first dimension is the batch.
        start_tokens: `(B,)` int32 tensor.
        end_token: Id of the end token.
        alignment: `alignment(state) -> (rows, S)` or `None`.

    Raises:
        ValueError: If a tensor of the state does not have the batch as its first dimension.
    """

    def __init__(self, step, state, start_tokens, end_token, alignment=None):  # noqa: D107
        self._step = step
        self._alignment = alignment
        self._end_token = end_token
        self._structure = state
        self._present = [leaf is not None for leaf in tf.nest.flatten(state)]
        self._leaves = [tf.convert_to_tensor(x) for x in tf.nest.flatten(state) if x is not None]
        self._batch = dimension(start_tokens, 0)
        for leaf in self._leaves:
            rows = leaf.shape[0] if leaf.shape.rank else None
            known = rows is not None and isinstance(self._batch, int)
            if leaf.shape.rank == 0 or (known and rows != self._batch):
                raise ValueError(
                    "`state`: the first dimension of every tensor must be the batch, as that of "
                    f"`start_tokens` ({start_tokens.shape}). Received a tensor of shape "
                    f"{leaf.shape}."
                )

    def start(self, copies=1):
        """Returns the start state as a flat list, each row repeated `copies` times."""
        return [repeat_rows(leaf, copies) for leaf in self._leaves]

    def alignment(self, leaves):
        """Returns the alignment `(rows, S)` float32 that a flat state holds, or `None`."""
        if self._alignment is None:
            return None
        return tf.cast(self._alignment(self._pack(leaves)), tf.float32)

    def __call__(self, tokens, leaves):
        """Takes one step: `(rows,)` and a flat state to `(rows, V)` float32 and a flat state."""
        log_probabilities, state = self._step(tokens, self._pack(leaves))
        log_probabilities = tf.cast(log_probabilities, tf.float32)
        shape = log_probabilities.shape
        if shape.rank not in (None, 2):
            raise ValueError(
                "`step` must return log probabilities of shape (rows, vocabulary). "
                f"Received shape {shape}."
            )
        vocabulary = shape[1] if shape.rank else None
        if (
            vocabulary is not None
            and isinstance(self._end_token, int)
            and self._end_token >= vocabulary
        ):
            raise ValueError(
                f"`end_token` must be in the vocabulary, which has {vocabulary} tokens. "
                f"Received {self._end_token}."
            )
        return log_probabilities, self._flatten(state, leaves)

    def _pack(self, leaves):
        leaves = iter(leaves)
        filled = [next(leaves) if present else None for present in self._present]
        return tf.nest.pack_sequence_as(self._structure, filled)

    def _flatten(self, state, before):
        flat = tf.nest.flatten(state)
        if [leaf is not None for leaf in flat] != self._present:
            raise ValueError(
                "`step` must return a state of the structure it was given. "
                f"It was given {self._structure} and returned {state}."
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
