"""Weights of what a metric counts."""

import tensorflow as tf


def multiply_weights(weights, *factors):
    """Multiply weights by other weights or masks.

    Args:
        weights: float tensor.
        *factors: float or bool tensors of its shape, or of fewer dimensions, such as one number for
            each row, or `None` for 1.

    Returns:
        A tensor like `weights`.
    """
    for factor in factors:
        if factor is None:
            continue
        factor = tf.cast(factor, weights.dtype)
        for _ in range(weights.shape.rank - factor.shape.rank):
            factor = factor[..., tf.newaxis]
        weights *= factor
    return weights
