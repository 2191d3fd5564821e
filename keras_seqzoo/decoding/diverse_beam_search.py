"""Diverse beam search."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_integer, check_number
from keras_seqzoo.decoding.beam_history import top_continuations
from keras_seqzoo.decoding.beam_search import BeamSearch
from keras_seqzoo.decoding.rows import repeat_rows
from keras_seqzoo.decoding.strategy import Hypotheses
from keras_seqzoo.tensors import dimension


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class DiverseBeamSearch(BeamSearch):
    """Beam search in groups, each of which avoids the tokens of the groups before it.

    At each step the groups are extended one after the other, by

        log P(y_1 … y_t | x) - diversity · (count of y_t in the earlier groups at this step)

    (Vijayakumar et al. 2018, Diverse beam search for improved description of complex scenes, with
    Hamming diversity). The penalty affects only the choice of tokens. Otherwise each group is a
    `BeamSearch`, with the same log probabilities and scores. Groups may find equal hypotheses.

    Args:
        width: Int, the live hypotheses per row, a multiple of `groups`.
        groups: Int, at least 1.
        diversity: Float, at least 0, in nats.
        length_penalty, coverage_penalty, **kwargs: See `BeamSearch`.
        n_best: Int, the number of hypotheses to return per row, equally many from each group: a
            multiple of `groups`, at most `width`; by default `groups`.

    Call arguments: See `DecodingStrategy`.

    Returns:
        `Hypotheses` with N = `n_best`, the best of all groups first.

    Raises:
        ValueError: If an argument is out of its range.

    Example:
    >>> table = tf.math.log([[0.1, 0.6, 0.3], [0.1, 0.2, 0.7], [0.0, 0.0, 1.0]])
    >>> def step(tokens, state):
    ...     return tf.gather(table, tokens), state
    >>> search = DiverseBeamSearch(width=2, groups=2, diversity=2.0, length_penalty=0.0)
    >>> search(step, (), start_tokens=[0], end_token=2, max_length=3).tokens.numpy().tolist()
    [[[1, 2, 0], [2, 0, 0]]]
    """

    def __init__(self, width=6, groups=3, diversity=0.5, length_penalty=1.0, n_best=None, **kwargs):  # noqa: D107
        self.groups = check_integer("groups", groups, minimum=1)
        n_best = self.groups if n_best is None else n_best
        super().__init__(width, length_penalty, n_best, **kwargs)
        for name in ("width", "n_best"):
            if getattr(self, name) % self.groups:
                raise ValueError(
                    f"`{name}` must be a multiple of the {groups} `groups`, "
                    f"got {getattr(self, name)}."
                )
        self.diversity = check_number("diversity", diversity, minimum=0.0)

    def get_config(self):
        """Return the constructor arguments."""
        return {**super().get_config(), "groups": self.groups, "diversity": self.diversity}

    def with_n_best(self, n_best):
        """Return the same search with `n_best` rounded up to a multiple of `groups`."""
        return super().with_n_best(-(-n_best // self.groups) * self.groups)

    def search(self, step, task):
        """Run the search; see the base class."""
        # The groups of a row are consecutive rows.
        each = {
            name: None if tensor is None else repeat_rows(tensor, self.groups)
            for name, tensor in (
                ("start_tokens", task.start_tokens),
                ("limits", task.limits),
                ("source_lengths", task.source_lengths),
            )
        }
        found = self._search(
            step,
            task._replace(**each),
            self.width // self.groups,
            self.n_best // self.groups,
            self.groups,
        )
        batch = dimension(task.start_tokens, 0)
        joined = (None if tensor is None else self._join_groups(tensor, batch) for tensor in found)
        return Hypotheses(*joined).best_first()

    def _join_groups(self, tensor, batch):
        """Join the hypotheses of the groups of a row: `(B * G, N / G, ...)` to `(B, N, ...)`."""
        shape = tf.concat([[batch, self.n_best], tf.shape(tensor)[2:]], axis=0)
        static = [batch if isinstance(batch, int) else None, self.n_best]
        return tf.ensure_shape(tf.reshape(tensor, shape), static + tensor.shape[2:].as_list())

    def _continuations(self, every, notes, last, task):
        """Return the best continuations of each group in turn; see the base class."""
        rows, each, vocabulary = (dimension(every, axis) for axis in range(3))
        batch = rows // self.groups
        every = tf.reshape(every, [batch, self.groups, each, vocabulary])
        chosen = tf.zeros([batch, 1, vocabulary])
        found = []
        for group in range(self.groups):
            ranks = every[:, group] - self.diversity * chosen
            best, parents, tokens = top_continuations(every[:, group], ranks, len(task.end_tokens))
            place = tf.stack([parents, tokens], axis=-1)
            found.append((best, tf.gather_nd(ranks, place, batch_dims=1), parents, tokens))
            chosen += tf.reduce_sum(tf.one_hot(tokens[:, :each], vocabulary), 1, keepdims=True)
        return [
            tf.reshape(tf.stack(parts, axis=1), [rows, dimension(parts[0], 1)])
            for parts in zip(*found, strict=True)
        ]
