"""Batches for language models: parallel streams of a text, or sentences."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.data.batching.length_buckets import count_batches, full_batch, make_dataset
from keras_seqzoo.data.batching.ragged_ids import RaggedIds
from keras_seqzoo.data.batching.window_batches import bucket_counts, window_batches

STEPS_AT_A_TIME = 32  # that one read of each stream covers


class Sentences(NamedTuple):
    """Sentences as ids.

    Attributes:
        ids: `RaggedIds` of the sentences, each ending with `[EOS]`.
    """

    ids: RaggedIds

    def take(self, rows):
        """Return the sentences at which bools `(sentences,)` are true."""
        return Sentences(self.ids.take(rows))


def stream_batches(token_ids, labels, streams, length, offset=0, start=0):
    """Create batches of parallel streams, for truncated back-propagation through time.

    The text is divided into `streams` parts of equal length, and row i of the batches reads part i:
    its first `length` tokens in the first batch, the next `length` in the second. A model that
    carries its states from batch to batch reads each part as one long text. Padding with weight 0
    follows the end of each part.

    Args:
        token_ids: `(tokens,)` int32 array, the inputs of the model.
        labels: `(tokens,)` int32 array, the label of each token.
        streams: int, the number of rows of a batch.
        length: int, the number of tokens of a row in each batch.
        offset: int, the token at which the first stream begins; the tokens before it are moved to
            the end. A different offset in each epoch divides the text at different tokens.
        start: int, the number of batches to leave out at the beginning.

    Returns:
        A `tf.data.Dataset` with known cardinality of `(inputs, labels, sample_weight)`. The inputs
        are a dict of `token_ids`, int32, and `padding_mask`, bool; labels are int32, and weights
        float32. All are `(streams, length)`.

    Raises:
        ValueError: if there are fewer tokens than streams, or an argument is out of range.

    Example:
    >>> ids = np.arange(7)
    >>> for inputs, labels, _ in stream_batches(ids[:-1], ids[1:], streams=2, length=2):
    ...     print(inputs["token_ids"].numpy().tolist())
    [[0, 1], [3, 4]]
    [[2, 0], [5, 0]]
    """
    token_ids, labels = (np.asarray(ids, np.int32) for ids in (token_ids, labels))
    check_integer("streams", streams, minimum=1)
    check_integer("length", length, minimum=1)
    if token_ids.ndim != 1 or token_ids.shape != labels.shape:
        raise ValueError(
            "`token_ids` and `labels` must have one dimension and the same length, got the shapes "
            f"{token_ids.shape} and {labels.shape}."
        )
    if len(token_ids) < streams:
        raise ValueError(
            f"`token_ids` must have a token for each of the {streams} `streams`, "
            f"got {len(token_ids)}."
        )
    return _stream_dataset(
        lambda first, last: (token_ids[first:last], labels[first:last]),
        len(token_ids),
        streams,
        length,
        offset,
        start,
    )


def running_batches(sentences, start_token_id, streams, length, offset=0, start=0):
    """Create batches of parallel streams of the running text of sentences.

    The labels are the joined sentences. The inputs are the tokens before them, with `[BOS]` instead
    of `[EOS]`.

    Args:
        sentences: an `IdCache` of `Sentences`.
        start_token_id: int, the id of `[BOS]`.
        streams: int; for this and the next arguments, see `stream_batches`.
        length: int.
        offset: int.
        start: int.

    Returns:
        A `tf.data.Dataset`, see `stream_batches`.
    """
    tokens = sentences.tokens["ids"]
    [end_token_id] = sentences.joined("ids", tokens - 1, tokens)

    def read(first, last):
        ids = sentences.joined("ids", max(0, first - 1), last)
        if first == 0:
            ids = np.insert(ids, 0, end_token_id)
        before, labels = ids[:-1], ids[1:]
        return np.where(before == end_token_id, np.int32(start_token_id), before), labels

    return _stream_dataset(read, tokens, streams, length, offset, start)


def _stream_dataset(read, tokens, streams, length, offset, start):
    """Create the dataset of `stream_batches`; `read(first, last)` returns inputs and labels."""
    part = -(-tokens // streams)  # tokens of a stream
    steps = -(-part // length)

    def read_stream(stream, first, last):
        """Return positions `first` to `last` of a stream, padded: inputs, labels and weights."""
        begin = stream * part + first
        end = min(stream * part + min(last, part), tokens)
        count = max(0, end - begin)
        pieces = []
        if count:
            begin, end = (begin + offset) % tokens, (end - 1 + offset) % tokens + 1
            ranges = [(begin, end)] if begin < end else [(begin, tokens), (0, end)]
            pieces = [read(*bounds) for bounds in ranges]
        rows = [np.zeros(last - first, kind) for kind in (np.int32, np.int32, np.float32)]
        for row, values in zip(rows, zip(*pieces, strict=True), strict=False):
            row[:count] = np.concatenate(values)
        rows[2][:count] = 1.0
        return rows

    def generate():
        for step in range(start, steps, STEPS_AT_A_TIME):
            bounds = step * length, min(step + STEPS_AT_A_TIME, steps) * length
            rows = zip(*(read_stream(stream, *bounds) for stream in range(streams)), strict=True)
            shape = streams, -1, length
            ids, labels, weights = (np.reshape(row, shape).swapaxes(0, 1) for row in rows)
            for batch in zip(ids, labels, weights, strict=True):
                yield _make_batch(*batch)

    return make_dataset(generate, _signature(streams, length), steps - start)


def sentence_batches(sentences, start_token_id, batch_size, length, seed=None, start=0):
    """Create batches with one sentence in each row.

    Args:
        sentences: list of int32 arrays, each ending with `[EOS]`, or an `IdCache` of `Sentences`.
        start_token_id: int, the id of `[BOS]`, the first input.
        batch_size: int, the number of rows of a batch. The last batch is filled with padding rows
            of weight 0.
        length: int, the length to which sentences are padded or truncated.
        seed: int or sequence of ints, the seed of a random order, or `None` for the given order.
        start: int, the number of batches to leave out at the beginning.

    Returns:
        A `tf.data.Dataset` of batches `(batch_size, length)`, as in `stream_batches`.

    Raises:
        ValueError: if there is no sentence, or an argument is out of range.

    Example:
    >>> sentences = [np.array([7, 8, 3]), np.array([9, 3])]
    >>> for inputs, labels, _ in sentence_batches(sentences, 2, batch_size=2, length=3):
    ...     print(inputs["token_ids"].numpy().tolist(), labels.numpy().tolist())
    [[2, 7, 8], [2, 9, 0]] [[7, 8, 3], [9, 3, 0]]
    """
    check_integer("batch_size", batch_size, minimum=1)
    check_integer("length", length, minimum=1)
    if isinstance(sentences, (list, tuple)):
        if not sentences:
            raise ValueError("`sentences` must have at least one sentence, got none.")
        lengths = [len(ids) for ids in sentences]
        sentences = Sentences(RaggedIds.from_lengths(np.concatenate(sentences), lengths))

    def find_buckets(part):  # all sentences are padded to one length
        return np.zeros(len(part.ids.lengths), np.int64)

    steps = count_batches(bucket_counts(sentences, 1, find_buckets), batch_size)

    def generate():
        options = {"shuffle": seed is not None, "seed": seed, "start": start}
        for window, rows, _ in window_batches(sentences, 1, find_buckets, batch_size, **options):
            labels, valid = full_batch(window.ids, rows, length, batch_size, 0)
            before = np.pad(labels[:, :-1], ((0, 0), (1, 0)), constant_values=start_token_id)
            yield _make_batch(before * valid, labels, valid.astype(np.float32))

    return make_dataset(generate, _signature(batch_size, length), steps - start)


def _make_batch(ids, labels, weights):
    return {"token_ids": ids, "padding_mask": weights > 0}, labels, weights


def _signature(rows, length):
    ids, mask, weights = (
        tf.TensorSpec((rows, length), dtype) for dtype in (tf.int32, tf.bool, tf.float32)
    )
    return {"token_ids": ids, "padding_mask": mask}, ids, weights
