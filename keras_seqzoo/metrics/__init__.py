"""Measures of quality."""

from keras_seqzoo.metrics.perplexity import Perplexity
from keras_seqzoo.metrics.sentence_bleu import ngram_precisions, sentence_bleu
from keras_seqzoo.metrics.text_metrics import BLEU, ChrF
from keras_seqzoo.metrics.translation_scores import TranslationScores, score_translations

__all__ = [
    "BLEU",
    "ChrF",
    "Perplexity",
    "TranslationScores",
    "ngram_precisions",
    "score_translations",
    "sentence_bleu",
]
