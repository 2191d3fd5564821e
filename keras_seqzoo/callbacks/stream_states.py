"""The states of a language model's streams, in checkpoints within an epoch."""

import keras


class StreamStates(keras.callbacks.Callback):
    """Callback that continues streams within a pass, where `fit` would begin them anew.

    It is also a part of a checkpoint, with `get_state` and `set_state`. There is no state to save
    if the model has no streams, or between two passes over the data.

    Args:
        within_pass: function that returns whether the streams go on: whether a pass over the data,
            or an epoch that began in the pass before, has begun but not ended.
    """

    def __init__(self, within_pass):
        super().__init__()
        self._within_pass = within_pass
        self._restored = {}
        self._trained = {}  # before an evaluation

    def get_state(self):
        """Return the states as a dict of arrays, for `set_state` in a later process."""
        if not self._within_pass():
            return {}
        if self._restored:  # for an epoch that has not begun yet
            return self._restored
        states = getattr(self.model, "carried_states", None)
        return {} if states is None else states.get_state()

    def set_state(self, state, model):
        """Keep states for the next epoch that begins."""
        self._restored = state

    def on_train_end(self, logs=None):
        """Keep the states for the next `fit` if it continues the same pass."""
        self._restored = self.get_state()

    def on_test_begin(self, logs=None):
        """Keep the states: an evaluation begins with zeros, and leaves its own."""
        self._trained = self.get_state()

    def on_test_end(self, logs=None):
        """Set the states as they were before the evaluation."""
        if self._trained:
            self.model.carried_states.set_state(self._trained)

    def on_epoch_begin(self, epoch, logs=None):
        """Set the states that were restored; `fit` has set all to zero before."""
        if self._restored:
            self.model.carried_states.set_state(self._restored)
            self._restored = {}
