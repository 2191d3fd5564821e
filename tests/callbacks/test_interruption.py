import os
import signal

import keras
import numpy as np
import pytest

from keras_seqzoo.callbacks import StopOnInterrupt


class InterruptAt(keras.callbacks.Callback):
    def __init__(self, step):
        super().__init__()
        self.step = step
        self.steps = 0

    def on_train_batch_begin(self, batch, logs=None):
        self.steps += 1
        if self.steps == self.step:
            os.kill(os.getpid(), signal.SIGINT)


def fit(callbacks, epochs=2):
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(np.ones((12, 2)), np.ones(12), 2, epochs, callbacks=callbacks, verbose=0)


def test_the_step_under_way_is_the_last():
    interrupt = InterruptAt(step=3)
    before = signal.getsignal(signal.SIGINT)
    with StopOnInterrupt() as stop:
        fit([interrupt, stop])
        with pytest.raises(KeyboardInterrupt):
            stop.check()
    assert stop.interrupted
    assert interrupt.steps == 3
    assert signal.getsignal(signal.SIGINT) is before


def test_nothing_stops_without_an_interrupt():
    interrupt = InterruptAt(step=100)
    with StopOnInterrupt() as stop:
        fit([interrupt, stop])
        stop.check()
    assert not stop.interrupted
    assert interrupt.steps == 12


def test_the_second_interrupt_raises():
    with StopOnInterrupt(), pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.slow
def test_an_earlier_interrupt_is_forgotten():
    stop = StopOnInterrupt()
    with stop:
        fit([InterruptAt(step=3), stop])
    with stop:
        later = InterruptAt(step=100)
        fit([later, stop])
    assert not stop.interrupted
    assert later.steps == 12
