"""Batches of sentences of similar length."""

import warnings

import numpy as np
import tensorflow as tf

from keras_seqzoo.data.pipelines import without_autotuning

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


def bucket_order(buckets, batch_size, shuffle, seed, drop_remainder=False):
    """Orders the batches of an epoch over buckets.

    Args:
        buckets: list of integer arrays, the rows of each bucket.
        batch_size: int.
        shuffle: bool, whether rows within buckets, and then batches, come in random order.
        seed: integer or sequence of them.
        drop_remainder: bool, whether to leave out what is no full batch.

    Returns:
        A list of pairs of the rows of a batch and the number of its bucket.
    """
    generator = np.random.default_rng(seed)
    buckets = [generator.permutation(rows) for rows in buckets] if shuffle else buckets
    batches = [
        (rows[begin : begin + batch_size], bucket)
        for bucket, rows in enumerate(buckets)
        for begin in range(0, len(rows), batch_size)
        if not drop_remainder or begin + batch_size <= len(rows)
    ]
    order = generator.permutation(len(batches)) if shuffle else range(len(batches))
    return [batches[index] for index in order]


def count_batches(buckets, batch_size, drop_remainder=False):
    """Counts the batches that `bucket_order` gives."""
    more = 0 if drop_remainder else batch_size - 1
    return sum((len(rows) + more) // batch_size for rows in buckets)


def bucket_rows(lengths, boundaries):
    """Gives the rows of each boundary: those that it is the first not to be exceeded by.

    Args:
        lengths: integers `(rows,)`. What is longer than the last boundary counts as that long.
        boundaries: list of increasing ints.

    Returns:
        A list of integer arrays.
    """
    bucket = np.searchsorted(boundaries, np.minimum(lengths, boundaries[-1]))
    return [np.flatnonzero(bucket == number) for number in range(len(boundaries))]


def full_batch(ids, rows, width, batch_size, value):
    """Pads rows of ids, and fills the batch up with rows of padding.

    Args:
        ids: `RaggedIds`.
        rows: integers, the rows to take, at most `batch_size`.
        width: int, what rows are padded or cut to.
        batch_size: int.
        value: int, the id at padding.

    Returns:
        A tuple of int32 ids `(batch_size, width)` and a bool mask of that shape.
    """
    found, valid = ids.padded(rows, width, value)
    more = ((0, batch_size - len(rows)), (0, 0))
    return np.pad(found, more, constant_values=value), np.pad(valid, more)


def generated(generate, signature, steps):
    """Makes a dataset of what a generator function gives in so many steps."""
    dataset = tf.data.Dataset.from_generator(generate, output_signature=signature)
    dataset = dataset.apply(tf.data.experimental.assert_cardinality(steps)).prefetch(4)
    return without_autotuning(dataset)


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


def length_sorted_batches(texts, batch_size):
    """Groups texts of similar length for inference, so that little padding is computed with.

    Args:
        texts: A list of anything with a length: strings or sequences of ids.
        batch_size: The number of texts in a batch, at most.

    Yields:
        Integer arrays `(batch,)` of indices into `texts`, the longest texts first, so that what
        does not fit in memory fails at once. Each index comes once: `results[index] = ...` puts
        the outputs back in the order of the inputs.

    Raises:
        ValueError: When `batch_size` is not positive.

    Example:
        >>> [batch.tolist() for batch in length_sorted_batches(["a", "ccc", "bb"], 2)]
        [[1, 2], [0]]
    """
    return sort_by_length([len(text) for text in texts], batch_size)


def sort_by_length(lengths, batch_size):
    """Groups texts of so many tokens, integers `(texts,)`; see `length_sorted_batches`."""
    _check_batch_size(batch_size)
    order = np.argsort(-np.asarray(lengths, np.int64), kind="stable")
    return (order[begin : begin + batch_size] for begin in range(0, len(order), batch_size))


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


def _check_batch_size(batch_size):
    if not isinstance(batch_size, (int, np.integer)) or batch_size < 1:
        raise ValueError(f"batch_size must be a positive integer, got {batch_size!r}")


def _check_options(batch_size, boundaries, seed):
    _check_batch_size(batch_size)
    steps = np.asarray(boundaries)
    if steps.ndim != 1 or steps.size == 0 or steps[0] < 1 or np.any(np.diff(steps) <= 0):
        raise ValueError(f"boundaries must be increasing positive lengths, got {boundaries!r}")
    words = np.atleast_1d(seed)
    if words.dtype.kind not in "iu" or words.ndim != 1 or np.any(words < 0):
        raise ValueError(f"seed must be non-negative integers, got {seed!r}")
