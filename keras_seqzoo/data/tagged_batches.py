"""Batches of tagged sentences of similar length."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.data.length_buckets import (
    bucket_order,
    bucket_rows,
    count_batches,
    full_batch,
    generated,
)
from keras_seqzoo.data.token_pairs import RaggedIds


class TaggedSentences(NamedTuple):
    """Sentences as ids.

    Attributes:
        words: `RaggedIds` of the sentences.
        pieces: `RaggedIds` of the words, one after the other, or `None` without pieces.
        tags: `RaggedIds` of the sentences.
    """

    words: RaggedIds
    pieces: RaggedIds
    tags: RaggedIds


def tagged_batches(sentences, batch_size, boundaries, word_length, seed, pad_token_id=0):
    """Makes batches of sentences of similar length, in random order, for `fit`.

    Each sentence belongs to the first boundary that it does not exceed and is padded to it, or cut
    to the last. Rows of padding fill up the last batch of a boundary, so that what XLA compiles, it
    compiles once for each boundary.

    Args:
        sentences: `TaggedSentences`.
        batch_size: int, rows of a batch.
        boundaries: list of increasing ints, the lengths to pad to.
        word_length: int, what pieces are padded or cut to.
        seed: integer or sequence of them; the same gives the same batches in each iteration.
        pad_token_id: int.

    Returns:
        A `tf.data.Dataset`, of known cardinality, of `(inputs, tags)`: a dict of `token_ids`, int32
        `(batch_size, boundary)`, `padding_mask`, bool, and with pieces `piece_ids`, int32
        `(batch_size, boundary, word_length)`; and tags, int32, -1 at padding.

    Raises:
        ValueError: if there is no sentence, or one has not as many tags as words.
    """
    check_integer("batch_size", batch_size, minimum=1)
    words, pieces, tags = sentences
    lengths = words.lengths
    if not len(lengths) or not np.array_equal(lengths, tags.lengths):
        raise ValueError("`sentences` must have a sentence, and each as many tags as words.")
    buckets = bucket_rows(lengths, boundaries)
    steps = count_batches(buckets, batch_size)

    def generate():
        for rows, number in bucket_order(buckets, batch_size, True, seed):
            width = boundaries[number]
            ids, mask = full_batch(words, rows, width, batch_size, pad_token_id)
            labels, _ = full_batch(tags, rows, width, batch_size, -1)
            inputs = {"token_ids": ids, "padding_mask": mask}
            if pieces is not None:
                places = words.offsets[rows][:, np.newaxis] + np.arange(width)
                found = np.full((batch_size, width, word_length), pad_token_id, np.int32)
                own, _ = pieces.padded(places[mask[: len(rows)]], word_length, pad_token_id)
                found[mask] = own
                inputs["piece_ids"] = found
            yield inputs, labels

    signature = {
        "token_ids": tf.TensorSpec((batch_size, None), tf.int32),
        "padding_mask": tf.TensorSpec((batch_size, None), tf.bool),
    }
    if pieces is not None:
        signature["piece_ids"] = tf.TensorSpec((batch_size, None, word_length), tf.int32)
    labels = tf.TensorSpec((batch_size, None), tf.int32)
    return generated(generate, (signature, labels), steps)
