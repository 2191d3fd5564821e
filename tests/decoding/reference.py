"""Small random models that depend on the whole prefix, and the searches over them in plain Python.

The state holds a code of the prefix, and a table gives the log probabilities for each code. Up to
five tokens of a vocabulary of five, after any of five start tokens, have codes of their own.
"""

import functools
import math
from typing import NamedTuple

import numpy as np
import tensorflow as tf

BASE, CODES = 6, 8192


class Hypothesis(NamedTuple):
    tokens: tuple
    log_probability: float
    score: float


class Model:
    """A table `(CODES, V)` of log probabilities, some `-inf`, and its end token or several."""

    def __init__(self, vocabulary, end_token, seed=0, forbidden=0.0, sharpness=1.0):
        random = np.random.default_rng(seed)
        logits = sharpness * random.normal(size=(CODES, vocabulary))
        logits[random.random(logits.shape) < forbidden] = -np.inf
        with np.errstate(invalid="ignore", divide="ignore"):
            table = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
        table[np.isnan(table)] = -np.inf  # everything is forbidden: a dead end
        self.table = table.astype(np.float32)
        self.vocabulary, self.end_token = vocabulary, end_token
        self.ends = end_token if isinstance(end_token, tuple) else (end_token,)

    def __call__(self, start, prefix):
        """Log probabilities `(V,)` after a prefix."""
        return self.table[code(start, prefix)].astype(np.float64)

    def log_probability(self, start, tokens):
        return sum(self(start, tokens[:t])[token] for t, token in enumerate(tokens))

    def is_complete(self, tokens, max_length):
        """Ends with the end token, or has the full length; and no end token before the last."""
        ended = len(tokens) > 0 and tokens[-1] in self.ends
        early = any(token in self.ends for token in tokens[:-1])
        return not early and (ended or len(tokens) == max_length)


def code(start, prefix):
    """The code in the state when `prefix` has been fed, the start token first."""
    number = 0
    for token in (start, *prefix):
        number = (number * BASE + token + 1) % CODES
    return number


def step_function(table):
    """The same model for our searches, and its start state."""

    def step(tokens, state):
        number = (state["code"] * BASE + tokens + 1) % CODES
        state = {"code": number, "weights": attention(number), "absent": None}
        return tf.gather(table, number), state

    def start(batch):
        return {
            "code": tf.zeros([batch], tf.int32),
            "weights": tf.zeros([batch, 3]),
            "absent": None,
        }

    return step, start


def attention(number):
    """Made-up weights `(rows, 3)` that tell prefixes apart."""
    number = tf.cast(number, tf.float32)
    return tf.stack([number, tf.sqrt(number), -number], axis=-1)


def true_alignments(start, tokens):
    codes = [code(start, tokens[:t]) for t in range(len(tokens))]
    return attention(tf.constant(codes, tf.int32, shape=[len(codes)])).numpy()


@functools.cache
def compiled(make, jit_compile=False, ends=(), **config):
    """One trace per strategy: the model and its sizes are arguments."""
    strategy = make(**config)

    def search(table, start_tokens, end_token, max_length, source_lengths, required_phrases=None):
        step, start = step_function(table)
        return strategy(
            step,
            start(tf.shape(start_tokens)[0]),
            start_tokens,
            end_token,
            max_length,
            pad_token=-1,
            alignment=lambda state: state["weights"],
            source_lengths=source_lengths,
            required_phrases=required_phrases,
        )

    signature = [
        tf.TensorSpec([None, None]),
        tf.TensorSpec([None], tf.int32),
        tf.TensorSpec(ends, tf.int32),  # their shape
        tf.TensorSpec([], tf.int32),
        tf.TensorSpec([None], tf.int32),
    ]
    if strategy.takes_phrases:
        signature.append(tf.TensorSpec([None, None, None], tf.int32))
    return tf.function(search, jit_compile=jit_compile, input_signature=signature, autograph=False)


def run(
    make,
    model,
    starts,
    max_length,
    jit_compile=False,
    source_lengths=None,
    required_phrases=None,
    **config,
):
    search = compiled(make, jit_compile, np.shape(model.end_token), **config)
    starts = tf.constant(starts, tf.int32)
    if source_lengths is None:
        source_lengths = tf.ones_like(starts)
    phrases = [] if required_phrases is None else [tf.constant(required_phrases)]
    table = tf.constant(model.table)
    return search(table, starts, tf.constant(model.end_token), max_length, source_lengths, *phrases)


def rows(found):
    """The hypotheses of each row as a list; checks the shape of what is returned on the way."""
    tokens, lengths, log_probabilities, scores, alignments = (x.numpy() for x in found)
    assert not any(np.isnan(x).any() for x in (log_probabilities, scores, alignments))
    assert tokens.dtype == lengths.dtype == np.int32
    assert scores.dtype == log_probabilities.dtype == alignments.dtype == np.float32
    assert tokens.shape == alignments.shape[:3]
    assert lengths.shape == log_probabilities.shape == scores.shape == tokens.shape[:2]
    padding = np.arange(tokens.shape[2]) >= lengths[:, :, None]
    assert (tokens[padding] == -1).all() and (tokens[~padding] >= 0).all()
    assert (alignments[padding] == 0).all()
    empty = np.isneginf(scores)
    assert (np.isneginf(log_probabilities) == empty).all() and (lengths[empty] == 0).all()
    assert (np.diff(np.where(empty, -1e9, scores), axis=1) <= 0).all()
    return [
        [
            Hypothesis(tuple(tokens[b, n, : lengths[b, n]].tolist()), p, s)
            for n, (p, s) in enumerate(zip(log_probabilities[b], scores[b], strict=True))
            if np.isfinite(s)
        ]
        for b in range(len(tokens))
    ]


def scored(model, start, tokens, rank):
    """`rank` is the alpha of the power form, or a function `(log probability, length)`."""
    log_probability = model.log_probability(start, tokens)
    if callable(rank):
        return Hypothesis(tokens, log_probability, rank(log_probability, len(tokens)))
    return Hypothesis(tokens, log_probability, log_probability / max(len(tokens), 1) ** rank)


def enumerate_all(model, start, max_length, alpha):
    """Every complete hypothesis that is not forbidden, best first."""
    found, prefixes = [], [()]
    for length in range(max_length + 1):
        complete = [p for p in prefixes if model.is_complete(p, max_length)]
        found += [scored(model, start, p, alpha) for p in complete]
        if length < max_length:
            grown = set(prefixes) - set(complete)
            prefixes = [(*p, token) for p in sorted(grown) for token in range(model.vocabulary)]
    found = [h for h in found if h.score > -math.inf]
    return sorted(found, key=lambda h: -h.score)


def beam_search(model, start, max_length, width, alpha, n_best, stop="exact"):
    """The same beam search with no exact early stop and no limit to the pool."""
    live, finished = [((), 0.0)], []
    for time in range(1, max_length + 1):
        grown = [
            ((*tokens, token), total + gain)
            for tokens, total in live
            for token, gain in enumerate(model(start, tokens))
            if gain > -math.inf
        ]
        best = sorted(grown, key=lambda pair: -pair[1])[: (1 + len(model.ends)) * width]
        finished += [tokens for tokens, _ in best if tokens[-1] in model.ends]
        live = [pair for pair in best if pair[0][-1] not in model.ends][:width]
        top_ended = bool(best) and best[0][0][-1] in model.ends
        if stop == "top" and top_ended and len(finished) >= n_best and time < max_length:
            live = []  # at the limit what lives is truncated all the same
    found = [scored(model, start, t, alpha) for t in finished + [tokens for tokens, _ in live]]
    return sorted(found, key=lambda h: -h.score)[:n_best]


def greedy(model, start, max_length):
    tokens = ()
    while len(tokens) < max_length and not (tokens and tokens[-1] in model.ends):
        tokens = (*tokens, int(np.argmax(model(start, tokens))))
    return scored(model, start, tokens, 0.0)


def assert_equal(actual, expected):
    """The same hypotheses in the same order, up to rounding."""
    assert [h.tokens for h in actual] == [h.tokens for h in expected]
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_allclose(one[1:], other[1:], rtol=1e-5, atol=1e-5)


def chain(rows):
    """A step function over a table of probabilities by last token, and no state."""
    table = tf.math.log(tf.constant(rows, tf.float32))
    return lambda tokens, state: (tf.gather(table, tokens), state)
