"""Beam search."""

import math
from typing import NamedTuple

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_integer, check_number
from keras_seqzoo.decoding.beam_history import BackPointers, top_continuations
from keras_seqzoo.decoding.rows import LiveRows, indices_of_copies, split_rows, write_at
from keras_seqzoo.decoding.scores import as_score
from keras_seqzoo.decoding.strategy import DecodingStrategy, Hypotheses
from keras_seqzoo.decoding.token_ids import is_one_of
from keras_seqzoo.tensors import dimension

STOPS = ("exact", "top")


class _Pool(NamedTuple):
    """Finished hypotheses, all `(B, N)`, best first; empty places have the score -inf."""

    scores: tf.Tensor
    log_probabilities: tf.Tensor
    lengths: tf.Tensor
    beams: tf.Tensor  # the live hypothesis that the end token extends, or that is truncated
    ends: tf.Tensor  # the end token
    finished: tf.Tensor

    def merge(self, *others):
        """Return the best N of all pools; if scores tie, those of this pool come first."""
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
    """Beam search: keep the `width` most likely unfinished hypotheses at every step.

    Hypotheses are ranked by log probability, length and coverage of the source,

        score(y) = (log P(y | x) + β · cp(y)) / L^alpha,    L = |y|, including the end token,
        cp(y) = Σ_s log(min(Σ_t a_ts, 1)),

    where a_ts is the attention of step t to source position s (cp as in Wu et al. 2016, Google's
    neural machine translation system). A `HypothesisScore` replaces this score: `WuLengthPenalty`
    gives equation 14 of that paper, log P / ((5 + L) / 6)^alpha + β · cp, and each says how it adds
    β · cp (`HypothesisScore.add_coverage`).

    Live hypotheses compete by log probability. With E end tokens, each step takes the best
    `(1 + E) * width` continuations: each live hypothesis can end in E ways, so at least `width`
    live ones remain. Those that end enter a pool of finished hypotheses, where they stay unchanged
    until `n_best` better ones displace them. Hypotheses that are still live at the limit of their
    row are truncated and compete by their scores, without an end token.

    A row is done when no live hypothesis can beat its `n_best`-th finished one, even with the
    highest score that its log probability can still reach (`HypothesisScore.bound`, with complete
    coverage). This stop is exact. With `stop="top"` a row is also done when `n_best` hypotheses
    have finished and the most likely continuation is an end, as in most toolkits: with length
    normalization this takes fewer steps but can miss a longer, better hypothesis. Rows that are
    done no longer change, so results do not depend on the other rows of the batch.

    Args:
        width: Int, at least 1, the number of live hypotheses per row.
        length_penalty: Float, at least 0, alpha; or a `HypothesisScore`.
        n_best: Int, from 1 to `width`, the number of hypotheses to return per row.
        coverage_penalty: Float, at least 0, β. Above 0 it requires `alignment`, and
            `source_lengths` if sources are padded. Wu et al. use 0.2, with `WuLengthPenalty(0.2)`.
        stop: `"exact"` or `"top"`, see above.
        **kwargs: `constraints`, `max_source_ratio` and `check_values`, see `DecodingStrategy`.

    Call arguments: See `DecodingStrategy`. The search repeats the state for each hypothesis.

    Returns:
        `Hypotheses` with N = `n_best`.

    Raises:
        ValueError: If an argument is out of its range, or a coverage penalty has no `alignment`.

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
        """Return the constructor arguments."""
        return {
            **super().get_config(),
            "width": self.width,
            "length_penalty": keras.saving.serialize_keras_object(self.length_penalty),
            "n_best": self.n_best,
            "coverage_penalty": self.coverage_penalty,
            "stop": self.stop,
        }

    @property
    def max_hypotheses(self):
        """The width of the beam."""
        return self.width

    def with_n_best(self, n_best):
        """Return the same search with another `n_best`."""
        return type(self).from_config({**self.get_config(), "n_best": n_best})

    @property
    def needs_alignment(self):
        """Whether the score has a coverage penalty."""
        return self.coverage_penalty > 0

    def search(self, step, task):
        """Run the search; see the base class."""
        return self._search(step, task, self.width, self.n_best)

    def _search(self, step, task, width, n_best, groups=1):
        """Run the search with `groups` beams per row of the batch; `task` has B * groups rows."""
        batch = dimension(task.start_tokens, 0)  # rows of the batch times groups
        state = step.start(copies=groups * width)
        alignment = step.alignment(state)
        if self.coverage_penalty and alignment is None:
            raise ValueError("`alignment` must be given for a `coverage_penalty`, got None.")
        history = BackPointers(
            tokens=tf.zeros([task.max_length, batch, width], tf.int32),
            parents=tf.zeros([task.max_length, batch, width], tf.int32),
            alignments=()
            if alignment is None
            else tf.zeros([task.max_length, batch, width, dimension(alignment, 1)]),
        )
        # All hypotheses of a row start equal, so only the first is live.
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

        def is_unfinished(time, tokens, live, pool, done, history, rows, notes, state):
            return (time < task.max_length) & ~tf.reduce_all(done)

        def advance(time, tokens, live, pool, done, history, rows, notes, state):
            # The model and the choice of tokens see the R live rows; everything else has B rows.
            here = task.select(rows)
            before, tokens = state, tf.reshape(rows.take(tokens), [-1])  # (R * W,)
            log_probabilities, state = step(tokens, state)
            weights = step.alignment(state)
            notes = self._note(notes, time, tokens, weights, here)
            if self.coverage_penalty:
                penalty = self._coverage(split_rows(notes["coverage"], width), here.source_lengths)
                penalty = rows.put(penalty, batch, 0.0)
            every = split_rows(log_probabilities, width) + rows.take(live)[:, :, tf.newaxis]
            at_limit = limits == time + 1
            best, ranks, parents, tokens = (
                rows.put(found, batch, blank)
                for found, blank in zip(
                    self._continuations(every, notes, rows.take(at_limit), here),
                    (-math.inf, -math.inf, 0, 0),
                    strict=True,
                )
            )
            ended = is_one_of(tokens, task.end_tokens)

            def candidates(selected, log_probabilities, parents, beams, tokens, finished):
                scores = self.length_penalty.score(log_probabilities, time + 1, task.source_lengths)
                if self.coverage_penalty:
                    penalties = tf.gather(penalty, parents, batch_dims=1)
                    scores = self.length_penalty.add_coverage(scores, penalties, time + 1)
                selected &= ~done[:, tf.newaxis] & ~tf.math.is_inf(log_probabilities)
                return _Pool(
                    tf.where(selected, scores, -math.inf),
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
                weights = rows.put(split_rows(weights, width), batch, 0.0)
                alignments = write_at(history.alignments, time, weights)
            history = BackPointers(
                write_at(history.tokens, time, tokens),
                write_at(history.parents, time, parents),
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
            rows, (notes, state) = rows.drop_done(done, groups, select, (notes, state))
            return time + 1, tokens, live, pool, done, history, rows, notes, state

        def select(values, kept):
            notes, state = values
            own = indices_of_copies(kept, groups * width)
            notes = {name: tf.gather(note, own) for name, note in notes.items()}
            return notes, step.select(state, kept, groups * width)

        loop = (tf.constant(0), tokens, live, pool, done, history, rows, notes, state)
        shapes = tf.nest.map_structure(lambda tensor: tensor.shape, loop)
        if task.shrink:
            shapes = shapes[:-3] + tf.nest.map_structure(
                lambda tensor: tf.TensorShape([None]).concatenate(tensor.shape[1:]), loop[-3:]
            )
        steps, _, _, pool, _, history, *_ = tf.while_loop(is_unfinished, advance, loop, shapes)
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
        """Return the notes on hypotheses before the first step: a dict of `(rows, ...)`."""
        return {"coverage": tf.zeros_like(alignment)} if self.coverage_penalty else {}

    def _note(self, notes, time, tokens, alignment, task):
        """Return the notes after a step has read `tokens (rows,)`."""
        if not self.coverage_penalty:
            return notes
        return {**notes, "coverage": notes["coverage"] + alignment}

    def _coverage(self, coverage, source_lengths):
        """Return β · cp of live hypotheses `(B, W)` from attention sums `(B, W, S)`."""
        uncovered = tf.math.log(tf.maximum(tf.minimum(coverage, 1.0), 1e-9))
        if source_lengths is not None:
            valid = tf.range(dimension(coverage, 2)) < source_lengths[:, tf.newaxis]  # (B, S)
            uncovered = tf.where(valid[:, tf.newaxis], uncovered, 0.0)
        return self.coverage_penalty * tf.reduce_sum(uncovered, axis=-1)

    def _continuations(self, every, notes, last, task):
        """Return the best continuations, at least (1 + ends) W if there are enough.

        Args:
            every: float32 tensor `(B, W, V)`, the log probabilities of all continuations.
            notes: notes on the live hypotheses.
            last: bool tensor `(B, 1)`, whether a row is at its limit.
            task: `SearchTask`.

        Returns:
            Tensors `(B, N)`: log probability, rank, parent and token; the first is the most likely.
        """
        best, parents, tokens = top_continuations(every, every, len(task.end_tokens))
        return best, best, parents, tokens
