"""A callback that saves every few minutes or steps."""

import time

import keras

from keras_seqzoo.checks import check_integer, check_positive


class PeriodicSave(keras.callbacks.Callback):
    """Callback that calls a function at intervals of minutes and of steps.

    If the function raises an `OSError`, such as for a full disk, this is reported once and training
    continues: the function is called again when the next save is due.

    Args:
        save: function without arguments.
        minutes: number, or `None`.
        steps: int, or `None`.
        report: function of a line of text.
        agree: function from whether a save is due in this process to whether it is due in any
            process; by default for a single process. All processes save after the same step.

    Raises:
        ValueError: if `minutes` or `steps` is not positive.
    """

    def __init__(self, save, minutes, steps, report, agree=bool):
        super().__init__()
        self.minutes = minutes if minutes is None else check_positive("minutes", minutes)
        self.steps = steps if steps is None else check_integer("steps", steps, minimum=1)
        self._save = save
        self._report = report
        self._agree = agree
        self._failing = False
        self.restart()

    def on_train_begin(self, logs=None):
        """Count minutes and steps from now on."""
        self.restart()

    def on_train_batch_end(self, batch, logs=None):
        """Save if it is due."""
        self._steps += 1
        in_steps = self.steps is not None and self._steps >= self.steps
        in_minutes = self.minutes is not None and time.monotonic() >= self._until
        if self._agree(in_steps or in_minutes):
            try:
                self._save()
                self._failing = False
            except OSError as error:
                if not self._failing:
                    self._report(f"no checkpoint can be saved, training goes on: {error}")
                self._failing = True
            self.restart()

    def restart(self):
        """Count minutes and steps from now on."""
        self._steps = 0
        self._until = time.monotonic() + 60 * (self.minutes or 0)
