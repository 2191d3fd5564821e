import collections
import math

import numpy as np
import pytest

from keras_seqzoo.tokenizers import UnigramTokenizer
from keras_seqzoo.tokenizers.training_texts import sample_texts

COUNTS = {"dab": 5, "aab": 7, "bun": 4}
PIECES = ("a", "b", "d", "u", "n", "da", "ab", "aa")


def frequencies():
    """How often each piece comes in the words."""
    found = collections.Counter()
    for word, count in COUNTS.items():
        for piece in PIECES:
            found[piece] += count * sum(word.startswith(piece, place) for place in range(len(word)))
    return found


def segmentations(text):
    if not text:
        yield ()
    for piece in PIECES:
        if text.startswith(piece):
            yield from ((piece, *rest) for rest in segmentations(text[len(piece) :]))


def make(**kwargs):
    found = frequencies()
    logs = {piece: math.log(count / found.total()) for piece, count in found.items()}
    return UnigramTokenizer.from_pieces(logs, **kwargs)


def tokens_of(tokenizer, ids):
    return tuple(tokenizer.id_to_token(id) for id in ids)


def test_worked_example():
    found = frequencies()
    assert (found["a"], found["ab"], found.total()) == (19, 12, 72)
    tokenizer = make()
    assert tokens_of(tokenizer, tokenizer("dab").numpy()) == ("da", "b")


@pytest.mark.parametrize("text", ["dab", "aab", "bunda", "aaabdaab", "abadabaa", "dadaab"])
def test_the_best_of_all_segmentations(text):
    found, tokenizer = frequencies(), make()
    best = max(segmentations(text), key=lambda pieces: math.prod(found[p] / 72 for p in pieces))
    assert tokens_of(tokenizer, tokenizer(text).numpy()) == best


def test_what_pieces_cannot_write_becomes_bytes():
    tokenizer = make()
    for text in (" dab  é\n", "xyz", ""):
        assert tokenizer.detokenize(tokenizer(text)) == text


@pytest.mark.parametrize("nbest_size", [2, 3, -1])
def test_draws_in_proportion_to_the_probability_to_the_power_alpha(nbest_size):
    found, alpha, rows = frequencies(), 0.5, 4000
    weights = {
        pieces: math.prod(found[piece] / 72 for piece in pieces) ** alpha
        for pieces in segmentations("dabab")
    }
    best = sorted(weights, key=weights.get, reverse=True)
    best = best[:nbest_size] if nbest_size > 0 else best
    tokenizer = make(nbest_size=nbest_size, alpha=alpha)
    drawn = tokenizer(["dabab"] * rows, training=True).to_list()
    drawn = collections.Counter(tokens_of(tokenizer, ids) for ids in drawn)
    assert set(drawn) <= set(best)
    total = sum(weights[pieces] for pieces in best)
    shares = np.array([weights[pieces] / total for pieces in best])
    observed = np.array([drawn[pieces] / rows for pieces in best])
    # five standard errors
    assert (np.abs(observed - shares) < 5 * np.sqrt(shares * (1 - shares) / rows)).all()
    assert tokens_of(tokenizer, tokenizer("dabab").numpy()) == best[0]


@pytest.mark.parametrize(
    "given, meant",
    [
        ({}, (1, 0.1)),
        ({"alpha": 0.1}, (-1, 0.1)),
        ({"nbest_size": 3}, (3, 0.1)),
        ({"nbest_size": 1, "alpha": 0.1}, (1, 0.1)),
        ({"nbest_size": 4, "alpha": 2.0}, (4, 2.0)),
    ],
)
def test_alpha_or_a_number_of_segmentations_draws(given, meant):
    tokenizer = make(**given)
    again = UnigramTokenizer.from_config(tokenizer.get_config())
    for one in (tokenizer, again):
        assert (one.nbest_size, one.alpha) == meant
    drawn = tokenizer(["dabab"] * 100, training=True).to_list()
    assert (len(set(map(tuple, drawn))) > 1) == (meant[0] != 1)
    best = tokenizer(["dabab"] * 100).to_list()
    assert len(set(map(tuple, best))) == 1


def test_arguments():
    tokenizer = make(nbest_size=4, alpha=0.3)
    again = UnigramTokenizer.from_config(tokenizer.get_config())
    assert (again.nbest_size, again.alpha) == (4, 0.3)
    assert make(nbest_size=512)("dab", training=True).shape[0] >= 2
    for arguments in (
        {"nbest_size": 0},
        {"nbest_size": -2},
        {"nbest_size": 513},
        {"alpha": 0.0},
        {"alpha": -1},
    ):
        with pytest.raises(ValueError, match=f"`{next(iter(arguments))}`"):
            UnigramTokenizer(**arguments)


def test_a_sample_of_the_text():
    lines = [f"word{number} of the text" for number in range(2000)]
    expected = UnigramTokenizer.train(sample_texts(lines, 50), 300).proto
    assert UnigramTokenizer.train(iter(lines), 300, most_lines=50).proto == expected
    with pytest.raises(ValueError, match="`most_lines` must be an int of at least 1, got 0"):
        UnigramTokenizer.train(lines, 300, most_lines=0)


def test_each_text_is_drawn_equally_often():
    assert sample_texts("abc", 5) == list("abc")
    drawn = sample_texts(range(100_000), 20_000)
    assert len(set(drawn)) == 20_000
    share = np.bincount(np.array(drawn) // 10_000) / 2000
    np.testing.assert_allclose(share, 1, atol=0.1)  # 5 standard deviations
