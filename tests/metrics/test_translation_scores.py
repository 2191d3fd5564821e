import json
import sys

import keras
import pytest
import sacrebleu
import tensorflow as tf

from keras_seqzoo.metrics import BLEU, ChrF, score_translations
from keras_seqzoo.metrics.translation_scores import check_bleu_tokenizer

HYPOTHESES = ["A red dog runs fast today.", "The cat sees a small red dog, here."]
REFERENCES = ["A red dog runs slowly today.", "the cat sees a small red dog here."]


def test_scores_equal_sacrebleu():
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


def test_an_unknown_tokenizer_is_rejected():
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
    message = f"'{tokenizer}' requires a package .* not installed: pip install '{package}'"
    with pytest.raises(ImportError, match=message):
        check_bleu_tokenizer(tokenizer)


def test_a_file_that_cannot_be_fetched_is_named(monkeypatch):
    def download_file(*arguments):
        raise OSError("no route")

    from sacrebleu.tokenizers import tokenizer_spm

    monkeypatch.setattr(tokenizer_spm, "SACREBLEU_DIR", "nowhere")
    monkeypatch.setattr(tokenizer_spm, "download_file", download_file)
    with pytest.raises(OSError, match="'flores101' requires a file .* cannot download: no route"):
        check_bleu_tokenizer("flores101")


def test_empty_translations_score_nothing():
    assert score_translations(["", ""], REFERENCES).bleu == 0


@pytest.mark.parametrize("count", [(0, 0), (2, 1), (1, 2)])
def test_lists_must_match(count):
    with pytest.raises(ValueError, match=f"got {count[0]} and {count[1]}"):
        score_translations(["a"] * count[0], ["a"] * count[1])


# === Keras metrics ===
CORPUS = ["a black dog runs home", "Two men sit on a wall", "nobody is here today"]
OUTPUTS = ["a black dog runs away", "two men sit on the wall", "nobody is here"]
every_metric = pytest.mark.parametrize("metric, name", [(BLEU, "bleu"), (ChrF, "chrf")])


@every_metric
@pytest.mark.parametrize("lowercase", [False, True])
def test_metrics_score_the_corpus(metric, name, lowercase):
    subject = metric(lowercase=lowercase)
    assert float(subject.result()) == 0.0
    subject.update_state(CORPUS[:1], OUTPUTS[:1])
    subject.update_state(tf.constant(CORPUS[1:]), tf.constant(OUTPUTS[1:]))
    expected = getattr(score_translations(OUTPUTS, CORPUS, lowercase), name)
    assert float(subject.result()) == pytest.approx(expected)
    subject.reset_state()
    assert float(subject(CORPUS, CORPUS)) == pytest.approx(100.0)


@every_metric
def test_metrics_are_serialized(metric, name):
    stored = json.dumps(keras.saving.serialize_keras_object(metric(lowercase=True)))
    twin = keras.saving.deserialize_keras_object(json.loads(stored))
    assert type(twin) is metric and twin.lowercase and twin.name == name


def test_wrong_updates():
    metric = BLEU()
    with pytest.raises(ValueError, match="same length, got 1 and 2"):
        metric.update_state(["a"], ["b", "c"])
    with pytest.raises(ValueError, match="`y_pred` must be a list of strings"):
        metric.update_state(["a"], "b")
    with pytest.raises(ValueError, match="`sample_weight`"):
        metric.update_state(["a"], ["b"], sample_weight=[1.0])
    with pytest.raises(ValueError, match="outside of `tf.function`"):
        tf.function(metric.update_state, autograph=False)(tf.constant(["a"]), tf.constant(["b"]))
    assert float(metric.result()) == 0.0
