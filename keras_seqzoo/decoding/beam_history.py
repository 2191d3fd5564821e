"""The best continuations of a beam, and back pointers to recover its hypotheses."""

from typing import NamedTuple

import tensorflow as tf

from keras_seqzoo.decoding.rows import write_at
from keras_seqzoo.tensors import dimension


def top_continuations(log_probabilities, ranks, ends=1):
    """Return log probability, parent and token of the (1 + `ends`) W best continuations.

    Each hypothesis can end in `ends` ways, so at least W of them do not end.

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
    """Return the indices of the `count` largest values of each row `(B, N)`, largest first.

    They are in the `count` chunks with the largest maxima, so `top_k` runs only on those.
    """
    size = values.shape[1]
    known = isinstance(size, int) and isinstance(count, int)
    chunk = max((d for d in range(1, 129) if size % d == 0), default=1) if known else 1
    chunks = size // chunk if known else 0
    if chunk == 1 or chunks <= 4 * count:
        return tf.math.top_k(values, count)[1]
    values = tf.reshape(values, [dimension(values, 0), chunks, chunk])
    _, chosen = tf.math.top_k(tf.reduce_max(values, axis=-1), count)
    chosen = tf.sort(chosen, axis=-1)  # so that the first of equal values are taken
    near = tf.gather(values, chosen, batch_dims=1)  # (B, count, chunk)
    near = tf.reshape(near, [dimension(values, 0), count * chunk])
    _, places = tf.math.top_k(near, count)
    return tf.gather(chosen, places // chunk, batch_dims=1) * chunk + places % chunk


class BackPointers(NamedTuple):
    """Tokens and parents of live hypotheses, written at every step instead of copying hypotheses.

    Attributes:
        tokens: `(L, B, W)` int32, the last token of live hypothesis w of step t.
        parents: `(L, B, W)` int32, the live hypothesis of step t - 1 that it extends.
        alignments: `(L, B, W, S)` float32, the alignments of step t of the hypothesis that is
            extended; `()` without alignments.
    """

    tokens: tf.Tensor
    parents: tf.Tensor
    alignments: tf.Tensor | tuple

    def trace(self, steps, beams, lengths, finished, ends, pad_token):
        """Follow the back pointers from the last tokens of hypotheses to the first.

        Args:
            steps: Scalar int32, the number of steps.
            beams: `(B, N)` int32. For finished hypotheses the live one that the end token extends;
                for truncated ones their index among the live ones of the last step.
            lengths: `(B, N)` int32, including the end token.
            finished: `(B, N)` bool.
            ends: `(B, N)` int32, the end token of each finished hypothesis.
            pad_token: Int.

        Returns:
            Tokens `(B, N, L)` int32, and alignments `(B, N, L, S)` or `None`.
        """
        shape = tf.concat([tf.shape(self.tokens)[:1], tf.shape(beams)], axis=0)  # (L, B, N)
        static = self.tokens.shape[:1].concatenate(beams.shape)
        tokens = tf.ensure_shape(tf.fill(shape, pad_token), static)
        extended = tf.ensure_shape(tf.zeros(shape, tf.int32), static)

        def back(time, beams, tokens, extended):
            valid = time < lengths
            ended = finished & (time == lengths - 1)
            parents = tf.gather(tf.gather(self.parents, time), beams, batch_dims=1)
            symbols = tf.gather(tf.gather(self.tokens, time), beams, batch_dims=1)
            symbols = tf.where(ended, ends, symbols)
            beams = tf.where(valid & ~ended, parents, beams)
            tokens = write_at(tokens, time, tf.where(valid, symbols, pad_token))
            return time - 1, beams, tokens, write_at(extended, time, beams)

        _, _, tokens, extended = tf.while_loop(
            lambda time, *_: time >= 0, back, (steps - 1, beams, tokens, extended)
        )
        tokens = tf.transpose(tokens, [1, 2, 0])
        if isinstance(self.alignments, tuple):
            return tokens, None
        alignments = tf.gather(self.alignments, extended, batch_dims=2)  # (L, B, N, S)
        valid = tf.range(shape[0])[:, tf.newaxis, tf.newaxis] < lengths  # (L, B, N)
        alignments = tf.where(valid[..., tf.newaxis], alignments, 0.0)
        return tokens, tf.transpose(alignments, [1, 2, 0, 3])
