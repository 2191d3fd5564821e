"""Noise on recurrent states: recurrent dropout and zoneout."""

import keras
import tensorflow as tf


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
        leading: shape of more dimensions before the states'.

    Returns:
        List of tensors, `(*leading, B, U)` in training, else `(*leading, B, 1)`.
    """
    shares = []
    for state in states:
        dtype = "float64" if state.dtype == tf.float64 else "float32"
        shape = tf.concat([tf.cast(leading, tf.int32), tf.shape(state)], 0)
        if training:
            drawn = keras.random.uniform(shape, dtype=dtype, seed=seed) < rate
            share = tf.cast(drawn, dtype)
        else:
            share = tf.fill(tf.concat([shape[:-1], [1]], 0), tf.constant(rate, dtype))
        dimensions = [None] * len(leading) if isinstance(leading, (list, tuple)) else [None]
        share.set_shape([*dimensions, state.shape[0], state.shape[1] if training else 1])
        shares.append(share)
    return shares


def draw_seen_scale(state, rate, seed):
    """Draws one mask of recurrent dropout for a whole sequence: 0 or `1 / (1 - rate)`, `(B, U)`."""
    return keras.random.dropout(tf.ones_like(state), rate, seed=seed)
