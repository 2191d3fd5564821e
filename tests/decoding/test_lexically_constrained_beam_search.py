"""Phrases that must appear, against enumeration and against plain Python."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from keras_seqzoo.decoding import BeamSearch, Greedy, LexicallyConstrainedBeamSearch
from tests.decoding import reference
from tests.layer_checks import check_saved_model_in_fresh_process
from tests.properties import examples
from tests.tiers import slow

FEW = examples(40)
END = 3
PHRASES = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=3), max_size=3)


def padded(phrases):
    """Lists of phrases of each row as one array `(B, 3, 3)`."""
    array = np.full((len(phrases), 3, 3), -1, np.int32)
    for row, own in enumerate(phrases):
        for place, phrase in enumerate(own):
            array[row, place, : len(phrase)] = phrase
    return array


def run(model, starts, phrases, max_length, **config):
    found = reference.run(
        LexicallyConstrainedBeamSearch,
        model,
        starts,
        max_length,
        required_phrases=padded(phrases),
        **config,
    )
    return reference.rows(found)


def contains(tokens, phrase):
    phrase = tuple(phrase)
    return any(tokens[at : at + len(phrase)] == phrase for at in range(len(tokens)))


def allocated(model, start, phrases, max_length, width, alpha, n_best):
    """Dynamic beam allocation in plain Python, with no early stop."""
    phrases = [tuple(phrase) for phrase in phrases]

    def begun(tokens, phrase):
        sizes = range(1, min(len(phrase) - 1, len(tokens)) + 1)
        return max((n for n in sizes if tokens[-n:] == phrase[:n]), default=0)

    def missing(tokens):
        return [phrase for phrase in phrases if not contains(tokens, phrase)]

    def bank(tokens):
        absent = missing(tokens)
        have = sum(len(phrase) for phrase in phrases if phrase not in absent)
        return have + max((begun(tokens, phrase) for phrase in absent), default=0)

    live, finished = [((), 0.0)], []
    for time in range(max_length):
        grown = [
            ((*tokens, token), total + gain)
            for tokens, total in live
            for token, gain in enumerate(model(start, tokens))
            if gain > -np.inf and not (token == END and missing(tokens))
        ]
        grown.sort(key=lambda pair: -pair[1])
        chosen = dict(grown[: 2 * width])
        for tokens, _ in live:
            own = [pair for pair in grown if pair[0][:-1] == tokens]
            wanted = {phrase[begun(tokens, phrase)] for phrase in missing(tokens)} | {END}
            chosen |= dict([pair for pair in own if pair[0][-1] in wanted] + own[:1])
        finished += [tokens for tokens in chosen if tokens[-1] == END]
        banks = {}
        for tokens, total in sorted(chosen.items(), key=lambda pair: -pair[1]):
            last_chance = time + 1 == max_length and missing(tokens)
            if tokens[-1] != END and not last_chance:
                banks.setdefault(bank(tokens), []).append((tokens, total))
        rounds = [
            (place, -number, pair)
            for number, own in banks.items()
            for place, pair in enumerate(own)
        ]
        live = [pair for _, _, pair in sorted(rounds, key=lambda entry: entry[:2])[:width]]
    found = [
        reference.scored(model, start, tokens, alpha)
        for tokens in finished + [tokens for tokens, _ in live]
    ]
    return sorted(found, key=lambda h: -h.score)[:n_best]


def model_of(seed, forbidden=0.0):
    return reference.Model(4, END, seed=seed, forbidden=forbidden)


@FEW
@given(st.integers(0, 10**6), PHRASES, st.integers(3, 4), st.sampled_from([0.0, 0.4]))
def test_wide_beam_equals_enumeration(seed, phrases, max_length, forbidden):
    model, starts = model_of(seed, forbidden), [0, 2]
    found = run(model, starts, [phrases, []], max_length, width=81, length_penalty=0.6, n_best=8)
    for start, row, own in zip(starts, found, [phrases, []], strict=True):
        every = reference.enumerate_all(model, start, max_length, 0.6)
        fitting = [h for h in every if all(contains(h.tokens, phrase) for phrase in own)]
        reference.assert_equal(row, fitting[:8])


@pytest.mark.slow
@FEW
@given(
    st.integers(0, 10**6),
    PHRASES,
    st.integers(3, 5),
    st.sampled_from([0.0, 0.4]),
    st.sampled_from([(1, 1.0, 1), (2, 0.0, 2), (3, 1.0, 1), (5, 0.6, 3)]),
)
def test_narrow_beam_equals_plain_python(seed, phrases, max_length, forbidden, options):
    model = model_of(seed, forbidden)
    width, alpha, n_best = options
    config = {"width": width, "length_penalty": alpha, "n_best": n_best}
    [found, _] = run(model, [1, 0], [phrases, [[0]]], max_length, **config)
    distinct = list(dict.fromkeys(map(tuple, phrases)))
    reference.assert_equal(found, allocated(model, 1, distinct, max_length, *options))


@pytest.mark.slow
@FEW
@given(st.integers(0, 10**6), PHRASES, st.sampled_from([1, 2, 4]))
def test_there_is_a_hypothesis_wherever_the_phrases_fit(seed, phrases, width):
    model, length = model_of(seed), max(3, sum(map(len, phrases)))
    [[best]] = run(model, [1], [phrases], length, width=width)
    assert all(contains(best.tokens, phrase) for phrase in phrases)
    [start] = [model.log_probability(1, best.tokens)]
    assert best.log_probability == pytest.approx(start, abs=1e-4)


@pytest.mark.slow
def test_without_phrases_a_covering_beam_is_beam_search():
    model = model_of(3)
    [found] = run(model, [1], [[]], 4, width=81, n_best=20)
    plain = reference.run(BeamSearch, model, [1], 4, width=81, length_penalty=0.0, n_best=20)
    reference.assert_equal(found, reference.rows(plain)[0])


@pytest.mark.parametrize("jit_compile", [False, slow(True)])
def test_rows_with_other_phrases_and_xla(jit_compile):
    model = model_of(5)
    phrases = [[[0, 1], [2]], [], [[2, 2, 1]], [[1], [0]]]
    options = {"max_length": 5, "width": 6, "n_best": 2}
    together = run(model, [0, 1, 2, 4], phrases, jit_compile=jit_compile, **options)
    for start, own, row in zip([0, 1, 2, 4], phrases, together, strict=True):
        reference.assert_equal(run(model, [start], [own], **options)[0], row)


@pytest.mark.slow
def test_saved_model_in_fresh_process():
    table = tf.constant(model_of(1).table)

    def search(start_tokens, phrases):
        step, start = reference.step_function(table)
        state = start(tf.shape(start_tokens)[0])
        strategy = LexicallyConstrainedBeamSearch(4)
        return strategy(step, state, start_tokens, END, 5, required_phrases=phrases).tokens

    phrases = padded([[[0, 1]], [[2], [1, 1]]])
    check_saved_model_in_fresh_process(search, np.array([0, 1], np.int32), phrases)


def test_a_phrase_in_the_prefix_counts():
    model = model_of(2)
    step, start = reference.step_function(tf.constant(model.table))
    search = LexicallyConstrainedBeamSearch(3)
    found = search(step, start(1), [1], END, 3, prefix=[[0, 1]], required_phrases=[[[0, 1]]])
    assert found.tokens.numpy()[0, 0, :2].tolist() == [0, 1]
    assert found.scores.numpy()[0, 0] > -np.inf


def test_what_cannot_be_is_refused():
    step, start = reference.step_function(tf.constant(model_of(2).table))
    search = LexicallyConstrainedBeamSearch(3)
    with pytest.raises(ValueError, match="`required_phrases` must be given to a .*, got None"):
        search(step, start(1), [1], END, 3)
    with pytest.raises(ValueError, match="`required_phrases` must be None for a"):
        Greedy()(step, start(1), [1], END, 3, required_phrases=[[[0]]])
    with pytest.raises(ValueError, match="`required_phrases` must have shape"):
        search(step, start(1), [1], END, 3, required_phrases=[[0]])
    with pytest.raises(ValueError, match="must not have the end token 3, got .* in row 0"):
        search(step, start(1), [1], END, 3, required_phrases=[[[0, END]]])
    with pytest.raises(ValueError, match="`required_phrases` must have -1 only at the end"):
        search(step, start(1), [1], END, 3, required_phrases=[[[-1, 0]]])
    with pytest.raises(ValueError, match="at most the 3 tokens of their row, got 4 in row 0"):
        search(step, start(1), [1], END, 3, required_phrases=[[[0, 1, 0, 1]]])


@pytest.mark.parametrize("count", [0, 2])
def test_without_rows_or_phrases(count):
    step, start = reference.step_function(tf.constant(model_of(2).table))
    search = LexicallyConstrainedBeamSearch(3)
    starts = tf.fill([count], 1)
    found = search(
        step, start(count), starts, END, 3, required_phrases=tf.zeros([count, 0, 0], tf.int32)
    )
    assert found.tokens.shape == (count, 1, 3)
    assert np.isfinite(found.scores).all()


@pytest.mark.slow
def test_an_open_batch_with_known_phrases():
    table = tf.constant(model_of(2).table)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32)], autograph=False)
    def run(starts):
        step, start = reference.step_function(table)
        search = LexicallyConstrainedBeamSearch(3)
        return search(
            step, start(tf.size(starts)), starts, END, 4, required_phrases=[[[0, 1]], [[2, -1]]]
        )

    found = run(tf.constant([0, 1]))
    assert contains(tuple(found.tokens.numpy()[0, 0]), (0, 1))
    assert contains(tuple(found.tokens.numpy()[1, 0]), (2,))


def test_memory_does_not_grow_with_the_square_of_the_length_of_phrases():
    rows, count, length, width = 2, 3, 60, 2
    search = LexicallyConstrainedBeamSearch(width)

    @tf.function
    def run(phrases):
        def step(tokens, state):
            return tf.math.log(tf.ones([rows * width, END + 1]) / (END + 1)), state

        options = {"start_tokens": [0] * rows, "end_token": END, "max_length": 70}
        return search(step, (), required_phrases=phrases, **options)

    graph = run.get_concrete_function(tf.TensorSpec([rows, count, length], tf.int32)).graph
    bodies = [graph, *(f.graph for f in graph._functions.values() if hasattr(f, "graph"))]
    sizes = [
        out.shape.num_elements()
        for body in bodies
        for operation in body.get_operations()
        for out in operation.outputs
        if out.shape.num_elements() is not None
    ]
    candidates = width * (count + 4)
    assert len(bodies) > 2 and max(sizes) <= 2 * rows * candidates * count * length


def test_rows_that_cannot_have_their_phrases_have_no_hypothesis():
    step, start = reference.step_function(tf.constant(model_of(2).table))
    phrases = tf.constant([[[2]], [[9]], [[-1]]])  # 9 is not in the vocabulary

    @tf.function(reduce_retracing=True, autograph=False)
    def run(lengths):
        search = LexicallyConstrainedBeamSearch(3, max_source_ratio=1.0)
        starts = tf.zeros([3], tf.int32)
        return search(
            step, start(3), starts, END, 4, required_phrases=phrases, source_lengths=lengths
        )

    assert np.isfinite(run(tf.constant([3, 3, 3])).scores).ravel().tolist() == [True, False, True]
    assert np.isfinite(run(tf.constant([0, 3, 0])).scores).ravel().tolist() == [False, False, True]


def test_coverage_counts():
    model = model_of(4)
    step, start = reference.step_function(tf.constant(model.table))

    def sums(state):
        return tf.nn.softmax(state["weights"] / 1000.0)

    options = {"required_phrases": [[[0, 1]]], "alignment": sums, "source_lengths": [3]}
    plain, covered = (
        LexicallyConstrainedBeamSearch(81, 0.0, coverage_penalty=beta)(
            step, start(1), [1], END, 4, **options
        )
        for beta in (0.0, 0.5)
    )
    total = covered.alignments.numpy()[0, 0].sum(axis=0)
    expected = covered.log_probabilities.numpy()[0, 0] + 0.5 * np.log(np.minimum(total, 1)).sum()
    assert covered.scores.numpy()[0, 0] == pytest.approx(expected, rel=1e-4)
    assert plain.log_probabilities.numpy()[0, 0] >= covered.log_probabilities.numpy()[0, 0]


def test_configuration():
    search = LexicallyConstrainedBeamSearch(7, 0.5, n_best=3)
    assert LexicallyConstrainedBeamSearch.from_config(search.get_config()).width == 7
