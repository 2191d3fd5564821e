"""Measures of quality."""

from keras_seqzoo.metrics.translation_scores import TranslationScores, score_translations

__all__ = ["TranslationScores", "score_translations"]
