"""Checks of arguments that are numbers, and what is made of them."""

import math
import numbers

import tensorflow as tf


def check_integer(name, value, minimum):
    """Returns `value` as an int, or raises a ValueError that names what is needed."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < minimum:
        raise ValueError(f"`{name}` must be an int of at least {minimum}. Received {value!r}.")
    return int(value)


def check_number(name, value, minimum=-math.inf):
    """Returns `value` as a float, or raises a ValueError that names what is needed."""
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value < minimum:
        need = "a number" if minimum == -math.inf else f"a number of at least {minimum:g}"
        raise ValueError(f"`{name}` must be {need}. Received {value!r}.")
    return float(value)


def check_share(name, value, alternative=""):
    """Returns `value` as a float from 0 to 1, or raises a ValueError that names what is needed."""
    value = check_number(name, value, minimum=0.0)
    if value > 1:
        raise ValueError(f"`{name}` must be a number from 0 to 1{alternative}. Received {value!r}.")
    return value


def times_source(name, ratio, source_lengths, up):
    """Multiplies lengths of sources with a ratio and rounds, up or down.

    Args:
        name: string, the argument that the ratio is.
        ratio: float.
        source_lengths: int32 tensor `(B,)`, or `None`, which is an error.
        up: bool.

    Returns:
        int32 tensor `(B,)`.
    """
    if source_lengths is None:
        raise ValueError(f"`{name}` needs the search's `source_lengths`, got None.")
    scaled = ratio * tf.cast(source_lengths, tf.float64)
    # The tolerance is for ratios such as 1.2 that are no binary fractions.
    rounded = tf.math.ceil(scaled - 1e-6) if up else tf.floor(scaled + 1e-6)
    return tf.cast(tf.minimum(rounded, 2.0**30), tf.int32)
