import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_seqzoo.metrics import ngram_precisions, sentence_bleu


def test_textbook_example():
    assert ngram_precisions("ABBCD", "ABCDEF", 4) == [4 / 5, 3 / 4, 1 / 3, 0.0]
    # The prediction A B against six tokens: all precisions are 1, the factor is exp(1 - 6 / 2).
    assert sentence_bleu("AB", "ABCDEF", k=2) == pytest.approx(math.exp(-2))
    expected = math.exp(1 - 6 / 5) * (4 / 5) ** 0.5 * (3 / 4) ** 0.25 * (1 / 3) ** 0.125
    assert sentence_bleu("ABBCD", "ABCDEF", k=3) == pytest.approx(expected)
    assert sentence_bleu("ABBCD", "ABCDEF", k=4) == 0.0


def test_ids_and_words_are_tokens():
    assert sentence_bleu([3, 1, 4], [3, 1, 4]) == sentence_bleu(["a", "b"], ["a", "b"]) == 1.0


@given(st.text("ab", min_size=1, max_size=8), st.text("ab", max_size=8), st.integers(1, 5))
def test_range(label, prediction, k):
    assert 0.0 <= sentence_bleu(prediction, label, k) <= 1.0
    assert sentence_bleu(label, label, k) == 1.0


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="`label`"):
        sentence_bleu(["a"], [])
    with pytest.raises(ValueError, match="`k`"):
        sentence_bleu(["a"], ["a"], k=0)
