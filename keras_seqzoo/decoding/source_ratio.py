"""What an option in proportion to the source means for its length."""

import tensorflow as tf


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
