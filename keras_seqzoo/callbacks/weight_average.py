"""An exponential moving average (EMA) of the weights."""

import contextlib

import keras
import tensorflow as tf

from keras_seqzoo.callbacks.steps import done_steps
from keras_seqzoo.checks import check_rate


class WeightAverage(keras.callbacks.Callback):
    """Callback that keeps an exponential moving average of the trainable weights.

    After each step t, for each weight w (Polyak and Juditsky, 1992),

        a <- m a + (1 - m) w,        m = min(momentum, (1 + t) / (10 + t)),

    where the second term lets the EMA follow the fast changes at the beginning. With
    `steps_per_execution=n` only the weights after n steps are seen, and they count n times. Unlike
    with `use_ema` of optimizers, the trained weights stay unchanged at the end of `fit`, so a run
    can consist of several calls of `fit`.

    Args:
        momentum: float in [0, 1); with 0, the EMA is the latest weights.

    Example:
    ```python
    average = WeightAverage(0.999)
    model.fit(dataset, callbacks=[average])
    with average.applied():
        model.evaluate(validation)
    ```
    """

    def __init__(self, momentum=0.999):
        super().__init__()
        self.momentum = check_rate("momentum", momentum)
        self.steps = 0
        self._done = 0  # steps of the epoch
        self._weights = None
        self._averages = None
        self._update = None
        self._averaged = None

    def on_train_begin(self, logs=None):
        """Initialize the EMA with the current weights, only the first time."""
        if self._averages is None:
            self._weights = [weight.value for weight in self.model.trainable_variables]
            self._averages = [tf.Variable(weight, trainable=False) for weight in self._weights]
            self._update = tf.function(self._blend, autograph=False)
            self._averaged = self.model
        elif self._averaged is not self.model:
            raise ValueError("`WeightAverage` must be used with one model, got a second one.")

    def on_epoch_begin(self, epoch, logs=None):
        """Begin to count the steps of the epoch."""
        self._done = 0

    def on_train_batch_end(self, batch, logs=None):
        """Update the EMA."""
        done = done_steps(batch, self.params)
        new, self._done = done - self._done, done
        self.steps += new
        momentum = min(self.momentum, (1 + self.steps) / (10 + self.steps))
        self._update(tf.constant(1.0 - momentum**new))

    def _blend(self, rate):
        for average, weight in zip(self._averages, self._weights, strict=True):
            average.assign_add(tf.cast(rate, average.dtype) * (weight - average))

    @contextlib.contextmanager
    def applied(self):
        """Set the weights of the model to the EMA within a `with` block."""
        if self._averages is None:
            yield
            return
        trained = [weight.numpy() for weight in self._weights]
        self._copy(self._averages)
        try:
            yield
        finally:
            self._copy(trained)

    def _copy(self, values):
        for weight, value in zip(self._weights, values, strict=True):
            weight.assign(value)

    def get_state(self):
        """Return the EMA as a dict of arrays, for `set_state` in a later process."""
        averages = self._averages or []
        state = {f"average_{i}": value.numpy() for i, value in enumerate(averages)}
        return {"steps": self.steps, **state}

    def set_state(self, state, model):
        """Continue from a state of `get_state`."""
        self.set_model(model)
        self.on_train_begin()
        self.steps = int(state["steps"])
        for index, average in enumerate(self._averages):
            average.assign(tf.cast(state[f"average_{index}"], average.dtype))
