"""Beam search in groups that differ."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_integer, check_number
from keras_seqzoo.decoding.beam_history import best_continuations
from keras_seqzoo.decoding.beam_search import BeamSearch
from keras_seqzoo.decoding.hypotheses import Hypotheses
from keras_seqzoo.decoding.step_function import repeat_rows
from keras_seqzoo.tensors import dimension


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class DiverseBeamSearch(BeamSearch):
    """Splits the beam into groups, each of which avoids the tokens of those before it.

    At each step the groups are extended one after the other, by

        log P(y_1 … y_t | x) - diversity · (how often the groups before chose y_t at this step)

    (Vijayakumar et al. 2018, Diverse beam search for improved description of complex scenes, with
    Hamming diversity). Only the choice is so guided: log probabilities and scores of hypotheses are
    those of `BeamSearch`, and within a group all is as there. Different groups may still find the
    same hypothesis.

    Args:
        width: Int, the live hypotheses per row, a multiple of `groups`.
        groups: Int, at least 1.
        diversity: Float, at least 0, in nats for each choice.
        length_penalty, coverage_penalty, **kwargs: See `BeamSearch`.
        n_best: Int, the number of hypotheses to return per row, as many of each group: a multiple
            of `groups` of at most `width`; by default `groups`.

    Call arguments: those of `DecodingStrategy`.

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
        """Returns the constructor arguments."""
        return {**super().get_config(), "groups": self.groups, "diversity": self.diversity}

    def giving(self, n_best):
        """Makes the same search with as many of each group as it takes."""
        return super().giving(-(-n_best // self.groups) * self.groups)

    def search(self, step, task):
        """Searches with checked arguments; see the base class."""
        # Groups of a row stand one after the other, like rows of a batch.
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
        joined = (None if tensor is None else self._by_row(tensor, batch) for tensor in found)
        return Hypotheses(*joined).best_first()

    def _by_row(self, tensor, batch):
        """Joins the hypotheses of a row's groups: `(B * G, N / G, ...)` to `(B, N, ...)`."""
        shape = tf.concat([[batch, self.n_best], tf.shape(tensor)[2:]], axis=0)
        static = [batch if isinstance(batch, int) else None, self.n_best]
        return tf.ensure_shape(tf.reshape(tensor, shape), static + tensor.shape[2:].as_list())

    def _continuations(self, every, notes, last, task):
        """Returns the best continuations of each group in turn; see the base class."""
        rows, each, vocabulary = (dimension(every, axis) for axis in range(3))
        batch = rows // self.groups
        every = tf.reshape(every, [batch, self.groups, each, vocabulary])
        chosen = tf.zeros([batch, 1, vocabulary])
        found = []
        for group in range(self.groups):
            ranks = every[:, group] - self.diversity * chosen
            best, parents, tokens = best_continuations(every[:, group], ranks, len(task.end_tokens))
            place = tf.stack([parents, tokens], axis=-1)
            found.append((best, tf.gather_nd(ranks, place, batch_dims=1), parents, tokens))
            chosen += tf.reduce_sum(tf.one_hot(tokens[:, :each], vocabulary), 1, keepdims=True)
        return [
            tf.reshape(tf.stack(parts, axis=1), [rows, dimension(parts[0], 1)])
            for parts in zip(*found, strict=True)
        ]
