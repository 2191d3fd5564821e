"""Random numbers that depend only on a seed, the same with and without XLA."""

import tensorflow as tf

ALGORITHM = "philox"  # named, so that XLA draws the same numbers


def fold_in(seed, number):
    """Derive a seed, int32 `(2,)`, from another seed and a number."""
    number = tf.cast(number, tf.int32)
    return tf.random.experimental.stateless_fold_in(seed, number, alg=ALGORITHM)


def uniform(shape, seed):
    """Draw float32 numbers in [0, 1) that depend only on the seed, int32 `(2,)`."""
    # XLA makes other floats from the same bits than TensorFlow.
    bits = tf.random.stateless_uniform(
        shape, seed, minval=None, maxval=None, dtype=tf.int32, alg=ALGORITHM
    )
    return tf.cast(tf.bitwise.bitwise_and(bits, 2**24 - 1), tf.float32) * 2.0**-24
