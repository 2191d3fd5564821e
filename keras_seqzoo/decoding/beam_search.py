"""Beam search."""

import math
from typing import NamedTuple

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_integer, check_number
from keras_seqzoo.decoding.beam_history import BackPointers, best_continuations
from keras_seqzoo.decoding.end_tokens import is_any_of
from keras_seqzoo.decoding.hypotheses import Hypotheses
from keras_seqzoo.decoding.live_rows import LiveRows
from keras_seqzoo.decoding.scores import as_score
from keras_seqzoo.decoding.step_function import each_copy, write
from keras_seqzoo.decoding.strategy import DecodingStrategy
from keras_seqzoo.tensors import dimension

STOPS = ("exact", "top")


class _Pool(NamedTuple):
    """Finished hypotheses, `(B, N)` each, best first; a score of -inf is an empty place."""

    scores: tf.Tensor
    log_probabilities: tf.Tensor
    lengths: tf.Tensor
    beams: tf.Tensor  # the live hypothesis that the end token extended, or that was truncated
    ends: tf.Tensor  # that end token
    finished: tf.Tensor

    def merge(self, *others):
        """Returns the best N of all (the own ones first where scores tie)."""
        pools = (self, *others)
        scores, chosen = tf.math.top_k(
            tf.concat([pool.scores for pool in pools], axis=1), self.scores.shape[1]
        )
        rest = (
            tf.gather(tf.concat(parts, axis=1), chosen, batch_dims=1)
            for parts in zip(*(pool[1:] for pool in pools), strict=True)
        )
        return _Pool(scores, *rest)


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class BeamSearch(DecodingStrategy):
    """Keeps the `width` likeliest unfinished hypotheses at every step.

    Hypotheses are ranked by their log probability, their length and what they have covered,

        score(y) = log P(y | x) / L^alpha + β · cp(y),    L = |y|, the end token counted,
        cp(y) = Σ_s log(min(Σ_t a_ts, 1)),

    where a_ts is the attention of step t to position s of the source (Wu et al. 2016, Google's
    neural machine translation system, equation 14). A `HypothesisScore` stands for other forms of
    the first term, such as `WuLengthPenalty`, that paper's own.

    Live hypotheses compete among themselves by log probability. At each step the best `2 * width`
    continuations are taken (each live hypothesis has one end, so `width` live ones remain; with E
    end tokens it is the best `(1 + E) * width`); those that end go to a pool of finished
    hypotheses, where they stay as they are, neither extended nor scored again, until `n_best`
    better ones push them out. At the limit of its row what still lives is truncated and competes by
    its score as it is, with no end token.

    A row is done when no live hypothesis can beat its `n_best`-th finished one, by the highest
    score that one of its log probability can still reach (`HypothesisScore.bound`; coverage is
    taken as complete). This stop is exact. With `stop="top"` a row is also done when `n_best` have
    finished and the likeliest of all its continuations is an end, where most toolkits stop: fewer
    steps under length normalisation, which may miss a longer and better one. The loop stops when
    all rows are done, and a row that is done no longer changes, so its result does not depend on
    the other rows of the batch.

    Args:
        width: Int, at least 1, the number of live hypotheses per row.
        length_penalty: Float, at least 0, alpha; or a `HypothesisScore`.
        n_best: Int, from 1 to `width`, the number of hypotheses to return per row.
        coverage_penalty: Float, at least 0, β. Above 0 it needs `alignment`, and `source_lengths`
            where sources are padded. Wu et al. use 0.2.
        stop: `"exact"` or `"top"`, see above.
        **kwargs: `constraints`, `max_source_ratio` and `check_values`, see `DecodingStrategy`.

    Call arguments: those of `DecodingStrategy`. The state has one row per row of the batch; the
        search repeats it.

    Returns:
        `Hypotheses` with N = `n_best`.

    Raises:
        ValueError: If an argument is out of its range, or there is no `alignment` for a coverage
            penalty.

    Example:
    >>> table = tf.math.log([[0.1, 0.6, 0.3], [0.1, 0.2, 0.7], [0.0, 0.0, 1.0]])
    >>> def step(tokens, state):
    ...     return tf.gather(table, tokens), state
    >>> search = BeamSearch(width=2, length_penalty=0.0, n_best=2)
    >>> found = search(step, (), start_tokens=[0], end_token=2, max_length=4)
    >>> found.tokens.numpy().tolist()
    [[[1, 2, 0, 0], [2, 0, 0, 0]]]
    >>> [f"{score:.2f}" for score in tf.exp(found.scores[0]).numpy()]
    ['0.42', '0.30']
    """

    def __init__(  # noqa: D107
        self,
        width=5,
        length_penalty=1.0,
        n_best=1,
        coverage_penalty=0.0,
        stop="exact",
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.width = check_integer("width", width, minimum=1)
        self.n_best = check_integer("n_best", n_best, minimum=1)
        if self.n_best > self.width:
            raise ValueError(f"`n_best` must be at most `width` ({width}), got {n_best}.")
        self.length_penalty = as_score(length_penalty)
        self.coverage_penalty = check_number("coverage_penalty", coverage_penalty, minimum=0.0)
        if stop not in STOPS:
            raise ValueError(f"`stop` must be one of {STOPS}, got {stop!r}.")
        self.stop = stop

    def get_config(self):
        """Returns the constructor arguments."""
        return {
            **super().get_config(),
            "width": self.width,
            "length_penalty": keras.saving.serialize_keras_object(self.length_penalty),
            "n_best": self.n_best,
            "coverage_penalty": self.coverage_penalty,
            "stop": self.stop,
        }

    @property
    def most_hypotheses(self):
        """As many as live."""
        return self.width

    def giving(self, n_best):
        """Makes the same search with another `n_best`."""
        return type(self).from_config({**self.get_config(), "n_best": n_best})

    @property
    def needs_alignment(self):
        """Whether the score takes what the attention has covered."""
        return self.coverage_penalty > 0

    def search(self, step, task):
        """Searches with checked arguments; see the base class."""
        return self._search(step, task, self.width, self.n_best)

    def _search(self, step, task, width, n_best, groups=1):
        """Searches with `groups` beams for each row of the batch, which stand in `task` too."""
        batch = dimension(task.start_tokens, 0)  # rows of the batch times groups
        state = step.start(copies=groups * width)
        alignment = step.alignment(state)
        if self.coverage_penalty and alignment is None:
            raise ValueError("`coverage_penalty` needs `alignment`, got None.")
        history = BackPointers(
            tokens=tf.zeros([task.max_length, batch, width], tf.int32),
            parents=tf.zeros([task.max_length, batch, width], tf.int32),
            alignments=()
            if alignment is None
            else tf.zeros([task.max_length, batch, width, dimension(alignment, 1)]),
        )
        # All rows of the beam start alike, so only the first of them lives.
        live = tf.tile([[0.0] + [-math.inf] * (width - 1)], [batch, 1])
        limits = task.limits[:, tf.newaxis]  # (B, 1)
        empty = tf.where(limits <= 0, live[:, :1], -math.inf)
        empty = tf.pad(empty, [[0, 0], [0, n_best - 1]], constant_values=-math.inf)
        pool = _Pool(
            scores=empty,
            log_probabilities=empty,
            lengths=tf.zeros([batch, n_best], tf.int32),
            beams=tf.zeros([batch, n_best], tf.int32),
            ends=tf.zeros([batch, n_best], tf.int32),
            finished=tf.zeros([batch, n_best], tf.bool),
        )
        done = task.limits <= 0
        tokens = tf.tile(task.start_tokens[:, tf.newaxis], [1, width])
        notes = self._first_notes(task, batch * width, alignment)
        rows = LiveRows.all(batch, task.shrink)

        def goes_on(time, tokens, live, pool, done, history, rows, notes, state):
            return (time < task.max_length) & ~tf.reduce_all(done)

        def advance(time, tokens, live, pool, done, history, rows, notes, state):
            # The model and the choice see the R rows that go on, all else has B.
            here = task.of(rows)
            before, tokens = state, tf.reshape(rows.take(tokens), [-1])  # (R * W,)
            log_probabilities, state = step(tokens, state)
            weights = step.alignment(state)
            notes = self._note(notes, time, tokens, weights, here)
            if self.coverage_penalty:
                penalty = self._coverage(_by_beam(notes["coverage"], width), here.source_lengths)
                penalty = rows.put(penalty, batch, 0.0)
            every = _by_beam(log_probabilities, width) + rows.take(live)[:, :, tf.newaxis]
            at_limit = limits == time + 1
            best, ranks, parents, tokens = (
                rows.put(found, batch, blank)
                for found, blank in zip(
                    self._continuations(every, notes, rows.take(at_limit), here),
                    (-math.inf, -math.inf, 0, 0),
                    strict=True,
                )
            )
            ended = is_any_of(tokens, task.end_tokens)

            def candidates(wanted, log_probabilities, parents, beams, tokens, finished):
                scores = self.length_penalty.score(log_probabilities, time + 1, task.source_lengths)
                if self.coverage_penalty:
                    scores += tf.gather(penalty, parents, batch_dims=1)
                wanted &= ~done[:, tf.newaxis] & ~tf.math.is_inf(log_probabilities)
                return _Pool(
                    tf.where(wanted, scores, -math.inf),
                    log_probabilities,
                    tf.fill(tf.shape(beams), time + 1),
                    beams,
                    tokens,
                    tf.fill(tf.shape(beams), finished),
                )

            finished = candidates(ended, best, parents, parents, tokens, True)
            _, chosen = tf.math.top_k(tf.where(ended, -math.inf, ranks), width)
            live = tf.where(ended, -math.inf, best)
            live = tf.gather(live, chosen, batch_dims=1)
            tokens = tf.gather(tokens, chosen, batch_dims=1)  # (B, W)
            parents = tf.gather(parents, chosen, batch_dims=1)
            own = tf.zeros_like(parents) + tf.range(width)
            truncated = candidates(at_limit, live, parents, own, tokens, False)
            pool = pool.merge(finished, truncated)
            alignments = ()
            if weights is not None:
                weights = rows.put(_by_beam(weights, width), batch, 0.0)
                alignments = write(history.alignments, time, weights)
            history = BackPointers(
                write(history.tokens, time, tokens),
                write(history.parents, time, parents),
                alignments,
            )
            highest = tf.reduce_max(live, axis=1, keepdims=True)
            reachable = self.length_penalty.bound(highest, time + 1, limits, task.source_lengths)
            reachable = tf.where(tf.math.is_inf(highest), -math.inf, reachable)
            done |= at_limit[:, 0] | (reachable[:, 0] <= pool.scores[:, -1])
            if self.stop == "top":
                done |= ended[:, 0] & (pool.scores[:, -1] > -math.inf)
            extended = rows.take(parents)  # (R, W)
            extended += tf.range(dimension(extended, 0))[:, tf.newaxis] * width
            extended = tf.reshape(extended, [-1])
            notes = {name: tf.gather(note, extended) for name, note in notes.items()}
            state = step.reorder(before, state, extended)
            rows, (notes, state) = rows.leave_out(done, groups, keep, (notes, state))
            return time + 1, tokens, live, pool, done, history, rows, notes, state

        def keep(values, kept):
            notes, state = values
            own = each_copy(kept, groups * width)
            notes = {name: tf.gather(note, own) for name, note in notes.items()}
            return notes, step.keep(state, kept, groups * width)

        loop = (tf.constant(0), tokens, live, pool, done, history, rows, notes, state)
        shapes = tf.nest.map_structure(lambda tensor: tensor.shape, loop)
        if task.shrink:
            shapes = shapes[:-3] + tf.nest.map_structure(
                lambda tensor: tf.TensorShape([None]).concatenate(tensor.shape[1:]), loop[-3:]
            )
        steps, _, _, pool, _, history, *_ = tf.while_loop(goes_on, advance, loop, shapes)
        exists = pool.scores > -math.inf
        lengths = tf.where(exists, pool.lengths, 0)
        tokens, alignments = history.trace(
            steps, pool.beams, lengths, pool.finished, pool.ends, task.pad_token
        )
        return Hypotheses(
            tokens=tokens,
            lengths=lengths,
            log_probabilities=tf.where(exists, pool.log_probabilities, -math.inf),
            scores=pool.scores,
            alignments=alignments,
        )

    def _first_notes(self, task, rows, alignment):
        """Returns what is noted of hypotheses before the first step: a dict of `(rows, ...)`."""
        return {"coverage": tf.zeros_like(alignment)} if self.coverage_penalty else {}

    def _note(self, notes, time, tokens, alignment, task):
        """Returns the notes after a step that has read `tokens (rows,)`."""
        if not self.coverage_penalty:
            return notes
        return {**notes, "coverage": notes["coverage"] + alignment}

    def _coverage(self, coverage, source_lengths):
        """Returns β · cp of every live hypothesis `(B, W)`, from attention sums `(B, W, S)`."""
        uncovered = tf.math.log(tf.maximum(tf.minimum(coverage, 1.0), 1e-9))
        if source_lengths is not None:
            valid = tf.range(dimension(coverage, 2)) < source_lengths[:, tf.newaxis]  # (B, S)
            uncovered = tf.where(valid[:, tf.newaxis], uncovered, 0.0)
        return self.coverage_penalty * tf.reduce_sum(uncovered, axis=-1)

    def _continuations(self, every, notes, last, task):
        """Return the continuations that may go on or end, (1 + ends) W or more if there are.

        Args:
            every: float32 tensor `(B, W, V)`, the log probabilities of all continuations.
            notes: the notes of the live hypotheses.
            last: bool tensor `(B, 1)`, whether a row is at its limit.
            task: `SearchTask`.

        Returns:
            Tensors `(B, N)`: log probability, what ranks the continuations, parent and token; the
            first is the likeliest.
        """
        best, parents, tokens = best_continuations(every, every, len(task.end_tokens))
        return best, best, parents, tokens


def _by_beam(tensor, width):
    """Splits `(R * W, ...)` to `(R, W, ...)`."""
    rows, *rest = (dimension(tensor, axis) for axis in range(tensor.shape.rank))
    return tf.reshape(tensor, [rows // width, width, *rest])
