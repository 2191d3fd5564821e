import numpy as np
import pytest
import sacrebleu

from keras_seqzoo.metrics import paired_bootstrap

RANDOM = np.random.default_rng(0)
WORDS = ["the", "a", "dog", "cat", "owl", "sees", "small", "red", "old", "runs"]
REFERENCES = [" ".join(RANDOM.choice(WORDS, 8)) for _ in range(40)]


def damaged(share):
    """The references with some words replaced."""
    random = np.random.default_rng(1)
    return [
        " ".join("x" if random.random() < share else word for word in text.split())
        for text in REFERENCES
    ]


def test_a_large_difference_is_no_chance():
    bleu, chrf = paired_bootstrap(damaged(0.05), damaged(0.4), REFERENCES, samples=200)
    for found, metric in ((bleu, sacrebleu.metrics.BLEU()), (chrf, sacrebleu.metrics.CHRF())):
        scores = [
            metric.corpus_score(texts, [REFERENCES]).score
            for texts in (damaged(0.4), damaged(0.05))
        ]
        np.testing.assert_allclose((found.baseline, found.score), scores)
        assert found.p_value == 1 / 201 and 0 < found.interval < 20
    assert (bleu.name, chrf.name) == ("BLEU", "chrF")


def test_the_probability_is_that_of_the_definition():
    one, other = damaged(0.2), damaged(0.25)
    [bleu, _] = paired_bootstrap(one, other, REFERENCES, samples=50)
    metric = sacrebleu.metrics.BLEU()
    rows = np.random.default_rng(12345).choice(40, size=(50, 40), replace=True)
    differences = [
        abs(first.score - second.score)
        for first, second in (
            [
                metric.corpus_score([texts[i] for i in row], [[REFERENCES[i] for i in row]])
                for texts in (one, other)
            ]
            for row in rows
        )
    ]
    real = abs(bleu.score - bleu.baseline)
    beyond = sum(difference - np.mean(differences) > real for difference in differences)
    assert bleu.p_value == pytest.approx((1 + beyond) / 51)


def test_equal_translations_differ_by_chance():
    [bleu, _] = paired_bootstrap(damaged(0.2), damaged(0.2), REFERENCES, samples=50)
    assert bleu.baseline == bleu.score and bleu.p_value == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"baseline": ["a"]}, "`hypotheses`, `baseline` and `references` .* got 40, 1 and 40"),
        ({"hypotheses": [], "baseline": [], "references": []}, "positive length, got 0, 0 and 0"),
        ({"samples": 0}, "`samples` must be .*at least 1, got 0"),
        ({"bleu_tokenizer": "x"}, "`bleu_tokenizer` must be one of"),
    ],
)
def test_bad_arguments(changes, message):
    given = {"hypotheses": REFERENCES, "baseline": REFERENCES, "references": REFERENCES}
    with pytest.raises(ValueError, match=message):
        paired_bootstrap(**given | changes)
