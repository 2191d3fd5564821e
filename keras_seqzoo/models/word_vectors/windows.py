"""Running text as windows of words, made in TensorFlow ops."""

import numpy as np
import tensorflow as tf

from keras_seqzoo.data.length_buckets import without_autotuning


def keep_probabilities(counts, threshold):
    """Gives how often each word is kept when frequent ones are thinned out.

    With the frequency f of a word and the threshold t, `min(1, sqrt(t / f) + t / f)`, as in the
    program of Mikolov et al. (2013), whose paper has `sqrt(t / f)`.

    Args:
        counts: integers `(V,)`.
        threshold: float, t, or 0 to keep all.

    Returns:
        float32 `(V,)`.
    """
    if not threshold:
        return np.ones(len(counts), np.float32)
    share = threshold * np.sum(counts) / np.maximum(counts, 1)
    return np.minimum(1.0, np.sqrt(share) + share).astype(np.float32)


def windows(ids, sentences, keep, window, row_length=64, words=16_384, seed=0):
    """Makes a dataset that reads a text once, in rows of words with their neighbours.

    Words are first thinned out, then those that stay are cut into rows of `row_length`, each with
    `window` words more at both ends. How far a word looks is drawn anew in each pass, from 1 to
    `window`, alike often (word2vec's dynamic window). At the ends of the parts in which text is
    read windows are cut: a few in each part.

    Args:
        ids: int32 `(N,)`, the words of the text.
        sentences: int32 `(N,)`, the number of each word's sentence; windows do not leave it.
        keep: float32 `(V,)`, how often each word is kept, see `keep_probabilities`.
        window: int, the most words to one side.
        row_length: int.
        words: int, words of the text that a batch is made of.
        seed: int. The same seed gives the same passes.

    Returns:
        A `tf.data.Dataset` of dicts of `words` int32 `(rows, row_length + 2 window)`; `sentences`
        of that shape, -1 where there is no word; `reach` int32 `(rows, row_length)`, how far each
        word looks. The last row may hold fewer words.
    """
    ids, sentences, keep = (tf.constant(array) for array in (ids, sentences, keep))
    parts = -(-ids.shape[0] // words)

    def part(number, seed):
        here = slice(number * words, (number + 1) * words)
        seed = tf.stack([seed, number])
        kept = tf.random.stateless_uniform(tf.shape(ids[here]), seed) < tf.gather(keep, ids[here])
        rows = [tf.boolean_mask(ids[here], kept), tf.boolean_mask(sentences[here], kept)]
        number_of_rows = -(-tf.size(rows[0]) // row_length)
        missing = number_of_rows * row_length - tf.size(rows[0])
        room = [[window, missing + window]]
        rows = [
            tf.signal.frame(
                tf.pad(row, room, constant_values=value), row_length + 2 * window, row_length
            )
            for row, value in zip(rows, (0, -1), strict=True)
        ]
        shape = [number_of_rows, row_length]
        reach = tf.random.stateless_uniform(shape, seed + 1, 1, window + 1, tf.int32)
        return {"words": rows[0], "sentences": rows[1], "reach": reach}

    seeds = tf.data.Dataset.random(seed, rerandomize_each_iteration=True)
    order = tf.data.Dataset.range(parts).shuffle(parts, seed, reshuffle_each_iteration=True)
    dataset = tf.data.Dataset.zip(order, seeds)
    return without_autotuning(dataset.map(part, num_parallel_calls=2).prefetch(4))


def neighbours(sentences, reach, window):
    """Tells which words of a row are neighbours of which.

    Args:
        sentences: int32 `(rows, row_length + 2 window)`.
        reach: int32 `(rows, row_length)`.
        window: int.

    Returns:
        float32 `(rows, row_length, row_length + 2 window)`: 1 where a word is within the reach of
        another, but not the same place, and of its sentence.
    """
    length = reach.shape[1] or tf.shape(reach)[1]
    places = tf.range(length)[:, tf.newaxis] + window - tf.range(length + 2 * window)
    distance = tf.abs(places)[tf.newaxis]
    centres = sentences[:, window:-window, tf.newaxis]
    near = (distance <= reach[:, :, tf.newaxis]) & (distance > 0)
    same = (centres == sentences[:, tf.newaxis]) & (centres >= 0)
    return tf.cast(near & same, tf.float32)
