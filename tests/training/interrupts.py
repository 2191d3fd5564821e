"""Ctrl-C at given steps of a training run, and what a run is at an end."""

import os
import signal

import keras
import numpy as np


class Interrupt(keras.callbacks.Callback):
    """Sends Ctrl-C in the middle of given steps, counted over the whole run."""

    def __init__(self, *steps):
        super().__init__()
        self.steps = steps
        self.step = 0

    def on_train_batch_begin(self, batch, logs=None):
        self.step += 1
        if self.step in self.steps:
            os.kill(os.getpid(), signal.SIGINT)


def state_of(training):
    """The weights of the model and of the optimizer, and the EMA of the weights."""
    optimizer = [variable.numpy() for variable in training.model.optimizer.variables]
    averages = [np.asarray(value) for value in training.ema.get_state().values()]
    return [*training.model.get_weights(), *optimizer, *averages]


def assert_equal(values, others):
    """Two lists of arrays are the same bit for bit."""
    for value, other in zip(values, others, strict=True):
        np.testing.assert_array_equal(value, other)
