"""Random numbers that do not depend on which tests ran before in the process."""

import functools
from unittest import mock

import keras
import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context

SEED = 1
_generators = []
_set_tensorflow_seed = tf.random.set_seed


def random_generator(seed):
    """A NumPy generator for a module of tests, which begins anew with each test."""
    generator = np.random.default_rng(seed)
    _generators.append((generator, generator.bit_generator.state))
    return generator


def seed_all():
    """Seed Python, NumPy, Keras and TensorFlow, and let the generators of the modules begin anew.

    When its seed is set, TensorFlow drops every function that it has prepared to run, and preparing
    them again takes a tenth of the suite's time. So its seed is only set where it is another one.
    Functions that are traced anew draw the same numbers then; a test that draws eagerly from
    `tf.random`, without a seed of its own, sets the seed itself.
    """
    with mock.patch.object(tf.random, "set_seed", _set_other_seed):
        keras.utils.set_random_seed(SEED)
    for generator, state in _generators:
        generator.bit_generator.state = state


def _set_other_seed(seed):
    if context.global_seed() != seed:
        _set_tensorflow_seed(seed)


def made_once(make):
    """Cache what a function returns; the random numbers after a call are the same each time."""

    @functools.cache
    def cached(*args, **kwargs):
        seed_all()
        return make(*args, **kwargs)

    @functools.wraps(make)
    def made(*args, **kwargs):
        result = cached(*args, **kwargs)
        seed_all()
        return result

    return made
