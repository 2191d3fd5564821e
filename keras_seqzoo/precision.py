"""Dtypes to compute in."""

import tensorflow as tf


def loop_dtype(dtype):
    """Gives the dtype of loops over time, softmaxes and sums: float64 stays, else it is float32."""
    return tf.float64 if dtype == tf.float64 else tf.float32
