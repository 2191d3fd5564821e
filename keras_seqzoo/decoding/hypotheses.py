"""What every search returns."""

from typing import NamedTuple

import tensorflow as tf


class Hypotheses(NamedTuple):
    """The hypotheses a search found for each row of a batch, best first.

    Shapes use B for the batch, N for the hypotheses per row, L for the longest length allowed
    and S for the positions of the source.

    A row that has fewer than N hypotheses (a tiny vocabulary, or one where most tokens are
    forbidden) is filled up with empty ones: length 0, log probability and score `-inf`.

    Attributes:
        tokens: `(B, N, L)` int32. The start token is not in it; the end token is, where the
            hypothesis is finished; the padding token follows.
        lengths: `(B, N)` int32, counting the end token.
        log_probabilities: `(B, N)` float32, the sum over the tokens.
        scores: `(B, N)` float32, what the search ranked by.
        alignments: `(B, N, L, S)` float32, zero at padding; `None` if none were asked for.
    """

    tokens: tf.Tensor
    lengths: tf.Tensor
    log_probabilities: tf.Tensor
    scores: tf.Tensor
    alignments: tf.Tensor | None

    def best_first(self):
        """Returns the same hypotheses, those of each row sorted by their scores."""
        scores, order = tf.math.top_k(self.scores, self.scores.shape[1])
        rest = {
            name: None if tensor is None else tf.gather(tensor, order, batch_dims=1)
            for name, tensor in self._asdict().items()
        }
        return Hypotheses(**{**rest, "scores": scores})
