"""Batches of labelled texts of similar length."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.data.batching.id_cache import as_windows
from keras_seqzoo.data.batching.length_buckets import (
    count_batches,
    full_batch,
    length_buckets,
    make_dataset,
)
from keras_seqzoo.data.batching.ragged_ids import RaggedIds
from keras_seqzoo.data.batching.window_batches import bucket_counts, window_batches


class LabelledTexts(NamedTuple):
    """Texts as ids, and their labels.

    Attributes:
        ids: `RaggedIds` of the texts.
        labels: array `(texts,)` of ints, or `(texts, labels)` of floats.
        heads: `RaggedIds`, the head of each token in a tree, or `None`.
    """

    ids: RaggedIds
    labels: np.ndarray
    heads: RaggedIds | None = None

    def take(self, rows):
        """Return the texts at which bools `(texts,)` are true."""
        heads = None if self.heads is None else self.heads.take(rows)
        return LabelledTexts(self.ids.take(rows), self.labels[rows], heads)


def labelled_batches(
    texts, batch_size, boundaries, seed, label_weights=None, pad_token_id=0, start=0
):
    """Create batches of texts of similar length, in random order, for `fit`.

    Each text is padded to the first boundary that it does not exceed, or truncated to the last. The
    last batch of a boundary is filled with padding rows of weight 0, so that XLA compiles once per
    boundary.

    Args:
        texts: `LabelledTexts`, or an `IdCache` of them.
        batch_size: int, the number of rows of a batch.
        boundaries: list of increasing ints, the lengths to pad to.
        seed: int or sequence of ints. Each iteration yields the same batches.
        label_weights: float array `(labels,)`, the weight in the loss of texts with each label, or
            `None` for 1.
        pad_token_id: int.
        start: int, the number of batches to leave out at the beginning.

    Returns:
        A `tf.data.Dataset` with known cardinality of `(inputs, labels, sample_weight)`. The inputs
        are a dict of `token_ids`, int32, `padding_mask`, bool, and with trees `heads`, int32, 0 at
        padding, all `(batch_size, boundary)`. The weights are float32 `(batch_size,)`.

    Raises:
        ValueError: if the numbers of texts and labels differ or are 0.
    """
    check_integer("batch_size", batch_size, minimum=1)
    if isinstance(texts, LabelledTexts):
        texts = texts._replace(labels=np.asarray(texts.labels))
        if not len(texts.labels) == len(texts.ids.lengths) > 0:
            raise ValueError(
                "`texts` must have ids and labels of the same, positive number, got "
                f"{len(texts.ids.lengths)} and {len(texts.labels)}."
            )

    def find_buckets(part):
        return length_buckets(part.ids.lengths, boundaries)

    first = next(iter(as_windows(texts).shapes()))
    labels = first.labels
    counts = bucket_counts(texts, len(boundaries), find_buckets)
    steps = count_batches(counts, batch_size)

    def generate():
        options = {"shuffle": True, "seed": seed, "start": start}
        order = window_batches(texts, len(boundaries), find_buckets, batch_size, **options)
        for window, rows, number in order:
            width = boundaries[number]
            token_ids, mask = full_batch(window.ids, rows, width, batch_size, pad_token_id)
            inputs = {"token_ids": token_ids, "padding_mask": mask}
            if window.heads is not None:
                inputs["heads"], _ = full_batch(window.heads, rows, width, batch_size, 0)
            fill = (0, batch_size - len(rows))
            weights = np.ones(len(rows), np.float32)
            if label_weights is not None:
                weights = np.float32(label_weights)[window.labels[rows]]
            # Any label fits the padding rows, which have weight 0.
            batch_labels = window.labels[np.pad(rows, fill, constant_values=rows[0])]
            yield inputs, batch_labels, np.pad(weights, fill)

    matrix = {dtype: tf.TensorSpec((batch_size, None), dtype) for dtype in (tf.int32, tf.bool)}
    inputs = {"token_ids": matrix[tf.int32], "padding_mask": matrix[tf.bool]}
    if first.heads is not None:
        inputs["heads"] = matrix[tf.int32]
    signature = (
        inputs,
        tf.TensorSpec((batch_size, *labels.shape[1:]), labels.dtype),
        tf.TensorSpec((batch_size,), tf.float32),
    )
    return make_dataset(generate, signature, steps - start)
