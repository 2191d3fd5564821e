import pytest
import sacrebleu

from keras_seqzoo.decoding import minimum_bayes_risk

TEXTS = ["the cat sat", "a cat sat down", "the cat sat down", "dogs bark", "the cat sat"]


@pytest.mark.parametrize("utility", ["chrf", "bleu"])
@pytest.mark.parametrize("weights", [None, [0.1, 0.2, 0.1, 0.5, 0.1]])
def test_expected_utility(utility, weights):
    metric = {
        "chrf": sacrebleu.sentence_chrf,
        "bleu": lambda text, other: sacrebleu.sentence_bleu(text, other),
    }[utility]
    shares = [0.2] * 5 if weights is None else weights
    expected = [
        sum(w * metric(one, [other]).score for w, other in zip(shares, TEXTS, strict=True))
        for one in TEXTS
    ]
    ranked = minimum_bayes_risk(TEXTS, utility, weights)
    assert sorted(index for _, index in ranked) == [0, 1, 2, 3, 4]
    for value, index in ranked:
        assert value == pytest.approx(expected[index])
    assert [value for value, _ in ranked] == sorted((v for v, _ in ranked), reverse=True)


def test_the_majority_wins_over_the_likeliest():
    texts = ["something else entirely", "two men run", "a dog sleeps", "two men run"]
    assert minimum_bayes_risk(texts)[0][1] == 1
    assert minimum_bayes_risk(texts, weights=[1, 0, 0, 0])[0][1] == 0


def test_equal_texts_agree_also_where_they_are_empty():
    assert minimum_bayes_risk(["", " a", ""])[0] == (pytest.approx(200 / 3), 0)


def test_errors():
    for arguments, message in (
        ([[]], "`texts` must have at least one"),
        (["abc"], "`texts` must be a list of strings"),
        ([["a"], "meteor"], "`utility`"),
        ([["a"], "chrf", [1, 2]], "`weights` must have one number"),
        ([["a"], "chrf", [-1]], "`weights`"),
    ):
        with pytest.raises(ValueError, match=message):
            minimum_bayes_risk(*arguments)
