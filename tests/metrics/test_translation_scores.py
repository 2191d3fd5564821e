import pytest
import sacrebleu

from keras_seqzoo.metrics import score_translations

HYPOTHESES = ["A red dog runs fast today.", "The cat sees a small red dog, here."]
REFERENCES = ["A red dog runs slowly today.", "the cat sees a small red dog here."]


def test_scores_are_those_of_sacrebleu():
    scores = score_translations(HYPOTHESES, REFERENCES)
    assert scores.bleu == sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES]).score
    assert scores.chrf == sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES]).score
    assert "case:mixed" in scores.bleu_signature and "tok:13a" in scores.bleu_signature
    assert "case:mixed" in scores.chrf_signature


def test_lowercase_ignores_case_in_both():
    scores = score_translations(["A Dog Runs Here"], ["a dog runs here"], lowercase=True)
    assert scores.bleu == pytest.approx(100) and scores.chrf == pytest.approx(100)
    assert "case:lc" in scores.bleu_signature and "case:lc" in scores.chrf_signature
    assert score_translations(["A Dog Runs Here"], ["a dog runs here"]).bleu < 100


def test_empty_translations_score_nothing():
    assert score_translations(["", ""], REFERENCES).bleu == 0


@pytest.mark.parametrize("count", [(0, 0), (2, 1), (1, 2)])
def test_lists_must_match(count):
    with pytest.raises(ValueError, match=f"got {count[0]} and {count[1]}"):
        score_translations(["a"] * count[0], ["a"] * count[1])
