"""Batches of labelled texts of similar length."""

import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.data.length_buckets import (
    bucket_order,
    bucket_rows,
    count_batches,
    full_batch,
    make_dataset,
)


def labelled_batches(ids, labels, batch_size, boundaries, seed, weights=None, pad_token_id=0):
    """Create batches of texts of similar length, in random order, for `fit`.

    Each text is padded to the first boundary that it does not exceed, or truncated to the last. The
    last batch of a boundary is filled with padding rows of weight 0, so that XLA compiles once per
    boundary.

    Args:
        ids: `RaggedIds` of the texts.
        labels: array `(texts,)` of ints, or `(texts, labels)` of floats.
        batch_size: int, the number of rows of a batch.
        boundaries: list of increasing ints, the lengths to pad to.
        seed: int or sequence of ints. Each iteration yields the same batches.
        weights: float array `(texts,)`, the weights of the texts in the loss, or `None` for 1.
        pad_token_id: int.

    Returns:
        A `tf.data.Dataset` with known cardinality of `(inputs, labels, sample_weight)`: a dict of
        `token_ids`, int32, and `padding_mask`, bool, `(batch_size, boundary)`; labels; and float32
        weights `(batch_size,)`.

    Raises:
        ValueError: if the numbers of texts and labels differ or are 0.
    """
    check_integer("batch_size", batch_size, minimum=1)
    texts = len(ids.lengths)
    labels = np.asarray(labels)
    weights = np.ones(texts, np.float32) if weights is None else np.asarray(weights, np.float32)
    if not texts or not len(labels) == len(weights) == texts:
        raise ValueError(
            "`ids`, `labels` and `weights` must have the same, positive length, "
            f"got {texts}, {len(labels)} and {len(weights)}."
        )
    buckets = bucket_rows(ids.lengths, boundaries)
    steps = count_batches(buckets, batch_size)

    def generate():
        for rows, number in bucket_order(buckets, batch_size, True, seed):
            width = boundaries[number]
            token_ids, mask = full_batch(ids, rows, width, batch_size, pad_token_id)
            inputs = {"token_ids": token_ids, "padding_mask": mask}
            fill = (0, batch_size - len(rows))
            # Any label fits the padding rows, which have weight 0.
            batch_labels = labels[np.pad(rows, fill, constant_values=rows[0])]
            yield inputs, batch_labels, np.pad(weights[rows], fill)

    matrix = {dtype: tf.TensorSpec((batch_size, None), dtype) for dtype in (tf.int32, tf.bool)}
    signature = (
        {"token_ids": matrix[tf.int32], "padding_mask": matrix[tf.bool]},
        tf.TensorSpec((batch_size, *labels.shape[1:]), labels.dtype),
        tf.TensorSpec((batch_size,), tf.float32),
    )
    return make_dataset(generate, signature, steps)
