import sys

import pytest
import sacrebleu

from keras_seqzoo.metrics import score_translations
from keras_seqzoo.metrics.translation_scores import check_bleu_tokenizer

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


def test_tokens_of_bleu_can_be_characters():
    hypotheses, references = ["彼は今日学校に行きました。"], ["彼は昨日学校に行きました。"]
    scores = score_translations(hypotheses, references, bleu_tokenizer="char")
    expected = sacrebleu.corpus_bleu(hypotheses, [references], tokenize="char").score
    assert scores.bleu == expected > 50 and "tok:char" in scores.bleu_signature
    words = score_translations(hypotheses, references)
    assert words.bleu == 0 and words.chrf == scores.chrf


def test_an_unknown_tokenizer_is_refused():
    with pytest.raises(ValueError, match="`bleu_tokenizer` must be one of .*13a.*, got '13b'"):
        score_translations(["a"], ["a"], bleu_tokenizer="13b")


@pytest.mark.parametrize(
    ("tokenizer", "module", "package"),
    [
        ("ja-mecab", "MeCab", r"sacrebleu\[ja\]"),
        ("ko-mecab", "mecab_ko", r"sacrebleu\[ko\]"),
        ("flores200", "sentencepiece", "sentencepiece"),
    ],
)
def test_the_package_that_a_tokenizer_needs_is_named(tokenizer, module, package, monkeypatch):
    for name in list(sys.modules):
        if name.startswith("sacrebleu.tokenizers."):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)  # importing it raises ImportError
    message = (
        f"`bleu_tokenizer` '{tokenizer}' needs a package .* not installed: pip install '{package}'"
    )
    with pytest.raises(ImportError, match=message):
        check_bleu_tokenizer(tokenizer)


def test_a_file_that_cannot_be_fetched_is_named(monkeypatch):
    def download_file(*arguments):
        raise OSError("no route")

    from sacrebleu.tokenizers import tokenizer_spm

    monkeypatch.setattr(tokenizer_spm, "SACREBLEU_DIR", "nowhere")
    monkeypatch.setattr(tokenizer_spm, "download_file", download_file)
    with pytest.raises(OSError, match="'flores101' needs a file .* cannot fetch: no route"):
        check_bleu_tokenizer("flores101")


def test_empty_translations_score_nothing():
    assert score_translations(["", ""], REFERENCES).bleu == 0


@pytest.mark.parametrize("count", [(0, 0), (2, 1), (1, 2)])
def test_lists_must_match(count):
    with pytest.raises(ValueError, match=f"got {count[0]} and {count[1]}"):
        score_translations(["a"] * count[0], ["a"] * count[1])
