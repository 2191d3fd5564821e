"""Lexically constrained beam search."""

import math

import keras
import tensorflow as tf

from keras_seqzoo.decoding.beam_history import top_continuations
from keras_seqzoo.decoding.beam_search import BeamSearch
from keras_seqzoo.decoding.rows import repeat_rows
from keras_seqzoo.decoding.token_ids import is_one_of
from keras_seqzoo.tensors import dimension

NO_TOKEN = -2  # neither a token nor padding of a phrase


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class LexicallyConstrainedBeamSearch(BeamSearch):
    """Beam search for hypotheses that contain required phrases.

    This is dynamic beam allocation (Post and Vilar 2018, Fast lexically constrained decoding with
    dynamic beam allocation for neural machine translation). The candidates for the next step are
    the best `(1 + E) * width` continuations overall, for E end tokens, and, for each live
    hypothesis, its most likely continuation, the next token of each missing phrase, and its ends.
    They are divided into banks by the number of phrase tokens they contain; of an incomplete
    phrase, the longest beginning that ends the hypothesis counts. The beam is filled round-robin,
    from the fullest bank (with the most phrase tokens) to the emptiest: first with the most likely
    candidate of each, then with the second. A hypothesis may end when it has all phrases, in any
    order. Phrases may overlap, and equal ones count once. A truncated hypothesis without all
    phrases is discarded.

    At every step the fullest bank gains a token. So a hypothesis with all phrases is found whenever
    their tokens fit in the limit of the row and are not forbidden. The width should exceed the
    number of tokens of all phrases, so that each bank has a place.

    Args:
        width: Int, at least 1, the number of live hypotheses per row.
        length_penalty: Float, at least 0, alpha; or a `HypothesisScore`. The default is 0: a mean
            over tokens can hide the cost of a phrase behind likely repetitions.
        n_best: Int, from 1 to `width`, the number of hypotheses to return per row.
        coverage_penalty: Float, at least 0, see `BeamSearch`.
        **kwargs: `stop`, see `BeamSearch`; `constraints`, `max_source_ratio` and
            `check_values`, see `DecodingStrategy`.

    Call arguments: See `DecodingStrategy`; `required_phrases` is required.

    Returns:
        `Hypotheses` with N = `n_best`.

    Raises:
        ValueError: If an argument is out of its range, `required_phrases` is missing, or a phrase
            is known to be longer than the limit of its row or to contain the end token.

    Example:
    >>> table = tf.math.log([[0.1, 0.6, 0.3], [0.1, 0.2, 0.7], [0.0, 0.0, 1.0]])
    >>> def step(tokens, state):
    ...     return tf.gather(table, tokens), state
    >>> search = LexicallyConstrainedBeamSearch(width=3)
    >>> options = {"start_tokens": [0], "end_token": 2, "max_length": 4}
    >>> search(step, (), required_phrases=[[[0, 1], [1, 1]]], **options).tokens.numpy().tolist()
    [[[0, 1, 1, 2]]]
    """

    takes_phrases = True

    def __init__(self, width=10, length_penalty=0.0, n_best=1, **kwargs):  # noqa: D107
        super().__init__(width, length_penalty, n_best, **kwargs)

    def search(self, step, task):
        """Run the search; see the base class."""
        _check_possible(task)
        task = task._replace(required_phrases=_distinct(task.required_phrases))
        found = super().search(step, task)
        # A row with a limit of 0 has the empty hypothesis.
        required = tf.reduce_any(task.required_phrases >= 0, axis=(1, 2))
        lost = required[:, tf.newaxis] & (found.lengths == 0)
        return found._replace(
            scores=tf.where(lost, -math.inf, found.scores),
            log_probabilities=tf.where(lost, -math.inf, found.log_probabilities),
        )

    def _first_notes(self, task, rows, alignment):
        count, length = (dimension(task.required_phrases, axis) for axis in (1, 2))
        met = tf.reduce_all(task.required_phrases < 0, axis=-1)  # (B, C)
        # Entry p of "begun": whether the hypothesis ends with the first p tokens of the phrase.
        return {
            **super()._first_notes(task, rows, alignment),
            "begun": tf.broadcast_to(tf.range(length) == 0, [rows, count, length]),
            "met": tf.reshape(repeat_rows(met, self.width), [rows, count]),
        }

    def _note(self, notes, time, tokens, alignment, task):
        notes = super()._note(notes, time, tokens, alignment, task)
        tokens = tf.where(time == 0, NO_TOKEN, tokens)  # the start token is not part of a phrase
        rows, width = dimension(tokens, 0), self.width
        batch, count, length = (dimension(task.required_phrases, axis) for axis in range(3))
        begun, complete = _extend(
            tf.reshape(notes["begun"], [batch, width, count, length]),
            tf.reshape(tokens, [batch, width]),
            task.required_phrases[:, tf.newaxis],  # the same for all hypotheses of a row
        )
        return {
            **notes,
            "begun": tf.reshape(begun, [rows, count, length]),
            "met": notes["met"] | tf.reshape(complete, [rows, count]),
        }

    def _continuations(self, every, notes, last, task):
        """Return the candidates of all kinds, ranked by bank and place in it."""
        batch, width, vocabulary = (dimension(every, axis) for axis in range(3))
        count, length = (dimension(task.required_phrases, axis) for axis in (1, 2))
        phrases = task.required_phrases[:, tf.newaxis]  # (B, 1, C, P)
        begun = tf.reshape(notes["begun"], [batch, width, count, length])
        met = tf.reshape(notes["met"], [batch, width, count])

        is_end = is_one_of(tf.range(vocabulary), task.end_tokens)
        early = ~tf.reduce_all(met, axis=-1, keepdims=True) & is_end
        every = tf.where(early, -math.inf, every)
        # The next token of each incomplete phrase.
        following = tf.one_hot(_longest(begun), length, dtype=tf.int32)
        following = tf.reduce_sum(following * phrases, axis=-1)  # (B, W, C)
        each = tf.concat(
            [
                tf.where(met, NO_TOKEN, following),
                tf.argmax(every, axis=-1, output_type=tf.int32)[..., tf.newaxis],
                *(tf.fill([batch, width, 1], end) for end in task.end_tokens),
            ],
            axis=-1,
        )  # (B, W, C + 1 + ends)
        own = tf.range(width)[:, tf.newaxis] + tf.zeros_like(each)
        _, parents, tokens = top_continuations(every, every, len(task.end_tokens))
        flat = [batch, width * (count + 1 + len(task.end_tokens))]
        parents = tf.concat([parents, tf.reshape(own, flat)], axis=1)  # (B, N)
        tokens = tf.concat([tokens, tf.reshape(each, flat)], axis=1)

        none = (tokens < 0) | (tokens >= vocabulary) | _repeated(parents, tokens)
        places = tf.stack([parents, tf.clip_by_value(tokens, 0, vocabulary - 1)], axis=-1)
        best = tf.where(none, -math.inf, tf.gather_nd(every, places, batch_dims=1))
        met, bank = _after(parents, tokens, met, begun, phrases)
        continues = ~is_one_of(tokens, task.end_tokens)
        lost = last & ~tf.reduce_all(met, axis=-1) & continues
        best = tf.where(lost, -math.inf, best)
        return best, _round_robin(best, bank, continues), parents, tokens


def _check_possible(task):
    """Raise `ValueError` if phrases are known to be impossible."""
    phrases, limits = (tf.get_static_value(x) for x in (task.required_phrases, task.limits))
    if phrases is None:
        return
    for row, own in enumerate(phrases):
        for phrase in own:
            length = (phrase >= 0).sum()
            if (phrase[:length] < 0).any():
                raise ValueError(
                    f"`required_phrases` must have -1 only at the end, got {phrase} in row {row}."
                )
            for end in task.end_tokens:
                if isinstance(end, int) and (phrase == end).any():
                    raise ValueError(
                        f"`required_phrases` must not have the end token {end}, got {phrase} in "
                        f"row {row}."
                    )
            if limits is not None and length > limits[row]:
                raise ValueError(
                    f"`required_phrases` must have at most the {limits[row]} tokens of their row, "
                    f"got {length} in row {row}."
                )


def _distinct(phrases):
    """Blank repeated phrases `(B, C, P)` of each row, and pad P to at least 1."""
    missing = tf.maximum(1 - tf.shape(phrases)[2], 0)
    phrases = tf.pad(phrases, [[0, 0], [0, 0], [0, missing]], constant_values=-1)
    same = tf.reduce_all(phrases[:, :, tf.newaxis] == phrases[:, tf.newaxis], axis=-1)  # (B, C, C)
    index = tf.range(dimension(phrases, 1))
    again = tf.reduce_any(same & (index < index[:, tf.newaxis]), axis=-1)
    return tf.where(again[..., tf.newaxis], -1, phrases)


def _lengths(phrases):
    """Return the numbers of tokens of phrases, int32 `(..., C)`."""
    return tf.reduce_sum(tf.cast(phrases >= 0, tf.int32), axis=-1)


def _extend(begun, tokens, phrases):
    """Append a token to hypotheses and compare their ends with phrases.

    Args:
        begun: bool tensor `(..., C, P)`; entry p tells whether a hypothesis ends with the first p
            tokens of a phrase.
        tokens: int32 tensor `(...)`.
        phrases: int32 tensor `(..., C, P)`.

    Returns:
        A tuple of `begun` of the longer hypotheses, and bool `(..., C)`, whether they end with the
        whole phrase.
    """
    more = begun & (phrases == tokens[..., tf.newaxis, tf.newaxis])  # with the first p + 1 tokens
    is_whole = tf.range(1, dimension(phrases, -1) + 1) == _lengths(phrases)[..., tf.newaxis]
    begun = tf.concat([tf.ones_like(more[..., :1]), more[..., :-1]], axis=-1)
    return begun, tf.reduce_any(more & is_whole, axis=-1)


def _longest(begun):
    """Return the length of the longest beginning, int32 `(...)`, from bools `(..., P)`."""
    return tf.reduce_max(tf.where(begun, tf.range(dimension(begun, -1)), 0), axis=-1)


def _after(parents, tokens, met, begun, phrases):
    """Return which phrases `(B, N, C)` candidates `(B, N)` contain, and their banks `(B, N)`."""
    begun, complete = _extend(tf.gather(begun, parents, batch_dims=1), tokens, phrases)
    met = tf.gather(met, parents, batch_dims=1) | complete
    whole = tf.reduce_sum(tf.where(met, _lengths(phrases), 0), axis=-1)
    started = _longest(tf.reduce_any(begun & ~met[..., tf.newaxis], axis=-2))  # (B, N)
    return met, whole + started


def _repeated(parents, tokens):
    """Mark candidates `(B, N)` that repeat an earlier one."""
    same = (parents[:, tf.newaxis] == parents[..., tf.newaxis]) & (
        tokens[:, tf.newaxis] == tokens[..., tf.newaxis]
    )  # (B, N, N)
    index = tf.range(dimension(tokens, 1))
    return tf.reduce_any(same & (index < index[:, tf.newaxis]), axis=-1)


def _round_robin(log_probabilities, bank, continues):
    """Rank candidates `(B, N)` by their place in their bank, then fuller banks first."""
    competes = continues & ~tf.math.is_inf(log_probabilities)
    own, other = log_probabilities[..., tf.newaxis], log_probabilities[:, tf.newaxis]
    index = tf.range(dimension(bank, 1))
    earlier = (other > own) | ((other == own) & (index < index[:, tf.newaxis]))
    rivals = (bank[:, tf.newaxis] == bank[..., tf.newaxis]) & competes[:, tf.newaxis]
    place = tf.reduce_sum(tf.cast(earlier & rivals, tf.int32), axis=-1)
    banks = tf.reduce_max(bank, axis=-1, keepdims=True) + 1
    return tf.where(competes, -tf.cast(place * banks - bank, tf.float32), -math.inf)
