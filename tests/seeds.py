"""Random numbers that do not depend on which tests ran before in the process."""

import functools

import keras
import numpy as np

_generators = []


def random_generator(seed):
    """A NumPy generator for a module of tests, which begins anew with each test."""
    generator = np.random.default_rng(seed)
    _generators.append((generator, generator.bit_generator.state))
    return generator


def seed_all():
    """Seed Python, NumPy and TensorFlow, and let the generators of the modules begin anew."""
    keras.utils.set_random_seed(1)
    for generator, state in _generators:
        generator.bit_generator.state = state


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
