"""Progress of training: steps, loss, speed and the time left."""

import time

import keras

from keras_seqzoo.cli.progress.line import ProgressLine, format_rate, format_time, time_left


class EpochProgress(keras.callbacks.Callback):
    """A progress line for the steps of epochs, each of which is a `fit`.

    It shows the time left in the epoch and in all epochs. For each epoch to come, it adds the time
    that passed between the last two.

    Args:
        position: function that returns the epoch that a `fit` trains, from 0, and the number of its
            steps that are done.
        epochs: int.
        tokens: number of tokens in an epoch, or `None` to show the speed in steps.
        enabled: see `ProgressLine`.
        unit: string, the plural of what `tokens` counts.

    Attributes:
        line: the `ProgressLine` of the current epoch, `None` before the first.
    """

    def __init__(self, position, epochs, tokens=None, enabled=None, unit="tokens"):
        super().__init__()
        self.position = position
        self.epochs = epochs
        self.tokens = tokens
        self.enabled = enabled
        self.unit = unit
        self.line = None
        self._epoch = 0
        self._begin = 0  # the step at which this `fit` began
        self._ended = None  # when the last one ended
        self._between = 0.0  # seconds

    def on_train_begin(self, logs=None):
        """Begin the line of an epoch, which may be resumed."""
        if self._ended is not None:
            self._between = time.monotonic() - self._ended
        self._epoch, self._begin = self.position()
        label = f"epoch {self._epoch + 1}/{self.epochs}"
        total = self._begin + self.params["steps"]
        self.line = ProgressLine(label, total, self.enabled, "steps")
        self.line.done = self._begin

    def on_train_batch_end(self, batch, logs=None):
        """Count the step, and show it with the loss if an update is due."""
        self.line.count(self._begin + batch + 1)
        if self.line.due():
            self.line.show(self._note(logs["loss"]))

    def on_train_end(self, logs=None):
        """Remove the line."""
        self._ended = time.monotonic()
        self.line.clear()

    def _note(self, loss):
        note, rate = f"  loss {float(loss):.3f}", self.line.rate()
        if rate is None:
            return note
        left = (self.line.total - self.line.done) / rate
        if self.tokens is None:
            note += f"  {format_rate(rate, 'steps')}"
        else:
            note += f"  {format_rate(rate * self.tokens / self.line.total, self.unit)}"
        note += time_left(left)
        epochs_left = self.epochs - self._epoch - 1
        if epochs_left:
            left += epochs_left * (self.line.total / rate + self._between)
            note += f", {format_time(left)} in all"
        return note


class TrainingProgress(EpochProgress):
    """A progress line for the steps of each epoch of a `TrainingRun`.

    Args:
        training: the `TrainingRun`.
        enabled: see `ProgressLine`.
    """

    def __init__(self, training, enabled=None):
        super().__init__(self._position, training.epochs, enabled=enabled)
        self.training = training

    def on_train_begin(self, logs=None):
        """Begin the line of an epoch, which may be resumed."""
        self.tokens = self.training.tokens
        super().on_train_begin(logs)

    def on_train_end(self, logs=None):
        """Replace the line by a note, which stays until the run reports the epoch."""
        super().on_train_end(logs)
        if self.line.enabled and self.line.terminal:
            self.line.write("", "validating and saving")

    def _position(self):
        return self.training.state.epoch, self.training.state.step
