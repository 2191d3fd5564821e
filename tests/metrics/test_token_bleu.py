import numpy as np
import pytest
import sacrebleu
import tensorflow as tf

from keras_seqzoo.metrics import token_bleu
from tests.layer_checks import assert_close

REFERENCES = [[5, 6, 7, 8, 9, 10], [5, 5, 6, 5, 6], [5], [7, 8], [5, 6, 5, 6, 5, 6, 5], [4, 4]]
HYPOTHESES = [
    [5, 6, 7, 8, 9, 10],
    [5, 6, 5, 6, 6, 5, 5, 5],  # more often than the reference has them
    [5],
    [8, 7, 8, 8, 7, 9, 9],
    [5, 6, 5],  # shorter: brevity
    [9, 9, 9],  # nothing in common
]


def arrays(sequences, length, padding=0):
    rows = [sequence + [padding] * (length - len(sequence)) for sequence in sequences]
    return np.array(rows, "int32"), np.array([len(sequence) for sequence in sequences], "int32")


def scores(length=9, padding=0, function=token_bleu, **options):
    pairs = (*arrays(HYPOTHESES, length, padding), *arrays(REFERENCES, length - 1, padding))
    return function(*map(tf.constant, pairs), **options).numpy()


def sacrebleu_of(hypothesis, reference, order):
    metric = sacrebleu.metrics.BLEU(
        tokenize="none", smooth_method="add-k", smooth_value=1, max_ngram_order=order
    )
    texts = (" ".join(map(str, tokens)) for tokens in (hypothesis, reference))
    return metric.sentence_score(next(texts), [next(texts)]).score / 100


@pytest.mark.parametrize("order", [1, 2, 4])
def test_it_equals_sacrebleu(order):
    pairs = zip(HYPOTHESES, REFERENCES, strict=True)
    expected = np.array([sacrebleu_of(*pair, order) for pair in pairs])
    assert_close(scores(max_order=order), expected, 1e-6)
    assert expected[0] == pytest.approx(1) and expected[-1] == 0


def test_random_sequences_equal_sacrebleu():
    random = np.random.default_rng(0)
    pairs = [
        [random.integers(4, 8, size=random.integers(1, 12)).tolist() for _ in range(2)]
        for _ in range(60)
    ]
    hypotheses, references = zip(*pairs, strict=True)
    found = token_bleu(*arrays(hypotheses, 12), *arrays(references, 12)).numpy()
    assert_close(found, np.array([sacrebleu_of(*pair, 4) for pair in pairs]), 1e-6)


def test_by_hand():
    # p_1 = 3/3, p_2 = (2 + 1)/(2 + 1), p_3 = (1 + 1)/(1 + 1), p_4 = (0 + 1)/(0 + 1)
    found = token_bleu([[5, 6, 7]], [3], [[5, 6, 7, 8]], [4])
    assert float(found[0]) == pytest.approx(np.exp(1 - 4 / 3), rel=1e-6)
    # p_1 = 2/4, p_2 = (1 + 1)/(3 + 1)
    found = token_bleu([[5, 6, 9, 9]], [4], [[5, 6, 7, 8]], [4], max_order=2)
    assert float(found[0]) == pytest.approx(0.5, rel=1e-6)


def test_an_empty_hypothesis_has_no_score():
    found = token_bleu([[0, 0]], [0], [[5, 6]], [2])
    assert float(found[0]) == 0


@pytest.mark.parametrize("changes", [{"length": 14}, {"padding": 5}])
def test_padding_changes_nothing(changes):
    np.testing.assert_array_equal(scores(), scores(**changes))


@pytest.mark.slow
def test_xla_equals_eager():
    compiled = tf.function(token_bleu, jit_compile=True)
    assert_close(scores(function=compiled), scores(), 1e-6)


@pytest.mark.parametrize("order", [0, 1.5])
def test_the_order_is_checked(order):
    with pytest.raises(ValueError, match="`max_order` must be an int of at least 1, got"):
        scores(max_order=order)
