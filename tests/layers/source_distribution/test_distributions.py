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


@every
def test_numbers(make, entries, size):
    found = make()(WEIGHTS, SOURCE)
    np.testing.assert_allclose(found, expected(WEIGHTS, SOURCE, entries, size), atol=1e-6)


@every
def test_hypotheses_of_a_source_stand_one_after_another(make, entries, size):
    weights = RANDOM.dirichlet(np.ones(4), (6, 1)).astype("float32")
    found = make()(weights, SOURCE)
    np.testing.assert_allclose(found, expected(weights, SOURCE, entries, size), atol=1e-6)
    assert make()(weights[:0], SOURCE[:0]).shape == (0, 1, size)


@every
@pytest.mark.parametrize(
    ("jit_compile", "trim"), [(None, False), (None, True), (False, True), slow(True, False)]
)
def test_its_logarithm_is_added_at_the_entries_alone(make, entries, size, jit_compile, trim):
    weights = RANDOM.dirichlet(np.ones(4), 6).astype("float32")  # three hypotheses of each source
    weights[3:] = [1, 0, 0, 0]
    logits = RANDOM.normal(size=(6, size)).astype("float32")
    layer = make()

    def run(logits, weights, source):
        return layer.add_bias(logits, weights, layer.index_entries(source, trim), 0.01)

    if jit_compile is not None:
        specs = [tf.TensorSpec([None, size])]
        specs += [tf.TensorSpec([None, None], dtype) for dtype in (tf.float32, tf.int32)]
        run = tf.function(run, specs, autograph=False, jit_compile=jit_compile)
    chances = expected(weights[:, np.newaxis], SOURCE, entries, size)[:, 0]
    found = run(*map(tf.constant, (logits, weights, SOURCE)))
    np.testing.assert_allclose(found, logits + np.log1p(chances / 0.01), atol=1e-5)
    nothing = run(*(tf.constant(x[:0]) for x in (logits, weights, SOURCE)))
    assert nothing.shape == (0, size)
    unchanged = run(*map(tf.constant, (logits, weights[:, :0], SOURCE[:, :0])))
    np.testing.assert_array_equal(unchanged, logits)


@every
def test_general_checks(make, entries, size):
    check_serialisation(make(), WEIGHTS, SOURCE)
    check_keras_saving(make(), WEIGHTS, SOURCE)
    check_xla_equals_eager(make(), WEIGHTS, SOURCE)


def test_an_empty_lexicon_has_no_translations():
    layer = LexiconDistribution(7, source_vocabulary_size=5, entries=2)
    assert not layer(WEIGHTS, SOURCE).numpy().any() and not layer.trainable_weights


def test_without_a_selector_the_first_lexicon_is_used():
    found = lexicons()(WEIGHTS[:1, :, :1], np.array([[3]]))
    first = LexiconDistribution(7, source_vocabulary_size=6, entries=2)
    first.set_lexicon(SELECTED[0], CHANCES[0])
    np.testing.assert_array_equal(found, first(WEIGHTS[:1, :, :1], np.array([[3]])))


def test_lexicons_need_a_table_each():
    with pytest.raises(ValueError, match=r"`target_ids` must have the shape \(3, 6, 2\), got"):
        lexicons().set_lexicon(TARGETS, PROBABILITIES)


def test_padding_changes_nothing():
    source = np.where(np.arange(4) < [[4], [1]], SOURCE, 2)
    np.testing.assert_array_equal(lexicon()(WEIGHTS, source), lexicon()(WEIGHTS, SOURCE))


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
    assert layer(tf.cast(WEIGHTS, tf.float64), SOURCE).dtype == tf.float64
