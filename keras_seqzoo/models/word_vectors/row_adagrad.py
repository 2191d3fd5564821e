"""Adagrad with one step size for each row of a matrix, and a rate for it that falls."""

import keras
import tensorflow as tf


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class RowAdagrad(keras.optimizers.Optimizer):
    """Adagrad (Duchi et al., 2011) whose sums of squares are kept for rows, not for numbers.

        a_r ← a_r + mean(g_r²),    w_r ← w_r - rate · g_r / sqrt(a_r + ε)

    for each row r with a gradient g_r. Of a sparse gradient, such as that of an embedding, only the
    rows in it are read and written, each once, and the state is one number for each row: a step
    takes the time of its batch, whatever the size of the vocabulary. Rare rows keep taking long
    steps, frequent ones take short ones, as suits word vectors.

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
        """Makes a sum of squares for each row of each variable."""
        if self.built:
            return
        super().build(variables)
        self._sums = [
            self.add_variable(shape=(*variable.shape[:1],), name=f"sums_{number}")
            for number, variable in enumerate(variables)
        ]

    def update_step(self, gradient, variable, learning_rate):
        """Makes the step of one variable, of rank 1 or more."""
        sums = self._sums[self._get_variable_index(variable)].value
        if isinstance(variable, keras.Variable):
            variable = variable.value
        rate = tf.cast(learning_rate, variable.dtype)
        if not isinstance(gradient, tf.IndexedSlices):
            rows = tf.range(tf.shape(gradient)[0])
        else:
            rows, place = tf.unique(gradient.indices)
            # Half the time of tf.math.unsorted_segment_sum on a CPU.
            shape = tf.concat([tf.shape(rows), tf.shape(variable)[1:]], axis=0)
            gradient = tf.scatter_nd(place[:, tf.newaxis], gradient.values, shape)
        squares = tf.square(gradient)
        axes = list(range(1, squares.shape.rank))
        sums.scatter_add(tf.IndexedSlices(tf.reduce_mean(squares, axes), rows))
        scale = rate * tf.math.rsqrt(tf.gather(sums, rows) + self.epsilon)
        scale = tf.reshape(scale, [-1] + [1] * len(axes))
        variable.scatter_sub(tf.IndexedSlices(scale * gradient, rows))

    def get_config(self):
        """Gives the constructor's arguments."""
        return {**super().get_config(), "epsilon": self.epsilon}


def linear_decay(learning_rate, steps):
    """Makes a schedule that falls along a line, to a ten-thousandth at the end (as word2vec's).

    Args:
        learning_rate: float, the first rate.
        steps: int, those of the whole run.

    Returns:
        A `keras.optimizers.schedules.LearningRateSchedule`.
    """
    last = 1e-4 * learning_rate
    return keras.optimizers.schedules.PolynomialDecay(learning_rate, steps, last)
