"""A callback that stops `fit` on Ctrl-C."""

import signal
import threading

import keras


class StopOnInterrupt(keras.callbacks.Callback):
    """Callback that ends `fit` after the current step on an interrupt (Ctrl-C).

    Without it, Python raises `KeyboardInterrupt` in the middle of a step, when only some weights
    are updated. Use the callback as a context manager around one or more calls of `fit`: on the
    first interrupt, `fit` returns with `interrupted` set. A second interrupt raises
    `KeyboardInterrupt`. Outside of the main thread, where Python cannot handle signals, the
    callback does nothing.

    Attributes:
        interrupted: bool, whether there was an interrupt.

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
        """Forget earlier interrupts, and install the handler, if in the main thread."""
        self.interrupted = False
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *exception):
        """Restore the previous handler."""
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)
            self._previous = None

    def check(self, *_):
        """Raise `KeyboardInterrupt` after an interrupt; call it where stopping is safe."""
        if self.interrupted:
            raise KeyboardInterrupt

    def on_train_batch_end(self, batch, logs=None):
        """Stop training after an interrupt."""
        if self.interrupted:
            self.model.stop_training = True

    def _interrupt(self, *_):
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True
