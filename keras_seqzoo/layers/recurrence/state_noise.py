"""Noise on recurrent states: recurrent dropout and zoneout."""

import keras
import tensorflow as tf

from keras_seqzoo.tensors import dimension, loop_dtype


def blend(shares, old, new):
    """Mixes states: the share of the old that stays, and the rest of the new."""
    return [
        tf.cast(share, n.dtype) * o + tf.cast(1.0 - share, n.dtype) * n
        for share, o, n in zip(shares, old, new, strict=True)
    ]


def draw_zoneout(states, rate, training, seed, leading=()):
    """Draws which units keep their old state: 1 or 0 in training, else the rate itself.

    Args:
        states: list of tensors `(B, U)`.
        rate: float, the probability to keep.
        training: bool.
        seed: a `keras.random.SeedGenerator`.
        leading: list of ints and scalar tensors, the dimensions before the states'.

    Returns:
        List of tensors, `(*leading, B, U)` in training, else `(*leading, B, 1)`.
    """
    shares = []
    for state in states:
        dtype = loop_dtype(state.dtype)
        shape = [*leading, dimension(state, 0), state.shape[1]]
        if training:
            drawn = keras.random.uniform(shape, dtype=dtype.name, seed=seed) < rate
            shares.append(tf.cast(drawn, dtype))
        else:
            shares.append(tf.fill([*shape[:-1], 1], tf.constant(rate, dtype)))
    return shares


def draw_seen_scale(state, rate, seed):
    """Draws one mask of recurrent dropout for a whole sequence: 0 or `1 / (1 - rate)`, `(B, U)`."""
    return keras.random.dropout(tf.ones_like(state), rate, seed=seed)
