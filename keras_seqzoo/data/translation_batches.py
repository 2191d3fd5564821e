"""Batches of pairs of sentences of similar length, to train translation on."""

import warnings

import numpy as np
import tensorflow as tf

from keras_seqzoo.data.length_buckets import (
    bucket_order,
    check_batch_size,
    check_boundaries,
    count_batches,
    full_batch,
    generated,
)
from keras_seqzoo.data.token_pairs import tokenize_pairs

BOUNDARIES = (8, 12, 16, 20, 24, 32, 48, 64)


def bucketed_batches(
    pairs,
    batch_size=64,
    boundaries=BOUNDARIES,
    shuffle=True,
    seed=0,
    drop_remainder=False,
    reshuffle_each_epoch=False,
    pad_token_id=0,
):
    """Makes of tokenised pairs a `tf.data` pipeline of padded batches, bucketed by length.

    A pair belongs to the first boundary that neither the source nor the decoder's input (the
    target without its last id) exceeds, and both sides are padded to that boundary. The last batch
    of a boundary is filled up with rows that are all padding and weigh nothing, so a batch is
    `(batch_size, boundary)` throughout and what XLA compiles, it compiles once per boundary. Pairs
    longer than the last boundary are left out, with a warning that counts them.

    The order is a function of the arguments alone, so that a run can be resumed with
    `dataset.skip(k)`: the same seed gives the same batches each time the dataset is iterated. Give
    each epoch a dataset with a seed of its own, or set `reshuffle_each_epoch`.

    Args:
        pairs: A `TokenPairs`.
        batch_size: The number of rows of a batch.
        boundaries: The lengths to pad to, increasing.
        shuffle: Whether each bucket's pairs, and then the batches, come in random order. Else
            pairs keep their order within a bucket, and the shortest bucket comes first.
        seed: A non-negative integer, or a sequence of them such as `(seed, epoch)`.
        drop_remainder: Whether to leave out each bucket's last batch where it is not full.
        reshuffle_each_epoch: Whether the second and each later iteration over this dataset
            has a new order, which depends on the seed and the number of the iteration.
        pad_token_id: The id at padding.

    Returns:
        A `tf.data.Dataset`, of known cardinality, of `(inputs, labels, sample_weight)` in
        KerasHub's format for `Seq2SeqLM`. `inputs` is a dictionary of `encoder_token_ids`
        `(batch, boundary)` int32, `encoder_padding_mask` bool, `decoder_token_ids` int32 and
        `decoder_padding_mask` bool, all of that shape; `labels`, int32, are the decoder's ids one
        step ahead; `sample_weight`, float32, is 1 at labels and 0 at padding.

    Raises:
        ValueError: When an argument is out of range, or every pair is too long.

    Example:
        ```python
        pairs = tokenize_pairs(english, french, english_tokenizer, french_tokenizer)
        for epoch in range(10):
            model.fit(bucketed_batches(pairs, batch_size=64, seed=(7, epoch)))
        ```
    """
    _check_options(batch_size, boundaries, seed)
    buckets = _buckets(pairs, boundaries)
    steps = count_batches(buckets, batch_size, drop_remainder)
    if steps == 0:
        raise ValueError(
            f"drop_remainder leaves no batch: no bucket has batch_size ({batch_size}) pairs"
        )
    iterations = 0

    def generate():
        nonlocal iterations
        words = _seed_words(seed, iterations)
        iterations += reshuffle_each_epoch
        order = bucket_order(buckets, batch_size, shuffle, words, drop_remainder)
        for rows, bucket in order:
            yield _padded_batch(pairs, rows, boundaries[bucket], batch_size, pad_token_id)

    return generated(generate, _SIGNATURE, steps)


def count_buckets(pairs, boundaries=BOUNDARIES):
    """Counts the shapes of the batches that `bucketed_batches` gives: the boundaries with pairs.

    Args:
        pairs: A `TokenPairs`.
        boundaries: See `bucketed_batches`.

    Returns:
        An int, also the number of times that `fit` compiles a step for them.
    """
    buckets = np.unique(_bucket_indices(pairs, boundaries))
    return int(np.count_nonzero(buckets < len(boundaries)))


_MATRIX = {dtype: tf.TensorSpec((None, None), dtype) for dtype in (tf.int32, tf.bool, tf.float32)}
_SIGNATURE = (
    {
        "encoder_token_ids": _MATRIX[tf.int32],
        "encoder_padding_mask": _MATRIX[tf.bool],
        "decoder_token_ids": _MATRIX[tf.int32],
        "decoder_padding_mask": _MATRIX[tf.bool],
    },
    _MATRIX[tf.int32],
    _MATRIX[tf.float32],
)


def _padded_batch(pairs, rows, width, batch_size, pad_token_id):
    encoder_ids, encoder_mask = full_batch(pairs.source, rows, width, batch_size, pad_token_id)
    ids, valid = full_batch(pairs.target, rows, width + 1, batch_size, pad_token_id)
    # A step is valid where it has a label; [EOS] is a label, and never an input.
    labels, mask = ids[:, 1:], valid[:, 1:]
    inputs = {
        "encoder_token_ids": encoder_ids,
        "encoder_padding_mask": encoder_mask,
        "decoder_token_ids": np.where(mask, ids[:, :-1], np.int32(pad_token_id)),
        "decoder_padding_mask": mask,
    }
    return inputs, labels, mask.astype(np.float32)


def _bucket_indices(pairs, boundaries):
    """The index of the first boundary that a pair fits, or their number if it fits none."""
    return np.searchsorted(boundaries, np.maximum(pairs.source.lengths, pairs.target.lengths - 1))


def _buckets(pairs, boundaries):
    """The indices of each boundary's pairs, in the order of the data."""
    bucket = _bucket_indices(pairs, boundaries)
    too_long = int(np.count_nonzero(bucket == len(boundaries)))
    if too_long == len(bucket):
        raise ValueError(
            f"pairs must hold one of at most {boundaries[-1]} ids a side (the last of boundaries), "
            f"got {len(bucket)} pairs, {too_long} of them longer"
        )
    if too_long:
        warnings.warn(
            f"{too_long} of {len(bucket)} pairs are left out: longer than {boundaries[-1]} ids, "
            "the last of boundaries",
            stacklevel=3,
        )
    return [np.flatnonzero(bucket == index) for index in range(len(boundaries))]


def _seed_words(seed, iteration):
    words = list(np.atleast_1d(seed))
    return [*words, iteration] if iteration else words


def _check_options(batch_size, boundaries, seed):
    check_batch_size(batch_size)
    check_boundaries(boundaries)
    words = np.atleast_1d(seed)
    if words.dtype.kind not in "iu" or words.ndim != 1 or np.any(words < 0):
        raise ValueError(f"seed must be non-negative integers, got {seed!r}")


def translation_batches(source, target, encode_source, encode_target, **options):
    """Makes of parallel texts a `tf.data` pipeline of padded batches, bucketed by length.

    All texts are tokenised here, and stay in memory as ids (see `tokenize_pairs`). For a
    `RecurrentSeq2SeqLM` give its preprocessor's `encode_source` and `encode_target`, so that it is
    trained on what it will read.

    Args:
        source: A list of strings, the sentences.
        target: A list of strings, their translations.
        encode_source: The source tokenizer, or a function from strings to ids: see
            `tokenize_pairs`.
        encode_target: The target tokenizer or function.
        **options: What `bucketed_batches` takes: `batch_size`, `boundaries`, `shuffle`, `seed`,
            `drop_remainder`, `reshuffle_each_epoch` and `pad_token_id`.

    Returns:
        A `tf.data.Dataset` as `bucketed_batches` gives.

    Raises:
        ValueError: When the lists differ in length, or an option is wrong.

    Example:
        >>> def encode(texts):  # bytes as ids, between [BOS] = 2 and [EOS] = 3
        ...     return [[2, *(byte + 5 for byte in text), 3] for text in texts.numpy()]
        >>> texts = ["hello", "you"], ["salut", "toi"]
        >>> batches = translation_batches(*texts, encode, encode, batch_size=2)
        >>> inputs, labels, sample_weight = next(iter(batches))
        >>> inputs["encoder_token_ids"].shape, labels.shape
        (TensorShape([2, 8]), TensorShape([2, 8]))
    """
    return bucketed_batches(tokenize_pairs(source, target, encode_source, encode_target), **options)
