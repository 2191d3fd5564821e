from functools import partial

import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.layers import CopyDistribution, LexiconDistribution
from tests.layer_checks import check_keras_saving, check_serialisation, check_xla_equals_eager
from tests.tiers import slow

RANDOM = np.random.default_rng(0)
SOURCE = np.array([[3, 1, 3, 2], [4, 0, 0, 0]], "int32")
WEIGHTS = RANDOM.dirichlet(np.ones(4), (2, 3)).astype("float32")
WEIGHTS[1] = [1, 0, 0, 0]  # the rest is padding
TARGETS = RANDOM.integers(0, 7, (5, 2))
PROBABILITIES = RANDOM.dirichlet(np.ones(3), 5)[:, :2]


def lexicon():
    layer = LexiconDistribution(7, source_vocabulary_size=5, entries=2)
    layer.set_lexicon(TARGETS, PROBABILITIES)
    return layer


def expected(weights, source, entries, size):
    found = np.zeros((*weights.shape[:2], size))
    copies = len(weights) // len(source)
    for row, steps in enumerate(weights):
        for step, own in enumerate(steps):
            for weight, token in zip(own, source[row // copies], strict=True):
                for target, probability in entries(token, source[row // copies, 0]):
                    found[row, step, target] += weight * probability
    return found


def in_lexicon(token, first):
    return zip(TARGETS[token], PROBABILITIES[token], strict=True)


SELECTORS = [5, 4, 1]  # no source has 5, the first has 1, and the second 4
SELECTED = RANDOM.integers(0, 7, (3, 6, 2))
CHANCES = RANDOM.dirichlet(np.ones(3), (3, 6))[..., :2]


def lexicons():
    layer = LexiconDistribution(7, source_vocabulary_size=6, entries=2, selectors=SELECTORS)
    layer.set_lexicon(SELECTED, CHANCES)
    return layer


def in_lexicons(token, first):
    chosen = 1 if first == 4 else 2
    return zip(SELECTED[chosen, token], CHANCES[chosen, token], strict=True)


CASES = {
    "copy": (lambda: CopyDistribution(5), lambda token, first: [(token, 1.0)], 5),
    "lexicon": (lexicon, in_lexicon, 7),
    "lexicons": (lexicons, in_lexicons, 7),
}
every = pytest.mark.parametrize(("make", "entries", "size"), CASES.values(), ids=CASES)


def dense(layer, found):
    """Return the probabilities of all tokens; those with a probability above 0 differ."""
    tokens, probabilities = (np.asarray(x) for x in found)
    assert tokens.shape == probabilities.shape and tokens.dtype == np.int32
    result = np.zeros((*tokens.shape[:2], layer.vocabulary_size))
    for place in np.ndindex(tokens.shape):
        if probabilities[place] > 0:
            assert result[place[:2]][tokens[place]] == 0
            result[place[:2]][tokens[place]] = probabilities[place]
    return result


def run(layer, weights, source):
    return layer(weights, layer.index_entries(source))


@every
@pytest.mark.parametrize("jit_compile", [None, False, slow(True)])
def test_numbers(make, entries, size, jit_compile):
    layer = make()
    call = partial(run, layer)
    if jit_compile is not None:
        specs = [tf.TensorSpec([None, None, None]), tf.TensorSpec([None, None], tf.int32)]
        call = tf.function(call, specs, autograph=False, jit_compile=jit_compile)
    found = call(WEIGHTS, SOURCE)
    np.testing.assert_allclose(dense(layer, found), expected(WEIGHTS, SOURCE, entries, size), 1e-5)
    nothing = call(WEIGHTS[:0], SOURCE[:0])
    assert nothing[0].shape[:2] == nothing[1].shape[:2] == (0, 3)
    unread = call(WEIGHTS[..., :0], SOURCE[:, :0])
    assert not dense(layer, unread).any()


@every
def test_hypotheses_of_a_source_stand_one_after_another(make, entries, size):
    weights = RANDOM.dirichlet(np.ones(4), (6, 1)).astype("float32")
    layer = make()
    found = dense(layer, run(layer, weights, SOURCE))
    np.testing.assert_allclose(found, expected(weights, SOURCE, entries, size), atol=1e-6)


@every
def test_general_checks(make, entries, size):
    inputs = tf.constant(WEIGHTS), make().index_entries(SOURCE)
    check_serialisation(make(), *inputs)
    check_keras_saving(make(), *inputs)
    check_xla_equals_eager(make(), *inputs)


def test_an_empty_lexicon_has_no_translations():
    layer = LexiconDistribution(7, source_vocabulary_size=5, entries=2)
    assert not dense(layer, run(layer, WEIGHTS, SOURCE)).any() and not layer.trainable_weights


def test_without_a_selector_the_first_lexicon_is_used():
    arguments = WEIGHTS[:1, :, :1], np.array([[3]])
    found = dense(lexicons(), run(lexicons(), *arguments))
    first = LexiconDistribution(7, source_vocabulary_size=6, entries=2)
    first.set_lexicon(SELECTED[0], CHANCES[0])
    np.testing.assert_array_equal(found, dense(first, run(first, *arguments)))


def test_lexicons_need_a_table_each():
    with pytest.raises(ValueError, match=r"`target_ids` must have the shape \(3, 6, 2\), got"):
        lexicons().set_lexicon(TARGETS, PROBABILITIES)


def test_padding_changes_nothing():
    source = np.where(np.arange(4) < [[4], [1]], SOURCE, 2)
    padded, found = (dense(lexicon(), run(lexicon(), WEIGHTS, ids)) for ids in (source, SOURCE))
    np.testing.assert_array_equal(padded, found)


@pytest.mark.parametrize(
    ("targets", "probabilities", "message"),
    [
        (TARGETS[:, :1], PROBABILITIES, r"`target_ids` must have the shape \(5, 2\), got \(5, 1\)"),
        (TARGETS, PROBABILITIES[1:], r"`probabilities` must have the shape .* got \(4, 2\)"),
        (TARGETS + 7, PROBABILITIES, "`target_ids` must be from 0 to 6, got "),
        (TARGETS - 7, PROBABILITIES, "`target_ids` must be from 0 to 6, got -"),
        (TARGETS, PROBABILITIES + 0.6, "`probabilities` must be at least 0 and at most 1 in"),
        (TARGETS, -PROBABILITIES, "`probabilities` must be at least 0"),
        (TARGETS, PROBABILITIES * np.nan, "`probabilities` must be at least 0"),
    ],
)
def test_a_lexicon_is_checked(targets, probabilities, message):
    with pytest.raises(ValueError, match=message):
        lexicon().set_lexicon(targets, probabilities)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((0, 5), "`vocabulary_size` must be"),
        ((7, 0), "`source_vocabulary_size` must be"),
        ((7, 5, 0), "`entries` must be"),
        ((7, 5, 2, [1, 1]), r"`selectors` must be different source tokens, .*, got \[1, 1\]"),
        ((7, 5, 2, [1.5]), "`selectors` must be an int of at least 0, got 1.5"),
        ((7, 5, 2, [5]), r"`selectors` must be different source tokens, from 0 to 4, got \[5\]"),
    ],
)
def test_sizes_are_checked(sizes, message):
    with pytest.raises(ValueError, match=message):
        LexiconDistribution(*sizes)


def test_double_precision():
    layer = LexiconDistribution(7, 5, 2, dtype="float64")
    layer.set_lexicon(TARGETS, PROBABILITIES)
    assert run(layer, tf.cast(WEIGHTS, tf.float64), SOURCE)[1].dtype == tf.float64


def test_the_tables_can_be_on_a_gpu():
    layer = lexicon()
    # TensorFlow keeps int32 variables on the CPU, where steps compiled for a GPU cannot read.
    assert [weight.dtype for weight in layer.weights] == ["int64", "float32"]
