"""States that go on from one batch to the next."""

import tensorflow as tf


class CarriedStates:
    """Variables that hold the states after a batch, for the next one of the same streams.

    They belong to training, not to the model, so that no file of weights has them.

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
        """Refuse a batch of other rows than these."""
        if token_ids.shape[0] not in (None, self.streams):
            raise ValueError(
                f"Batches must have {self.streams} rows, as many as the `streams` of `compile`, "
                f"got {token_ids.shape[0]}."
            )

    def value(self):
        """Give the states as a nest of tensors."""
        return tf.nest.map_structure(tf.convert_to_tensor, self._variables)

    def assign(self, states):
        """Keep the states after a batch. No gradient flows through them."""
        for variable, state in zip(
            tf.nest.flatten(self._variables), tf.nest.flatten(states), strict=True
        ):
            variable.assign(tf.stop_gradient(tf.cast(state, variable.dtype)))

    def reset(self):
        """Begin anew: all states are zero."""
        self.assign(tf.nest.map_structure(tf.zeros_like, self._variables))

    def get_state(self):
        """Return the states as a dict of arrays, for `set_state`."""
        variables = tf.nest.flatten(self._variables)
        return {f"state_{index}": variable.numpy() for index, variable in enumerate(variables)}

    def set_state(self, arrays):
        """Set the states to what `get_state` returned."""
        for index, variable in enumerate(tf.nest.flatten(self._variables)):
            variable.assign(arrays[f"state_{index}"])
