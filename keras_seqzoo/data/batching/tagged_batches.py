"""Batches of tagged sentences of similar length."""

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


class TaggedSentences(NamedTuple):
    """Tagged sentences as ids.

    Attributes:
        words: `RaggedIds`, the words of each sentence.
        pieces: `RaggedIds`, the pieces of each word of all sentences, or `None`.
        tags: `RaggedIds`, the tags of each sentence.
    """

    words: RaggedIds
    pieces: RaggedIds
    tags: RaggedIds

    def take(self, rows):
        """Return the sentences at which bools `(sentences,)` are true."""
        pieces = self.pieces
        if pieces is not None:
            pieces = pieces.take(np.repeat(rows, self.words.lengths))
        return TaggedSentences(self.words.take(rows), pieces, self.tags.take(rows))


def tagged_batches(sentences, batch_size, boundaries, word_length, seed, pad_token_id=0, start=0):
    """Create batches of tagged sentences of similar length, in random order, for `fit`.

    Each sentence is padded to the first boundary that it does not exceed, or truncated to the last.
    The last batch of a boundary is filled with padding rows, so that XLA compiles once per
    boundary.

    Args:
        sentences: `TaggedSentences`, or an `IdCache` of them.
        batch_size: int, the number of rows of a batch.
        boundaries: list of increasing ints, the lengths to pad to.
        word_length: int, the number of pieces to which words are padded or truncated.
        seed: int or sequence of ints. Each iteration yields the same batches.
        pad_token_id: int.
        start: int, the number of batches to leave out at the beginning.

    Returns:
        A `tf.data.Dataset` with known cardinality of `(inputs, tags)`. The inputs are a dict of
        `token_ids`, int32 `(batch_size, boundary)`, `padding_mask`, bool, and with pieces
        `piece_ids`, int32 `(batch_size, boundary, word_length)`. The tags are int32, -1 at padding.

    Raises:
        ValueError: if there is no sentence, or one has different numbers of words and tags.
    """
    check_integer("batch_size", batch_size, minimum=1)
    shapes = as_windows(sentences).shapes
    for part in shapes():
        lengths, tags = part.words.lengths, part.tags.lengths
        if not len(lengths) or not np.array_equal(lengths, tags):
            raise ValueError(
                "`sentences` must have at least one sentence, and a tag for each word, got the "
                f"lengths {lengths.tolist()[:5]} of words and {tags.tolist()[:5]} of tags."
            )

    def find_buckets(part):
        return length_buckets(part.words.lengths, boundaries)

    counts = bucket_counts(sentences, len(boundaries), find_buckets)
    steps = count_batches(counts, batch_size)

    def generate():
        options = {"shuffle": True, "seed": seed, "start": start}
        order = window_batches(sentences, len(boundaries), find_buckets, batch_size, **options)
        for (words, pieces, tags), rows, number in order:
            width = boundaries[number]
            ids, mask = full_batch(words, rows, width, batch_size, pad_token_id)
            labels, _ = full_batch(tags, rows, width, batch_size, -1)
            inputs = {"token_ids": ids, "padding_mask": mask}
            if pieces is not None:
                word_index = words.offsets[rows][:, np.newaxis] + np.arange(width)
                word_index = word_index[mask[: len(rows)]]
                piece_ids = np.full((batch_size, width, word_length), pad_token_id, np.int32)
                piece_ids[mask], _ = pieces.padded(word_index, word_length, pad_token_id)
                inputs["piece_ids"] = piece_ids
            yield inputs, labels

    signature = {
        "token_ids": tf.TensorSpec((batch_size, None), tf.int32),
        "padding_mask": tf.TensorSpec((batch_size, None), tf.bool),
    }
    if next(iter(shapes())).pieces is not None:
        signature["piece_ids"] = tf.TensorSpec((batch_size, None, word_length), tf.int32)
    labels = tf.TensorSpec((batch_size, None), tf.int32)
    return make_dataset(generate, (signature, labels), steps - start)
