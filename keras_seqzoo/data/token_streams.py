"""Text for language models, batch by batch: as parallel streams, or sentence by sentence."""

import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.data.length_buckets import without_autotuning
from keras_seqzoo.data.token_pairs import RaggedIds


def stream_batches(token_ids, labels, streams, length, offset=0):
    """Cuts a text into streams that run on from batch to batch, as truncated back-propagation does.

    The text is divided into as many parts of one length as there are streams, and row i of the
    batches reads the i-th part: the first `length` tokens of it in the first batch, those after
    them in the second. A model that carries its states from batch to batch reads as many long
    texts side by side. Where the parts end, padding with weight 0 follows.

    Args:
        token_ids: `(tokens,)` int32 array, what the model reads.
        labels: `(tokens,)` int32 array, what it has to predict after each.
        streams: int, the rows of a batch.
        length: int, the tokens of a row in each batch.
        offset: int, where the first stream begins; what is before comes after the end of the
            text. Another one for each epoch cuts the text at other places.

    Returns:
        A `tf.data.Dataset`, of known cardinality, of `(inputs, labels, sample_weight)`: a dict of
        `token_ids`, int32, and `padding_mask`, bool, int32 labels, and float32 weights, all
        `(streams, length)`.

    Raises:
        ValueError: if there are fewer tokens than streams, or an argument is out of its range.

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
            "`token_ids` and `labels` must be two arrays of one dimension and length, got shapes "
            f"{token_ids.shape} and {labels.shape}."
        )
    if len(token_ids) < streams:
        raise ValueError(
            f"`token_ids` must have a token for each of the {streams} `streams`, "
            f"got {len(token_ids)}."
        )
    own = -(-len(token_ids) // streams)  # tokens of a stream
    steps = -(-own // length)

    def cut(values):
        rolled = np.roll(values, -offset) if offset else values
        rows = np.pad(rolled, (0, own * streams - len(values))).reshape(streams, own)
        rows = np.pad(rows, ((0, 0), (0, steps * length - own)))
        return rows.reshape(streams, steps, length).swapaxes(0, 1)  # (steps, streams, length)

    ids, valid = cut(token_ids), cut(np.ones(len(token_ids), np.float32))
    return _dataset(ids, cut(labels), valid)


def sentence_batches(sentences, start_token_id, batch_size, length, seed=None):
    """Makes batches in which each row is a sentence of its own.

    Args:
        sentences: list of int32 arrays, each ending with `[EOS]`.
        start_token_id: int, that of `[BOS]`, which is read first.
        batch_size: int, the rows of a batch. Rows of padding with weight 0 fill up the last one.
        length: int, what sentences are padded and, with the loss of their ends, cut to.
        seed: int or sequence of ints, of a random order, or `None` for the order given.

    Returns:
        A `tf.data.Dataset` of batches `(batch_size, length)` as from `stream_batches`.

    Raises:
        ValueError: if there is no sentence, or a number is out of its range.

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
    empty = ((0, steps * batch_size - len(rows)), (0, 0))
    labels, valid = (np.pad(part, empty) for part in (labels, valid))
    ids = np.pad(labels[:, :-1], ((0, 0), (1, 0)), constant_values=start_token_id) * valid
    shape = (steps, batch_size, length)
    return _dataset(*(part.reshape(shape) for part in (ids, labels, valid.astype(np.float32))))


def _dataset(ids, labels, weights):
    """Makes a dataset of `(steps, rows, length)`."""
    inputs = {"token_ids": ids, "padding_mask": weights > 0}
    dataset = tf.data.Dataset.from_tensor_slices((inputs, labels, weights))
    return without_autotuning(dataset)
