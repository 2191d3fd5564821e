import numpy as np

from keras_seqzoo.callbacks.stream_states import StreamStates


def test_states_that_were_restored_are_saved_again_before_their_epoch_begins():
    going_on = True
    states = StreamStates(lambda: going_on)
    restored = {"layer": np.ones((2, 3))}
    states.set_state(restored, model=None)
    assert states.get_state() is restored
    going_on = False
    assert states.get_state() == {}
