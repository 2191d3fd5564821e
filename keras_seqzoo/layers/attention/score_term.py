"""Base class of the terms that are added to an attention score."""

import tensorflow as tf

from keras_seqzoo.layers.attention.part import AttentionPart


class ScoreTerm(AttentionPart):
    """A term of an attention score: weighted features of each query and memory step.

    ```
    score(query, memory_s) = vᵀ tanh(W·query + U·memory_s + Σ_k V_kᵀ f_k(query, s))
    score(query, memory_s) = queryᵀ W memory_s + Σ_k v_kᵀ f_k(query, s)
    ```

    The first form is for scores with a hidden layer (Bahdanau and concat), the second for scores
    without one (dot and general).

    A subclass defines `feature_size` and `features`. If its features depend on earlier weights, it
    sets `is_sequential = True` and defines `get_initial_state` and `next_state`; see
    `AttentionPart`. It creates layers of its own in `build`, which calls the `build` of this class.

    Args:
        **kwargs: arguments of `keras.layers.Layer`, such as `name` and `dtype`. `dtype` must be
            that of the attention layer.

    Attributes:
        feature_size: int, the number of features.

    Example:
    >>> class Diagonal(ScoreTerm):
    ...     "The distance of a step of the memory from the step of the query."
    ...
    ...     feature_size = 1
    ...     uses_position = True
    ...
    ...     def features(self, inputs, state):
    ...         steps = inputs.memory_positions()[:, tf.newaxis]
    ...         distance = tf.abs(steps - inputs.position[..., tf.newaxis])  # (B, Q, S)
    ...         return tf.cast(distance, self.compute_dtype)[..., tf.newaxis]
    >>> attention = LuongAttention("general", terms=[Diagonal()])
    >>> context, weights, state = attention(tf.ones((2, 7, 3)), tf.ones((2, 5, 4)))
    >>> weights.shape, state["position"].numpy()
    (TensorShape([2, 7, 5]), array([7, 7], dtype=int32))
    """

    feature_size = 1

    def build(self, query_shape, memory_shape, units):
        """Create V for a hidden layer of `units`; 1 for a term that is added to the score."""
        self.kernel = self.add_weight(name="kernel", shape=(self.feature_size, units))

    def features(self, inputs, state):
        """Compute the features.

        Args:
            inputs: `AttentionInputs`.
            state: the state before the step, with the leading dimensions (B, Q).

        Returns:
            Tensor `(B, Q, S, feature_size)`. Q may be 1 if the features are the same for all
            queries.
        """
        raise NotImplementedError(f"{type(self).__name__} must define `features`.")

    def next_state(self, state, weights):
        """Return the state after a step with the attention weights `(B, Q, S)`."""
        return state

    def project(self, features):
        """Compute V·features, `(B, Q, S, units)`."""
        kernel = tf.cast(self.kernel, self.compute_dtype)
        # Not Dense, which calls tensordot: see `BahdanauAttention`.
        return tf.einsum("bqsf,fu->bqsu", tf.cast(features, kernel.dtype), kernel)
