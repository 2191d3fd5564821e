import collections
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_seqzoo.tokenizers.merges import learn_merges
from tests.properties import examples


def plain_merges(words, number, score, minimum_count):
    """The definition: all is counted anew for each merge."""
    words = [(list(word), count) for word, count in words.items()]
    merges, order = [], {}
    while len(merges) < number:
        pairs, symbols = collections.Counter(), collections.Counter()
        for word, count in words:
            for symbol in word:
                symbols[symbol] += count
            for pair in zip(word, word[1:], strict=False):
                pairs[pair] += count
                order.setdefault(pair, len(order))
        allowed = [pair for pair, count in pairs.items() if count >= minimum_count]
        if not allowed:
            break

        def value(pair, pairs=pairs, symbols=symbols):
            among = symbols[pair[0]] * symbols[pair[1]] if score == "likelihood" else 1
            return pairs[pair] / among, -order[pair]

        best = max(allowed, key=value)
        merges.append(best)
        for word, _ in words:
            place = 0
            while place < len(word) - 1:
                if (word[place], word[place + 1]) == best:
                    word[place : place + 2] = ["".join(best)]
                place += 1
    return merges


words = st.dictionaries(st.text("abc", min_size=1, max_size=7), st.integers(1, 9), max_size=8)


@examples(300)
@given(words, st.integers(0, 12), st.sampled_from(["frequency", "likelihood"]), st.integers(1, 5))
def test_equals_counting_anew_for_each_merge(words, number, score, minimum_count):
    expected = plain_merges(words, number, score, minimum_count)
    merges = learn_merges(words, score, minimum_count)
    assert list(itertools.islice(merges, number)) == expected


def test_worked_example():
    counts = {"dab": 5, "adab": 4, "aab": 7, "bub": 9, "bun": 2}
    merges = [("a", "b"), ("b", "u"), ("d", "ab"), ("bu", "b")]
    assert list(itertools.islice(learn_merges(counts), 4)) == merges
    assert list(learn_merges(counts, minimum_count=10)) == merges[:2]


def test_likelihood_prefers_symbols_that_come_together_alone():
    counts = {"the": 10, "then": 5, "qu": 2}
    assert next(learn_merges(counts)) == ("t", "h")
    assert next(learn_merges(counts, "likelihood")) == ("q", "u")


def test_symbols_that_must_stay_apart():
    def join(left, right):
        return None if right == "c" else left + right

    assert list(learn_merges({"abc": 1}, join=join)) == [("a", "b")]
    assert list(learn_merges({"bc": 3}, join=join)) == []


def test_errors():
    with pytest.raises(ValueError, match="`score`.*frequency, likelihood.*'count'"):
        next(learn_merges({"ab": 1}, "count"))
