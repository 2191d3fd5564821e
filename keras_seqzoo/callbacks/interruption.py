"""Stopping a fit with Ctrl-C between two steps."""

import signal
import threading

import keras


class StopOnInterrupt(keras.callbacks.Callback):
    """Ends `fit` after the step under way when the process gets an interrupt (Ctrl-C).

    Python would raise `KeyboardInterrupt` in the middle of whatever runs, with weights of which
    some are updated. Used as a context manager around one or more calls of `fit`, this callback
    takes the first interrupt instead, and `fit` returns with `interrupted` set. A second interrupt
    raises as usual. Python takes signals in the main thread alone; in another one this does
    nothing.

    Attributes:
        interrupted: bool, whether an interrupt came.

    Example:
    ```python
    with StopOnInterrupt() as stop:
        model.fit(dataset, callbacks=[stop])
    if stop.interrupted:
        model.save_weights("state.weights.h5")
    ```
    """

    def __init__(self):
        super().__init__()
        self.interrupted = False
        self._previous = None

    def __enter__(self):
        """Take over the interrupt signal, where that is possible: in the main thread."""
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *exception):
        """Give the interrupt signal back."""
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)
            self._previous = None

    def check(self, *_):
        """Raise `KeyboardInterrupt` if an interrupt came: for places where stopping is safe."""
        if self.interrupted:
            raise KeyboardInterrupt

    def on_train_batch_end(self, batch, logs=None):
        """End the fit if an interrupt came during this step."""
        if self.interrupted:
            self.model.stop_training = True

    def _interrupt(self, *_):
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True
