"""Replicas: the copies of a model that each train on some rows of a batch (`tf.distribute`)."""

import tensorflow as tf


def replica_count():
    """Return the number of replicas of the current strategy; 1 without one."""
    return tf.distribute.get_strategy().num_replicas_in_sync


def sum_over_replicas(value):
    """Return the sum of a tensor over all replicas, or the tensor itself outside of their steps.

    Args:
        value: a tensor, constant for gradients: none flow through the sum.
    """
    context = tf.distribute.get_replica_context()
    if replica_count() == 1 or context is None:
        return value
    return context.all_reduce(tf.distribute.ReduceOp.SUM, tf.stop_gradient(value))


def part_of_mean(total, weight):
    """Return this replica's part of a weighted mean over all replicas.

    The parts of all replicas sum to the mean, and their gradients to its gradient. The separate
    means of the replicas do not if one has more padding than another.

    Args:
        total: float scalar, the sum of the weighted values of this replica.
        weight: float scalar, the sum of their weights.

    Returns:
        A scalar; 0 if the weights of all replicas sum to 0.
    """
    return tf.math.divide_no_nan(total, sum_over_replicas(weight))
