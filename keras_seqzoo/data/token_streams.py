"""Batches for language models: parallel streams of a text, or sentences."""

import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.data.length_buckets import without_autotuning
from keras_seqzoo.data.ragged_ids import RaggedIds


def stream_batches(token_ids, labels, streams, length, offset=0):
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
            the end. Another offset for each epoch divides the text at other tokens.

    Returns:
        A `tf.data.Dataset` with known cardinality of `(inputs, labels, sample_weight)`: a dict of
        `token_ids`, int32, and `padding_mask`, bool; int32 labels; and float32 weights, all
        `(streams, length)`.

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
    part = -(-len(token_ids) // streams)  # tokens of a stream
    steps = -(-part // length)

    def split(values):
        rolled = np.roll(values, -offset) if offset else values
        rows = np.pad(rolled, (0, part * streams - len(values))).reshape(streams, part)
        rows = np.pad(rows, ((0, 0), (0, steps * length - part)))
        return rows.reshape(streams, steps, length).swapaxes(0, 1)  # (steps, streams, length)

    ids, valid = split(token_ids), split(np.ones(len(token_ids), np.float32))
    return _make_dataset(ids, split(labels), valid)


def sentence_batches(sentences, start_token_id, batch_size, length, seed=None):
    """Create batches with a sentence in each row.

    Args:
        sentences: list of int32 arrays, each ending with `[EOS]`.
        start_token_id: int, the id of `[BOS]`, the first input.
        batch_size: int, the number of rows of a batch. The last batch is filled with padding rows
            of weight 0.
        length: int, the length to which sentences are padded or truncated.
        seed: int or sequence of ints, the seed of a random order, or `None` for the given order.

    Returns:
        A `tf.data.Dataset` of batches `(batch_size, length)` as from `stream_batches`.

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
    if not len(sentences):
        raise ValueError("`sentences` must have at least one sentence, got none.")
    rows = np.arange(len(sentences))
    if seed is not None:
        rows = np.random.default_rng(seed).permutation(rows)
    ragged = RaggedIds.from_lengths(np.concatenate(sentences), [len(ids) for ids in sentences])
    labels, valid = ragged.padded(rows, length, 0)
    steps = -(-len(rows) // batch_size)
    fill = ((0, steps * batch_size - len(rows)), (0, 0))
    labels, valid = (np.pad(part, fill) for part in (labels, valid))
    ids = np.pad(labels[:, :-1], ((0, 0), (1, 0)), constant_values=start_token_id) * valid
    shape = (steps, batch_size, length)
    arrays = (part.reshape(shape) for part in (ids, labels, valid.astype(np.float32)))
    return _make_dataset(*arrays)


def _make_dataset(ids, labels, weights):
    """Create a dataset from arrays `(steps, rows, length)`."""
    inputs = {"token_ids": ids, "padding_mask": weights > 0}
    dataset = tf.data.Dataset.from_tensor_slices((inputs, labels, weights))
    return without_autotuning(dataset)
