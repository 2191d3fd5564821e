"""States of streams that continue from one batch to the next."""

import tensorflow as tf


class CarriedStates:
    """Variables that hold the states after a batch, for the next batch of the same streams.

    Args:
        states: nest of tensors `(streams, size)`, the states before the first batch.
    """

    def __init__(self, states):
        self._variables = tf.nest.map_structure(
            lambda state: tf.Variable(state, trainable=False), states
        )

    @property
    def streams(self):
        """The number of rows."""
        return tf.nest.flatten(self._variables)[0].shape[0]

    def check(self, token_ids):
        """Raise `ValueError` for a batch with another number of rows."""
        if token_ids.shape[0] not in (None, self.streams):
            raise ValueError(
                f"`token_ids` must have {self.streams} rows, the `streams` of `compile`, "
                f"got {token_ids.shape[0]}."
            )

    def value(self):
        """Return the states, a nest of tensors."""
        return tf.nest.map_structure(tf.convert_to_tensor, self._variables)

    def assign(self, states):
        """Store the states after a batch. No gradient flows through them."""
        for variable, state in zip(
            tf.nest.flatten(self._variables), tf.nest.flatten(states), strict=True
        ):
            variable.assign(tf.stop_gradient(tf.cast(state, variable.dtype)))

    def reset(self):
        """Set all states to zero."""
        self.assign(tf.nest.map_structure(tf.zeros_like, self._variables))

    def get_state(self):
        """Return the states as a dict of arrays, for `set_state`."""
        variables = tf.nest.flatten(self._variables)
        # float32 holds every state exactly; NumPy files have no bfloat16.
        values = [tf.cast(variable, tf.float32).numpy() for variable in variables]
        return {f"state_{index}": value for index, value in enumerate(values)}

    def set_state(self, arrays):
        """Set the states to what `get_state` returned."""
        for index, variable in enumerate(tf.nest.flatten(self._variables)):
            variable.assign(tf.cast(arrays[f"state_{index}"], variable.dtype))
