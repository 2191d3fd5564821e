"""Windows of neighbouring words, in TensorFlow ops."""

import numpy as np
import tensorflow as tf

from keras_seqzoo.data.batching.length_buckets import without_autotuning


def keep_probabilities(counts, threshold):
    """Compute the probability of keeping each word when frequent words are subsampled.

    For the relative frequency f of a word and the threshold t, it is
    `min(1, sqrt(t / f) + t / f)`, as in the program of Mikolov et al. (2013). Their paper has
    `sqrt(t / f)`.

    Args:
        counts: integers `(V,)`.
        threshold: float, t, or 0 to keep all.

    Returns:
        float32 `(V,)`.
    """
    if not threshold:
        return np.ones(len(counts), np.float32)
    ratio = threshold * np.sum(counts) / np.maximum(counts, 1)
    return np.minimum(1.0, np.sqrt(ratio) + ratio).astype(np.float32)


def windows(ids, sentences, keep, window, row_length=64, words=16_384, seed=0):
    """Create a dataset of rows of words with their neighbours; one pass reads the text once.

    Frequent words are first subsampled. The remaining words are cut into rows of `row_length`, each
    with `window` more words at both ends. The reach of each word is drawn uniformly from 1 to
    `window`, and drawn again in each pass (word2vec's dynamic window). Windows do not cross batch
    borders.

    Args:
        ids: int32 `(N,)`, the words of the text.
        sentences: int32 `(N,)`, the sentence number of each word; windows stay within a sentence.
        keep: float32 `(V,)`, the probability of keeping each word, see `keep_probabilities`.
        window: int, the maximum number of words on each side.
        row_length: int.
        words: int, the number of words of the text in a batch, before subsampling.
        seed: int. The same seed gives the same passes.

    Returns:
        A `tf.data.Dataset` of dicts of `words` int32 `(rows, row_length + 2 window)`; `sentences`
        of the same shape, -1 at padding; `reach` int32 `(rows, row_length)`.
    """
    ids, sentences = tf.constant(ids), tf.constant(sentences)
    batches = -(-ids.shape[0] // words)
    order = tf.data.Dataset.range(batches).shuffle(batches, seed, reshuffle_each_iteration=True)
    parts = order.map(_make_cut(ids, sentences, words))
    return _framed_batches(parts, keep, window, row_length, seed)


def block_windows(blocks, batches, keep, window, row_length=64, words=16_384, seed=0):
    """Create the dataset of `windows` for a text that is in memory one block at a time.

    Batches are shuffled within their block.

    Args:
        blocks: function without arguments that yields pairs of int32 arrays: words of the text, and
            the sentence number of each word. All blocks except the last have the same multiple of
            `words`.
        batches: int, the number of batches in a pass.
        keep: see `windows`.
        window: see `windows`.
        row_length: see `windows`.
        words: see `windows`.
        seed: see `windows`.

    Returns:
        A `tf.data.Dataset`; see `windows`.
    """
    row = tf.TensorSpec([None], tf.int32)
    orders = tf.data.Dataset.random(seed + 1, rerandomize_each_iteration=True)

    def shuffle(block, order_seed):
        ids, sentences = block
        size = -(-tf.size(ids, tf.int64) // words)
        order = tf.range(size)
        order = tf.random.experimental.stateless_shuffle(order, tf.stack([order_seed, 0]))
        return tf.data.Dataset.from_tensor_slices(order).map(_make_cut(ids, sentences, words))

    parts = tf.data.Dataset.from_generator(blocks, output_signature=(row, row))
    parts = tf.data.Dataset.zip(parts, orders).flat_map(shuffle)
    dataset = _framed_batches(parts, keep, window, row_length, seed)
    return dataset.apply(tf.data.experimental.assert_cardinality(batches))


def _make_cut(ids, sentences, words):
    """Return a function that maps the number of a part of the text to the number and the part."""

    def cut(number):
        here = slice(number * words, (number + 1) * words)
        return number, ids[here], sentences[here]

    return cut


def _framed_batches(parts, keep, window, row_length, seed):
    """Subsample parts of the text; cut each part into a batch of rows with their neighbours."""
    keep = tf.constant(keep)

    def make_batch(part, seed):
        number, ids, sentences = part
        seed = tf.stack([seed, number])
        kept = tf.random.stateless_uniform(tf.shape(ids), seed) < tf.gather(keep, ids)
        rows = [tf.boolean_mask(ids, kept), tf.boolean_mask(sentences, kept)]
        number_of_rows = -(-tf.size(rows[0]) // row_length)
        missing = number_of_rows * row_length - tf.size(rows[0])
        padding = [[window, missing + window]]
        rows = [
            tf.signal.frame(
                tf.pad(row, padding, constant_values=value), row_length + 2 * window, row_length
            )
            for row, value in zip(rows, (0, -1), strict=True)
        ]
        shape = [number_of_rows, row_length]
        reach = tf.random.stateless_uniform(shape, seed + 1, 1, window + 1, tf.int32)
        return {"words": rows[0], "sentences": rows[1], "reach": reach}

    seeds = tf.data.Dataset.random(seed, rerandomize_each_iteration=True)
    dataset = tf.data.Dataset.zip(parts, seeds)
    return without_autotuning(dataset.map(make_batch, num_parallel_calls=2).prefetch(4))


def neighbours(sentences, reach, window):
    """Compute which words of a row are neighbours.

    Args:
        sentences: int32 `(rows, row_length + 2 window)`.
        reach: int32 `(rows, row_length)`.
        window: int.

    Returns:
        float32 `(rows, row_length, row_length + 2 window)`: 1 for another word within the reach and
        in the same sentence, else 0.
    """
    length = reach.shape[1] or tf.shape(reach)[1]
    offsets = tf.range(length)[:, tf.newaxis] + window - tf.range(length + 2 * window)
    distance = tf.abs(offsets)[tf.newaxis]
    centres = sentences[:, window:-window, tf.newaxis]
    near = (distance <= reach[:, :, tf.newaxis]) & (distance > 0)
    same = (centres == sentences[:, tf.newaxis]) & (centres >= 0)
    return tf.cast(near & same, tf.float32)
