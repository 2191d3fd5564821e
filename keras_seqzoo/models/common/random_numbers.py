"""Random numbers that depend on a seed alone, the same with XLA and without."""

import tensorflow as tf

ALGORITHM = "philox"  # named, so that XLA draws the same numbers


def fold_in(seed, number):
    """Return a seed that follows from another one, int32 `(2,)`, and a number."""
    number = tf.cast(number, tf.int32)
    return tf.random.experimental.stateless_fold_in(seed, number, alg=ALGORITHM)


def uniform(shape, seed):
    """Draw float32 numbers in [0, 1) that depend on the seed, int32 `(2,)`, alone."""
    # Of the same bits XLA makes other floats than TensorFlow.
    bits = tf.random.stateless_uniform(
        shape, seed, minval=None, maxval=None, dtype=tf.int32, alg=ALGORITHM
    )
    return tf.cast(tf.bitwise.bitwise_and(bits, 2**24 - 1), tf.float32) * 2.0**-24
