"""States of streams that continue from one batch to the next."""

import tensorflow as tf


class CarriedStates:
    """Variables that hold the states after a batch, for the next batch of the same streams.

    With several replicas (`tf.distribute`), each one holds the states of its rows.

    Args:
        start: function that takes a number of rows and returns the states before the first batch, a
            nest of tensors `(rows, size)`.
        streams: int, the number of rows of a batch.
        strategy: the `tf.distribute.Strategy` of the model.

    Attributes:
        streams: int, the number of rows of a batch.

    Raises:
        ValueError: if `streams` is not a multiple of the number of replicas.
    """

    def __init__(self, start, streams, strategy):
        replicas = strategy.num_replicas_in_sync
        if streams % replicas:
            raise ValueError(
                f"`streams` must be a multiple of the number of replicas, {replicas}, got "
                f"{streams}."
            )
        self.strategy = strategy
        self.streams = streams
        self.rows = streams // replicas  # of a replica
        own = {}
        if replicas > 1:
            own["synchronization"] = tf.VariableSynchronization.ON_READ
            own["aggregation"] = tf.VariableAggregation.ONLY_FIRST_REPLICA
        with strategy.scope():
            self._variables = tf.nest.map_structure(
                lambda state: tf.Variable(state, trainable=False, **own), start(self.rows)
            )

    def check(self, token_ids):
        """Raise `ValueError` for a batch with another number of rows."""
        if token_ids.shape[0] not in (None, self.rows):
            replicas = self.streams // self.rows
            raise ValueError(
                f"`token_ids` must have {self.streams} rows, the `streams` of `compile`, "
                f"got {token_ids.shape[0] * replicas}."
            )

    def value(self):
        """Return the states, a nest of tensors."""
        return tf.nest.map_structure(tf.convert_to_tensor, self._variables)

    def assign(self, states):
        """Store the states after a batch. No gradient flows through them."""
        for variable, state in zip(self._flat(), tf.nest.flatten(states), strict=True):
            variable.assign(tf.stop_gradient(tf.cast(state, variable.dtype)))

    def reset(self):
        """Set all states to zero."""
        self.assign(
            tf.nest.map_structure(lambda state: tf.zeros(state.shape, state.dtype), self._variables)
        )

    def get_state(self):
        """Return the states of all streams as a dict of arrays, for `set_state`."""
        # float32 holds every state exactly; NumPy files have no bfloat16.
        values = self.strategy.run(
            lambda: [tf.cast(variable, tf.float32) for variable in self._flat()]
        )
        values = [self.strategy.gather(value, axis=0).numpy() for value in values]
        return {f"state_{index}": value for index, value in enumerate(values)}

    def set_state(self, arrays):
        """Restore the states from the result of `get_state`."""

        def set_rows():
            replica = tf.distribute.get_replica_context().replica_id_in_sync_group
            for index, variable in enumerate(self._flat()):
                rows = arrays[f"state_{index}"][self.rows * replica :][: self.rows]
                variable.assign(tf.cast(rows, variable.dtype))

        self.strategy.run(set_rows)

    def _flat(self):
        return tf.nest.flatten(self._variables)
