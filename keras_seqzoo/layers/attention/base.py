"""What all attention layers have in common: masked weights over a memory, and their mean of it."""

import keras
import tensorflow as tf

from keras_seqzoo.layers.masks import valid_steps
from keras_seqzoo.layers.serialization import QuantizedParts
from keras_seqzoo.tensors import dimension, loop_dtype


class Attention(QuantizedParts, keras.layers.Layer):
    """Base class: reads a memory by weights that depend on a query.

    ```
    weights(t, s) = exp(score(query_t, memory_s)) / Σ_s' exp(score(query_t, memory_s'))
    context(t)    = Σ_s weights(t, s) · memory_s
    ```

    (Bahdanau et al. 2015, equations 5 and 6); both sums run over the valid steps of the memory.
    A memory with no valid step gives weights and context zero. The softmax is computed in
    float32, under float64 in float64. The layer keeps nothing between calls: the memory, its
    projection `keys` and the `state` are arguments.

    A subclass defines `build(query_shape, memory_shape)`, `scores(query, keys)`, and, if the
    memory is projected for scoring, `project_memory(memory)`.

    Args:
        **kwargs: arguments of `keras.layers.Layer`, such as `name` and `dtype`.

    Call arguments:
        query: float tensor `(batch, query depth)`, or `(batch, time, query depth)` for all
            queries of a sequence at once. Without time, a multiple of the memory's rows may be
            given: as many queries in a row share one, as the hypotheses of a beam do.
        memory: float tensor `(batch, steps, memory depth)`.
        mask: bool tensor `(batch, steps)`, true at the valid steps of the memory. `None` takes
            the mask that Keras attached to `memory`, if there is one.
        keys: `project_memory(memory)`, where it was computed before; `None` computes it.
        state: any nest of tensors; it passes through. (Scores that depend on earlier weights
            keep them here.) `None` is the empty nest `()`.
        training: bool, for subclasses that behave differently in training.

    Returns:
        A tuple `(context, weights, state)`: context `(batch, memory depth)` or `(batch, time,
        memory depth)` in the compute dtype; weights `(batch, steps)` or `(batch, time, steps)`
        in float32 (or float64).

    Raises:
        ValueError: if ranks, or the shapes of memory, keys and mask, do not fit.
    """

    def __init__(self, **kwargs):
        # Without autocast Keras leaves `state`, which may be float32 on purpose, as it is.
        super().__init__(autocast=False, **kwargs)
        self.supports_masking = True

    def project_memory(self, memory):
        """Compute what of the scores depends on the memory alone; `(batch, steps, key depth)`."""
        return tf.cast(memory, self.compute_dtype)

    def scores(self, query, keys):
        """Score `query` `(batch, time, depth)` against `keys`; `(batch, time, steps)`."""
        raise NotImplementedError(f"{type(self).__name__} does not define `scores`")

    def call(self, query, memory, mask=None, keys=None, state=None, training=None):
        """Attend; see the class."""
        if query.shape.rank not in (2, 3):
            raise ValueError(
                "`query` needs the shape (batch, depth) or (batch, time, depth), "
                f"but has the shape {tuple(query.shape)}"
            )
        if memory.shape.rank != 3:
            raise ValueError(
                f"`memory` needs the shape (batch, steps, depth), but has {tuple(memory.shape)}"
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
            query = _by_memory(query, memory)  # (batch, queries, query depth)
        scores = self.scores(query, keys)
        weights = masked_softmax(tf.cast(scores, loop_dtype(query.dtype)), mask)
        context = tf.matmul(tf.cast(weights, self.compute_dtype), memory)
        if no_time:
            context, weights = (tf.reshape(x, [rows, dimension(x, 2)]) for x in (context, weights))
        # Keras' symbolic calls allow no None among the outputs.
        return context, weights, () if state is None else state

    def compute_mask(self, query, previous_mask=None):
        """Give the context the mask of its queries (not that of the memory)."""
        return (getattr(query, "_keras_mask", None),)


def _by_memory(query, memory):
    """Puts queries `(rows, depth)` beside the memory that they share: `(batch, queries, depth)`."""
    rows, batch = dimension(query, 0), dimension(memory, 0)
    if not isinstance(rows, int) or not isinstance(batch, int):
        return tf.reshape(query, [batch, rows // tf.maximum(batch, 1), query.shape[1]])
    if rows % max(batch, 1):
        raise ValueError(
            f"`query` needs as many rows as `memory` ({batch}) or a multiple, but has {rows}"
        )
    return tf.reshape(query, [batch, rows // max(batch, 1), query.shape[1]])


def check_units(units):
    """Raise ValueError unless `units` is a positive integer."""
    if not isinstance(units, int) or isinstance(units, bool) or units < 1:
        raise ValueError(f"`units` needs a positive integer, but is {units!r}")


def check_keys(keys, memory):
    """Raise ValueError unless `keys` has as many rows and steps as `memory`."""
    if not keys.shape[:2].is_compatible_with(memory.shape[:2]):
        raise ValueError(
            "`keys` needs the first two dimensions of `memory`, "
            f"{tuple(memory.shape[:2])}, but has the shape {tuple(keys.shape)}"
        )


def masked_softmax(scores, mask):
    """Softmax over the last axis of `(batch, time, steps)`, zero where `(batch, steps)` is false.

    A row without a valid step is all zero, and so is its gradient.
    """
    if mask is None:
        return tf.nn.softmax(scores)
    mask = mask[:, tf.newaxis]  # (batch, 1, steps)
    weights = tf.nn.softmax(tf.where(mask, scores, scores.dtype.min))
    return tf.where(mask, weights, 0.0)
