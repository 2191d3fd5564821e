"""Base class of the attention layers: masked weights over a memory, and its weighted mean."""

import keras
import tensorflow as tf

from keras_seqzoo.layers.masks import valid_steps
from keras_seqzoo.layers.serialization import QuantizedParts
from keras_seqzoo.tensors import dimension, loop_dtype


class Attention(QuantizedParts, keras.layers.Layer):
    """Attention over a memory, with weights that depend on a query.

    ```
    weights(t, s) = exp(score(query_t, memory_s)) / Σ_s' exp(score(query_t, memory_s'))
    context(t)    = Σ_s weights(t, s) · memory_s
    ```

    (Bahdanau et al. 2015, equations 5 and 6); both sums run over the valid steps of the memory.
    Without a valid step weights and context are zero. The softmax is computed in float32, under
    float64 in float64. The layer keeps nothing between calls: the memory, its projection `keys` and
    the `state` are arguments.

    A subclass defines `build(query_shape, memory_shape)`, `scores(query, keys)`, and
    `project_memory(memory)` if the memory is projected for the scores.

    Args:
        **kwargs: arguments of `keras.layers.Layer`, such as `name` and `dtype`.

    Call arguments:
        query: float tensor `(batch, query depth)`, or `(batch, time, query depth)` for all
            queries of a sequence at once. Without time the rows may be a multiple of the memory's:
            each row of the memory then serves the same number of consecutive queries, such as the
            hypotheses of a beam.
        memory: float tensor `(batch, steps, memory depth)`.
        mask: bool tensor `(batch, steps)`, true at the valid steps of the memory, or `None` for the
            mask that Keras attached to `memory`, if any.
        keys: the result of `project_memory(memory)`, or `None` to compute it.
        state: any nest of tensors, which is returned unchanged, or `None` for `()`. Subclasses
            whose scores depend on earlier weights keep them here.
        training: bool, for subclasses that behave differently in training.

    Returns:
        A tuple `(context, weights, state)`: context `(batch, memory depth)` or `(batch, time,
        memory depth)` in the compute dtype; weights `(batch, steps)` or `(batch, time, steps)`
        in float32 (or float64).

    Raises:
        ValueError: if query, memory, keys or mask has a wrong shape.
    """

    def __init__(self, **kwargs):
        # No autocast: `state` may be float32 on purpose.
        super().__init__(autocast=False, **kwargs)
        self.supports_masking = True

    def project_memory(self, memory):
        """Compute the part of the scores that depends on the memory alone.

        Returns:
            Tensor `(batch, steps, key depth)`.
        """
        return tf.cast(memory, self.compute_dtype)

    def scores(self, query, keys):
        """Score `query` `(batch, time, depth)` against `keys`; `(batch, time, steps)`."""
        raise NotImplementedError(f"{type(self).__name__} must define `scores`.")

    def call(self, query, memory, mask=None, keys=None, state=None, training=None):
        """Attend; see the class."""
        if query.shape.rank not in (2, 3):
            raise ValueError(
                "`query` must have the shape (batch, depth) or (batch, time, depth), "
                f"got {tuple(query.shape)}."
            )
        if memory.shape.rank != 3:
            raise ValueError(
                f"`memory` must have the shape (batch, steps, depth), got {tuple(memory.shape)}."
            )
        if mask is None:
            mask = getattr(memory, "_keras_mask", None)
        if mask is not None:
            mask = valid_steps(mask, memory, "memory")
        if keys is None:
            keys = self.project_memory(memory)
        check_keys(keys, memory)
        query, memory, keys = (tf.cast(x, self.compute_dtype) for x in (query, memory, keys))

        rows = dimension(query, 0)
        no_time = query.shape.rank == 2
        if no_time:
            query = _group_by_memory(query, memory)  # (batch, queries, query depth)
        scores = self.scores(query, keys)
        weights = masked_softmax(tf.cast(scores, loop_dtype(query.dtype)), mask)
        context = tf.matmul(tf.cast(weights, self.compute_dtype), memory)
        if no_time:
            context, weights = (tf.reshape(x, [rows, dimension(x, 2)]) for x in (context, weights))
        # Keras' symbolic calls allow no None among the outputs.
        return context, weights, () if state is None else state

    def compute_mask(self, query, previous_mask=None):
        """Return the mask of the queries for the context."""
        return (getattr(query, "_keras_mask", None),)


def _group_by_memory(query, memory):
    """Reshape queries `(rows, depth)` to `(batch, queries, depth)`, by row of the memory."""
    rows, batch = dimension(query, 0), dimension(memory, 0)
    if not isinstance(rows, int) or not isinstance(batch, int):
        return tf.reshape(query, [batch, rows // tf.maximum(batch, 1), query.shape[1]])
    if rows % max(batch, 1):
        raise ValueError(
            f"`query` must have the {batch} rows of `memory` or a multiple, got {rows} rows."
        )
    return tf.reshape(query, [batch, rows // max(batch, 1), query.shape[1]])


def check_keys(keys, memory):
    """Raise a ValueError unless `keys` has the rows and steps of `memory`."""
    if not keys.shape[:2].is_compatible_with(memory.shape[:2]):
        raise ValueError(
            "`keys` must have the first two dimensions of `memory`, "
            f"{tuple(memory.shape[:2])}, got the shape {tuple(keys.shape)}."
        )


def masked_softmax(scores, mask):
    """Compute the softmax over the steps that `mask` marks as valid.

    Args:
        scores: float tensor `(batch, time, steps)`.
        mask: bool tensor `(batch, steps)` or None.

    Returns:
        Tensor `(batch, time, steps)`, zero at other steps. A row without a valid step is all zero,
        and so is its gradient.
    """
    if mask is None:
        return tf.nn.softmax(scores)
    mask = mask[:, tf.newaxis]  # (batch, 1, steps)
    weights = tf.nn.softmax(tf.where(mask, scores, scores.dtype.min))
    return tf.where(mask, weights, 0.0)
