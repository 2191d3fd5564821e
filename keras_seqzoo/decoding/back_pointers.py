"""The history of a beam: who was extended by which token, and the way back through it."""

from typing import NamedTuple

import tensorflow as tf

from keras_seqzoo.decoding.step_function import write


class BackPointers(NamedTuple):
    """What a beam search writes at every step, instead of copying its hypotheses.

    Attributes:
        tokens: `(L, B, W)` int32, the token that made live hypothesis w of step t.
        parents: `(L, B, W)` int32, the live hypothesis of step t - 1 that it extends.
        alignments: `(L, B, W, S)` float32, the alignments of step t, of the hypothesis being
            extended; `()` if none are kept.
    """

    tokens: tf.Tensor
    parents: tf.Tensor
    alignments: tf.Tensor | tuple

    def trace(self, steps, beams, lengths, finished, ends, pad_token):
        """Walks back from the last tokens of hypotheses to their first.

        Args:
            steps: Scalar int32, the steps that were taken.
            beams: `(B, N)` int32. For a finished hypothesis the live one that its end token
                extends; for a truncated one, itself among the live ones of the last step.
            lengths: `(B, N)` int32, the end token counted.
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
            tokens = write(tokens, time, tf.where(valid, symbols, pad_token))
            return time - 1, beams, tokens, write(extended, time, beams)

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
