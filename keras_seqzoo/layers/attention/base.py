"""Base class of the attention layers: masked weights over a memory, and its weighted mean."""

import keras
import tensorflow as tf

from keras_seqzoo.layers.attention.inputs import AttentionInputs
from keras_seqzoo.layers.attention.part import check_parts
from keras_seqzoo.layers.attention.score_term import ScoreTerm
from keras_seqzoo.layers.attention.steps import attend_in_steps
from keras_seqzoo.layers.attention.weighting import Weighting, masked_softmax
from keras_seqzoo.layers.masks import valid_steps
from keras_seqzoo.layers.serialization import QuantizedParts
from keras_seqzoo.tensors import dimension, loop_dtype


class Attention(QuantizedParts, keras.layers.Layer):
    """Attention over a memory, with weights that depend on a query.

    ```
    weights(t, s) = exp(score(query_t, memory_s)) / Σ_s' exp(score(query_t, memory_s'))
    context(t)    = Σ_s weights(t, s) · memory_s
    ```

    (Bahdanau et al. 2015, equations 5 and 6). Both sums run over the valid steps of the memory;
    without a valid step, weights and context are zero. The softmax is computed in float32, or in
    float64 if that is the compute dtype. The layer keeps nothing between calls: the memory, its
    projection `keys` and the `state` are arguments.

    `terms` are added to the scores, and a `weighting` replaces the softmax. Either may depend on
    earlier weights. The attention then `is_sequential`: it has a state, and processes the queries
    of a sequence one after the other in a loop, which is differentiated automatically. Otherwise it
    processes all queries at once.

    A subclass defines `scores(query, keys)`, `build(query_shape, memory_shape)`, which calls the
    `build` of this class, and `project_memory(memory)` if the scores read a projection of the
    memory. If the score has a hidden layer, `hidden_units` is its size, and `scores` takes a third
    argument: the sum that `terms` add to the hidden layer.

    Args:
        terms: a list of `ScoreTerm`, such as `Coverage`.
        weighting: a `Weighting`, such as `MonotonicWeighting`, or `None` for the softmax.
        **kwargs: arguments of `keras.layers.Layer`, such as `name` and `dtype`.

    Call arguments:
        query: float tensor `(batch, query depth)`, or `(batch, time, query depth)` for all queries
            of a sequence. Without time, the number of rows may be a multiple of the memory's: each
            row of the memory then serves the same number of consecutive queries, such as the
            hypotheses of a beam.
        memory: float tensor `(batch, steps, memory depth)`.
        mask: bool tensor `(batch, steps)`, true at the valid steps of the memory, or `None` for the
            mask that Keras attached to `memory`, if any.
        keys: the result of `project_memory(memory)`, or `None` to compute it.
        state: the state before the first query, from `get_initial_state` or a call, with as many
            rows as the queries; `None` for the initial state. A layer without state returns it
            unchanged.
        training: bool, for parts that behave differently in training.
        query_mask: bool tensor `(batch, time)`, true at the valid queries, or `None` for the mask
            that Keras attached to `query`, if any. The state does not change at padding; a layer
            without state does not read the mask.

    Returns:
        A tuple `(context, weights, state)`: context `(batch, memory depth)` or `(batch, time,
        memory depth)` in the compute dtype; weights `(batch, steps)` or `(batch, time, steps)`
        in float32 (or float64); the state after the last query.

    Attributes:
        is_sequential: bool, whether weights depend on earlier weights.
        has_state: bool, whether the state has tensors: true if the layer `is_sequential` or a part
            reads the position of the query.
        hidden_units: int, the size of the hidden layer that `terms` add to, or `None` if they add
            to the score.

    Raises:
        ValueError: if query, memory, keys or mask has a wrong shape, or a term or the weighting has
            the wrong class or dtype.
    """

    hidden_units = None

    def __init__(self, terms=(), weighting=None, **kwargs):
        # No autocast: `state` may be float32 on purpose.
        super().__init__(autocast=False, **kwargs)
        self.supports_masking = True
        self.terms = list(terms)
        self.weighting = weighting
        check_parts("terms", self.terms, ScoreTerm, self.compute_dtype)
        check_parts("weighting", self.parts[len(self.terms) :], Weighting, self.compute_dtype)

    @property
    def parts(self):
        """The terms and the weighting, a list."""
        return self.terms if self.weighting is None else [*self.terms, self.weighting]

    @property
    def is_sequential(self):
        """Whether weights depend on earlier weights."""
        return any(part.is_sequential for part in self.parts)

    @property
    def has_state(self):
        """Whether the state has tensors."""
        return self.is_sequential or self._uses_position

    @property
    def _uses_position(self):
        return any(part.uses_position for part in self.parts)

    def build(self, query_shape, memory_shape):
        """Build the terms and the weighting."""
        for term in self.terms:
            if not term.built:
                term.build(query_shape, memory_shape, self.hidden_units or 1)
        if self.weighting is not None and not self.weighting.built:
            self.weighting.build(query_shape, memory_shape)

    def get_initial_state(self, memory, mask=None):
        """Return the state before the first query.

        Args:
            memory: float tensor `(batch, steps, memory depth)`.
            mask: tensor `(batch, steps)`, true or not 0 at valid steps, or `None` for the mask that
                Keras attached to `memory`, if any.

        Returns:
            A nest of tensors whose first dimension is `batch`; `()` for a layer without state. If
            each row of the memory has several queries, repeat the state for each.
        """
        if not self.has_state:
            return ()
        mask = getattr(memory, "_keras_mask", None) if mask is None else mask
        mask = None if mask is None else valid_steps(mask, memory, "memory")
        memory, state = tf.cast(memory, self.compute_dtype), {}
        if self._uses_position:
            state["position"] = tf.zeros([dimension(memory, 0)], tf.int32)
        if self.is_sequential:
            state["terms"] = [term.get_initial_state(memory, mask) for term in self.terms]
            if self.weighting is not None:
                state["weighting"] = self.weighting.get_initial_state(memory, mask)
        return state

    def project_memory(self, memory):
        """Compute the part of the scores that depends on the memory alone.

        Returns:
            Tensor `(batch, steps, key depth)`.
        """
        return tf.cast(memory, self.compute_dtype)

    def scores(self, query, keys):
        """Score `query` `(batch, time, depth)` against `keys`; `(batch, time, steps)`."""
        raise NotImplementedError(f"{type(self).__name__} must define `scores`.")

    def call(
        self,
        query,
        memory,
        mask=None,
        keys=None,
        state=None,
        training=None,
        query_mask=None,
    ):
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

        def attend(query, state):
            return self._attend(query, memory, keys, mask, state, bool(training))

        if query.shape.rank == 2:
            weights, state = self._attend_once(attend, query, memory, mask, state)
        elif self.has_state:
            weights, state = self._attend_sequence(attend, query, memory, mask, state, query_mask)
        else:
            weights, state = attend(query, state)
        context = tf.matmul(tf.cast(weights, self.compute_dtype), memory)
        if query.shape.rank == 2:
            rows = dimension(query, 0)
            context, weights = (tf.reshape(x, [rows, dimension(x, 2)]) for x in (context, weights))
        # Keras' symbolic calls allow no None among the outputs.
        return context, weights, () if state is None else state

    def _attend_once(self, attend, query, memory, mask, state):
        """Return weights `(batch, queries, steps)` and the state of queries `(rows, depth)`."""
        rows = dimension(query, 0)
        query = _group_by_memory(query, memory)  # (batch, queries, depth)
        if not self.has_state:
            return attend(query, state)
        batch, queries = dimension(query, 0), dimension(query, 1)
        if state is None:
            state = self.get_initial_state(memory, mask)
            state = tf.nest.map_structure(lambda x: tf.repeat(x, queries, axis=0), state)

        def reshape(tensor, leading, dropped):
            rest = [dimension(tensor, axis) for axis in range(dropped, tensor.shape.rank)]
            return tf.reshape(tensor, [*leading, *rest])

        state = tf.nest.map_structure(lambda x: reshape(x, [batch, queries], 1), state)
        weights, state = attend(query, state)
        return weights, tf.nest.map_structure(lambda x: reshape(x, [rows], 2), state)

    def _attend_sequence(self, attend, query, memory, mask, state, query_mask):
        """Return weights `(batch, time, steps)` and the state of queries `(batch, time, depth)`."""
        if state is None:
            state = self.get_initial_state(memory, mask)
        if query_mask is not None:
            query_mask = valid_steps(query_mask, query, "query")
            query = tf.where(query_mask[..., tf.newaxis], query, tf.zeros((), query.dtype))
        if self.is_sequential:
            return attend_in_steps(attend, query, dimension(memory, 1), query_mask, state)
        valid = tf.cast(valid_steps(query_mask, query, "query"), tf.int32)
        before = tf.cumsum(valid, axis=1, exclusive=True)  # (batch, time)
        first = state["position"]
        weights, _ = attend(query, {"position": first[:, tf.newaxis] + before})
        return weights, {"position": first + tf.reduce_sum(valid, axis=1)}

    def _attend(self, query, memory, keys, mask, state, training):
        """Return weights `(batch, queries, steps)` and the state after a step of each query."""
        own = state if self.has_state else {}
        position = own.get("position")
        inputs = AttentionInputs(query, memory, mask, position, training)
        states = own.get("terms", [()] * len(self.terms))
        scores = self._score(query, keys, inputs, states)
        scores = tf.cast(scores, loop_dtype(query.dtype))
        own_state = own.get("weighting", ())
        if self.weighting is None:
            weights = masked_softmax(scores, mask)
        else:
            weights, own_state = self.weighting.weigh(scores, inputs, own_state)
        new = {
            "position": None if position is None else position + 1,
            "terms": [
                term.next_state(before, weights)
                for term, before in zip(self.terms, states, strict=True)
            ],
            "weighting": own_state,
        }
        return weights, {name: new[name] for name in own} if self.has_state else state

    def _score(self, query, keys, inputs, states):
        if not self.terms:
            return self.scores(query, keys)
        added = sum(
            term.project(term.features(inputs, state))
            for term, state in zip(self.terms, states, strict=True)
        )  # (batch, queries or 1, steps, hidden units or 1)
        if self.hidden_units is None:
            return self.scores(query, keys) + added[..., 0]
        return self.scores(query, keys, added)

    def compute_mask(self, query, previous_mask=None):
        """Return the mask of the queries for the context."""
        return (getattr(query, "_keras_mask", None),)

    def get_config(self):
        """Return the constructor arguments."""
        serialize = keras.saving.serialize_keras_object
        config = {"terms": serialize(self.terms), "weighting": serialize(self.weighting)}
        return {**super().get_config(), **config}

    @classmethod
    def from_config(cls, config):
        """Create the layer and its parts from `get_config`."""
        parts = {name: config[name] for name in ("terms", "weighting") if name in config}
        return cls(**config | keras.saving.deserialize_keras_object(parts))


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
