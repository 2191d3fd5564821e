"""A moving average of rewards, as a baseline."""

import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_rate


class MovingAverage:
    """An exponential moving average of the rewards of earlier steps.

        b_k = Σ_{i<k} m^(k-1-i) r_i / Σ_{i<k} m^(k-1-i)

    This is the average of Xu et al. (2015, "Show, attend and tell", section 4.1), divided by the
    sum of the factors so that it does not begin near 0. Before the first step it is 0.

    Args:
        momentum: float in [0, 1), m.
    """

    def __init__(self, momentum):
        self.momentum = check_rate("momentum", momentum)
        self._sums = None  # of the rewards and of the factors

    def build(self):
        """Create the variable, in the scope of the model's distribution strategy."""
        self._sums = tf.Variable(
            [0.0, 0.0],
            trainable=False,
            aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
            name="baseline",
        )

    def value(self):
        """Return the average, a float32 scalar."""
        sums = tf.convert_to_tensor(self._sums)
        return tf.math.divide_no_nan(sums[0], sums[1])

    def update(self, reward):
        """Add the reward of a step, a float32 scalar that is the same in all replicas."""
        added = tf.stack([tf.stop_gradient(reward), 1.0])
        self._sums.assign(self.momentum * tf.convert_to_tensor(self._sums) + added)

    def get_state(self):
        """Return the sums as a dict of arrays."""
        return {"sums": self._sums.numpy()}

    def set_state(self, state):
        """Restore a state from `get_state`."""
        self._sums.assign(np.asarray(state["sums"], np.float32))
