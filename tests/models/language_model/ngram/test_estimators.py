"""Every estimator against its equations in plain Python."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_seqzoo.models.language_model.ngram.backoff import estimate_tables, log_probability
from keras_seqzoo.models.language_model.ngram.estimators import (
    AbsoluteDiscounting,
    FixedInterpolation,
    KneserNey,
    LaplaceSmoothing,
    MaximumLikelihood,
    WittenBell,
)
from tests.models.language_model.ngram import reference
from tests.models.language_model.ngram.reference import BEGIN, END
from tests.properties import examples
from tests.tiers import partly_slow

VOCABULARY = 6
SENTENCES = st.lists(st.lists(st.integers(2, VOCABULARY - 1), max_size=6), min_size=1, max_size=12)
KINDS = {
    "maximum_likelihood": (MaximumLikelihood(), True, None),
    "interpolation": (FixedInterpolation([0.1, 0.3, 0.6]), True, [0.1, 0.3, 0.6]),
    "witten_bell": (WittenBell(), True, None),
    "laplace": (LaplaceSmoothing([6.0, 0.5]), True, [6.0, 0.5]),
    "absolute": (AbsoluteDiscounting(), False, None),
    "absolute, interpolated": (AbsoluteDiscounting(interpolates=True), True, None),
    "kneser_ney": (KneserNey(), True, None),
    "kneser_ney, backoff": (KneserNey(interpolates=False), False, None),
}
FEW = examples(40)


def flat(sentences):
    return np.array([word for s in sentences for word in (BEGIN, *s, END)])


def tables(sentences, order, estimator):
    return estimate_tables(flat(sentences), order, VOCABULARY, BEGIN, estimator)


def contexts(sentences, order):
    """All that occur before a word, and some that do not."""
    seen = {()}
    for sentence in sentences:
        padded = (BEGIN, *sentence)
        for n in range(1, order):
            seen |= {padded[i : i + n] for i in range(len(padded) - n + 1)}
    return sorted(seen | {(2,) * n for n in range(1, order)} | {(BEGIN, 5)[: order - 1]})


def distribution(found, context):
    rows = np.array([[*context, word] for word in range(VOCABULARY)])
    return np.exp(log_probability(found, rows, VOCABULARY))


@FEW
@pytest.mark.parametrize("kind", partly_slow(list(KINDS), ["kneser_ney, backoff"]))
@given(sentences=SENTENCES, order=st.integers(1, 4))
def test_equals_the_definition(kind, sentences, order):
    estimator, interpolates, options = KINDS[kind]
    found = tables(sentences, order, estimator)
    counts = reference.Counts(sentences, order, VOCABULARY)
    for context in contexts(sentences, order):
        actual = distribution(found, context)
        expected = [0.0] + [
            reference.probability(kind.split(",")[0], counts, context, word, interpolates, options)
            for word in counts.possible
        ]
        np.testing.assert_allclose(actual, expected, rtol=2e-5, atol=1e-7)


@FEW
@pytest.mark.parametrize("kind", KINDS)
@given(sentences=SENTENCES, order=st.integers(1, 4))
def test_probabilities_sum_to_one(kind, sentences, order):
    found = tables(sentences, order, KINDS[kind][0])
    for context in contexts(sentences, order):
        assert math.isclose(distribution(found, context).sum(), 1.0, abs_tol=1e-5)


def test_discounts_are_those_of_chen_and_goodman():
    counts = np.repeat([1, 2, 3, 4, 7], [40, 20, 12, 8, 3])
    y = 40 / 80
    expected = [1 - 2 * y * 20 / 40, 2 - 3 * y * 12 / 20, 3 - 4 * y * 8 / 12]
    assert KneserNey()._discounts(1, counts) == pytest.approx(expected)


def test_a_text_without_discounts():
    sentences = [[2, 3, 4]]
    with pytest.raises(ValueError, match=r"`fallback`.*order 1.*\[4, 0, 0, 0\]"):
        tables(sentences, 2, KneserNey(fallback=None))
    for wrong in ([0.5], [0.5, 2.5, 1.0], [-0.1, 1.0, 1.0]):
        with pytest.raises(ValueError, match="^`fallback` must be three numbers"):
            KneserNey(fallback=wrong)
    found = tables(sentences, 2, KneserNey(fallback=(0.2, 0.3, 0.4)))
    # One of four words comes after 2, the count of 1 loses 0.2.
    unigram = (1 - 0.2) / 4 + 0.2 / 5
    assert distribution(found, (2,))[3] == pytest.approx(0.8 + 0.2 * unigram)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: FixedInterpolation([]), "`weights`.*from 0 to 1.*\\[\\]"),
        (lambda: FixedInterpolation([0.5, 1.5]), "`weights`.*1.5"),
        (lambda: LaplaceSmoothing([]), "`strengths` must be positive numbers, got \\[\\]"),
        (lambda: LaplaceSmoothing([1.0, 0]), "`strengths` must be positive numbers, got .*0"),
        (lambda: LaplaceSmoothing([-1]), "`strengths` must be a number of at least 0, got -1"),
        (lambda: AbsoluteDiscounting(2), "`discount`.*from 0 to 1.*2"),
        (lambda: AbsoluteDiscounting(-1), "`discount`.*-1"),
        (lambda: AbsoluteDiscounting(1), "`discount` must be below 1 with `interpolates=False`"),
        (lambda: KneserNey(False, (0.5, 2, 1)), "`fallback` must be three numbers .*, 2, 1"),
    ],
)
def test_bad_arguments(make, match):
    with pytest.raises(ValueError, match=match):
        make()


def test_adding_one_to_each_count():
    sentences = [[2, 3, 2], [2]]
    found = distribution(tables(sentences, 1, LaplaceSmoothing([5.0])), ())
    counts = np.array([2, 3, 1, 0, 0])  # of the end and of the words from 2 on
    np.testing.assert_allclose(found[1:], (counts + 1) / (6 + 5), rtol=1e-5)


def test_the_textbook_sentences():
    """Neubig 2017, section 3: whole sentences count zero where pairs of words do not."""
    text = ["i am from pittsburgh .", "i study at a university .", "my mother is from utah ."]
    lines = [["<s>", *line.split(), "</s>"] for line in text]
    words = list(dict.fromkeys(["<s>", "</s>", *(word for line in lines for word in line)]))
    index = {word: id for id, word in enumerate(words)}
    ids = np.array([index[word] for line in lines for word in line])
    sentence = np.array([index[word] for word in ["<s>", "i", "am", "from", "utah", ".", "</s>"]])

    def likelihood(order, estimator):
        found = estimate_tables(ids, order, len(words), BEGIN, estimator)
        return math.prod(
            np.exp(
                log_probability(found, sentence[None, max(0, t - order + 1) : t + 1], len(words))
            )[0]
            for t in range(1, len(sentence))
        )

    assert likelihood(7, MaximumLikelihood()) == 0
    # i after <s> 2/3, am after i 1/2, utah after from 1/2, all others 1.
    assert likelihood(2, MaximumLikelihood()) == pytest.approx(1 / 6)
    # 20 events, of 14 different words; the counts of i, am, from, utah, . and </s>.
    unigram = [0.9 * count / 20 + 0.1 / 14 for count in (2, 1, 2, 1, 3, 3)]
    bigram = [2 / 3, 1 / 2, 1, 1 / 2, 1, 1]
    expected = math.prod(0.8 * two + 0.2 * one for two, one in zip(bigram, unigram, strict=True))
    assert likelihood(2, FixedInterpolation([0.1, 0.2])) == pytest.approx(expected)


def test_orders_longer_than_all_sentences_are_left_out():
    assert [len(table.words) for table in tables([[2], [3]], 5, WittenBell())] == [6, 4, 2]
