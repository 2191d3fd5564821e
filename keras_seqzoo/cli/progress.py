"""A line on standard error that shows the progress of a command."""

import sys
import time

import keras

INTERVAL = 0.2  # seconds between two updates
BAR = 24


class ProgressLine:
    """A line that is overwritten at each update and removed at the end.

    Args:
        label: string, what is counted.
        total: int, or `None` if the end is not known.
        enabled: bool, or `None` to show it if standard error is a terminal.
    """

    def __init__(self, label, total=None, enabled=None):
        self.label = label
        self.total = total
        self.enabled = sys.stderr.isatty() if enabled is None else enabled
        self.done = 0
        self._width = 0
        self._started = time.monotonic()
        self._next = self._started + INTERVAL

    def due(self):
        """Return whether the next update is due."""
        return self.enabled and time.monotonic() >= self._next

    def advance(self, count):
        """Add to the count, and show it if an update is due."""
        self.show(self.done + count)

    def show(self, done, note=""):
        """Show how much is done if an update is due."""
        self.done = done
        if not self.due():
            return
        self._next = time.monotonic() + INTERVAL
        seconds = time.monotonic() - self._started
        if self.total:
            filled = BAR * done // self.total
            bar = "=" * filled + "." * (BAR - filled)
            text = f"{self.label} [{bar}] {done}/{self.total}"
        else:
            text = f"{self.label} {done}"
        self._write(f"{text}  {seconds:.0f} s{note}")

    def clear(self):
        """Remove the line, so that something else can be written."""
        if self._width:
            self._write("")
            sys.stderr.write("\r")
            sys.stderr.flush()

    def _write(self, text):
        sys.stderr.write("\r" + text.ljust(self._width))
        sys.stderr.flush()
        self._width = len(text)


class TrainingProgress(keras.callbacks.Callback):
    """A progress line for the steps of each epoch of a `TrainingRun`.

    Args:
        training: the `TrainingRun`.
        enabled: see `ProgressLine`.
    """

    def __init__(self, training, enabled=None):
        super().__init__()
        self.training = training
        self.enabled = enabled
        self.line = None

    def on_train_begin(self, logs=None):
        """Begin the line of an epoch, which may be resumed."""
        state = self.training.state
        self.line = ProgressLine(
            f"epoch {state.epoch + 1}/{self.training.epochs}",
            total=state.step + self.params["steps"],
            enabled=self.enabled,
        )

    def on_train_batch_end(self, batch, logs=None):
        """Show the step and the loss."""
        if self.line.due():
            self.line.show(self.training.state.step, f"  loss {float(logs['loss']):.3f}")

    def on_train_end(self, logs=None):
        """Remove the line."""
        self.line.clear()
