"""Adagrad with one step size for each row, and a learning rate that falls linearly."""

import keras
import tensorflow as tf


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class RowAdagrad(keras.optimizers.Optimizer):
    """Adagrad (Duchi et al., 2011) with one sum of squares for each row of a variable.

        a_r ← a_r + mean(g_r²),    w_r ← w_r - rate · g_r / sqrt(a_r + ε)

    for each row r with a gradient g_r. With a sparse gradient, such as that of an embedding, a step
    reads and writes only its rows, so its time does not depend on the size of the vocabulary. Rare
    words keep large steps, and frequent words take small ones.

    Args:
        learning_rate: float or schedule.
        epsilon: float, ε.
        **kwargs: arguments of `keras.optimizers.Optimizer`.

    Example:
    ```python
    model.compile(RowAdagrad(0.1), loss)
    ```
    """

    def __init__(self, learning_rate=0.1, epsilon=1e-12, **kwargs):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.epsilon = epsilon

    def build(self, variables):
        """Create a sum of squares for each row of each variable."""
        if self.built:
            return
        super().build(variables)
        self._sums = [
            self.add_variable(shape=(*variable.shape[:1],), name=f"sums_{number}")
            for number, variable in enumerate(variables)
        ]

    def update_step(self, gradient, variable, learning_rate):
        """Update one variable of rank 1 or more."""
        sums = self._sums[self._get_variable_index(variable)].value
        if isinstance(variable, keras.Variable):
            variable = variable.value
        rate = tf.cast(learning_rate, variable.dtype)
        if not isinstance(gradient, tf.IndexedSlices):
            rows = tf.range(tf.shape(gradient)[0])
        else:
            rows, index = tf.unique(gradient.indices)
            # On a CPU this is twice as fast as tf.math.unsorted_segment_sum.
            shape = [tf.size(rows), *variable.shape[1:]]
            gradient = tf.scatter_nd(index[:, tf.newaxis], gradient.values, shape)
        squares = tf.square(gradient)
        axes = list(range(1, squares.shape.rank))
        sums.scatter_add(tf.IndexedSlices(tf.reduce_mean(squares, axes), rows))
        scale = rate * tf.math.rsqrt(tf.gather(sums, rows) + self.epsilon)
        scale = tf.reshape(scale, [-1] + [1] * len(axes))
        variable.scatter_sub(tf.IndexedSlices(scale * gradient, rows))

    def get_config(self):
        """Return the constructor arguments."""
        return {**super().get_config(), "epsilon": self.epsilon}


def linear_decay(learning_rate, steps):
    """Create a schedule that falls linearly to a ten-thousandth, as in word2vec.

    Args:
        learning_rate: float, the initial learning rate.
        steps: int, the number of steps of the whole training.

    Returns:
        A `keras.optimizers.schedules.LearningRateSchedule`.
    """
    last = 1e-4 * learning_rate
    return keras.optimizers.schedules.PolynomialDecay(learning_rate, steps, last)
