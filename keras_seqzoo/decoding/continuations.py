"""The likeliest continuations of a beam."""

import tensorflow as tf

from keras_seqzoo.shapes import dimension


def best_continuations(log_probabilities, ranks, ends=1):
    """Return log probability, parent and token of the likeliest continuations by rank.

    They are (1 + `ends`) W, so that with as many end tokens W remain that go on.

    Args:
        log_probabilities: float32 tensor `(B, W, V)`.
        ranks: float32 tensor `(B, W, V)`.
        ends: int, the number of end tokens.
    """
    width, vocabulary = dimension(ranks, 1), dimension(ranks, 2)
    flat = [dimension(ranks, 0), width * vocabulary]
    # A small vocabulary has fewer continuations.
    most = 1 + ends
    each = min(most, vocabulary) if isinstance(vocabulary, int) else tf.minimum(most, vocabulary)
    index = largest(tf.reshape(ranks, flat), each * width)
    best = tf.gather(tf.reshape(log_probabilities, flat), index, batch_dims=1)
    return best, index // vocabulary, index % vocabulary


def largest(values, count):
    """Returns the places of the `count` largest of each row `(B, N)`, largest first.

    They lie in the `count` chunks with the largest maxima: a look at the maxima, which are quickly
    found, spares the selection most of a row.
    """
    size = values.shape[1]
    known = isinstance(size, int) and isinstance(count, int)
    chunk = max((d for d in range(1, 129) if size % d == 0), default=1) if known else 1
    chunks = size // chunk if known else 0
    if chunk == 1 or chunks <= 4 * count:
        return tf.math.top_k(values, count)[1]
    values = tf.reshape(values, [dimension(values, 0), chunks, chunk])
    _, chosen = tf.math.top_k(tf.reduce_max(values, axis=-1), count)
    chosen = tf.sort(chosen, axis=-1)  # so that of equal values the first are taken
    near = tf.gather(values, chosen, batch_dims=1)  # (B, count, chunk)
    near = tf.reshape(near, [dimension(values, 0), count * chunk])
    _, places = tf.math.top_k(near, count)
    return tf.gather(chosen, places // chunk, batch_dims=1) * chunk + places % chunk
