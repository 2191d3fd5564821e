"""The states of a language model's streams, in checkpoints within an epoch."""

import keras


class StreamStates(keras.callbacks.Callback):
    """Callback that continues streams within an epoch, where `fit` would begin them anew.

    It is also a part of a checkpoint, with `get_state` and `set_state`. A model without streams, or
    between two epochs, has no state to save.

    Args:
        within_epoch: function that returns whether an epoch is begun and not complete.
    """

    def __init__(self, within_epoch):
        super().__init__()
        self._within_epoch = within_epoch
        self._restored = {}

    def get_state(self):
        """Return the states as a dict of arrays, for `set_state` in a later process."""
        states = getattr(self.model, "carried_states", None)
        return {} if states is None or not self._within_epoch() else states.get_state()

    def set_state(self, state, model):
        """Keep states for the next epoch that begins."""
        self._restored = state

    def on_epoch_begin(self, epoch, logs=None):
        """Set the states that were restored; `fit` has set all to zero before."""
        if self._restored:
            self.model.carried_states.set_state(self._restored)
            self._restored = {}
