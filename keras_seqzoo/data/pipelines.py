"""What all pipelines of batches have in common."""

import tensorflow as tf


def without_autotuning(dataset):
    """Turns the tuner of `tf.data` off for a pipeline that has nothing to tune.

    The tuner's thread lets the end of each iteration wait for its next turn: seconds after the
    first epoch, up to a minute after long ones.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)
