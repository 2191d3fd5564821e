"""Windows of neighbouring words, in TensorFlow ops."""

import numpy as np
import tensorflow as tf

from keras_seqzoo.data.length_buckets import without_autotuning


def keep_probabilities(counts, threshold):
    """Compute the probability to keep each word when frequent words are subsampled.

    With the relative frequency f of a word and the threshold t, it is
    `min(1, sqrt(t / f) + t / f)`, as in the program of Mikolov et al. (2013); their paper has
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
    `window`, again in each pass (word2vec's dynamic window). Windows do not cross the borders
    between batches.

    Args:
        ids: int32 `(N,)`, the words of the text.
        sentences: int32 `(N,)`, the sentence number of each word; windows stay within a sentence.
        keep: float32 `(V,)`, the probability to keep each word, see `keep_probabilities`.
        window: int, the maximum number of words to one side.
        row_length: int.
        words: int, words of the text in a batch, before subsampling.
        seed: int. The same seed gives the same passes.

    Returns:
        A `tf.data.Dataset` of dicts of `words` int32 `(rows, row_length + 2 window)`; `sentences`
        of the same shape, -1 at padding; `reach` int32 `(rows, row_length)`.
    """
    ids, sentences, keep = (tf.constant(array) for array in (ids, sentences, keep))
    batches = -(-ids.shape[0] // words)

    def make_batch(number, seed):
        here = slice(number * words, (number + 1) * words)
        seed = tf.stack([seed, number])
        kept = tf.random.stateless_uniform(tf.shape(ids[here]), seed) < tf.gather(keep, ids[here])
        rows = [tf.boolean_mask(ids[here], kept), tf.boolean_mask(sentences[here], kept)]
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
    order = tf.data.Dataset.range(batches).shuffle(batches, seed, reshuffle_each_iteration=True)
    dataset = tf.data.Dataset.zip(order, seeds)
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
