"""Metrics of sequence models."""

from keras_seqzoo.metrics.class_report import ClassReport, class_report, confusion_matrix
from keras_seqzoo.metrics.entity_scores import EntityScores, entities, entity_scores
from keras_seqzoo.metrics.label_accuracy import SentenceAccuracy, TokenAccuracy, tag_accuracy
from keras_seqzoo.metrics.label_score import LabelScore
from keras_seqzoo.metrics.paired_bootstrap import Comparison, paired_bootstrap
from keras_seqzoo.metrics.perplexity import Perplexity
from keras_seqzoo.metrics.sentence_bleu import ngram_precisions, sentence_bleu
from keras_seqzoo.metrics.token_bleu import token_bleu
from keras_seqzoo.metrics.translation_scores import (
    BLEU,
    ChrF,
    TranslationScores,
    score_translations,
)

__all__ = [
    "BLEU",
    "ChrF",
    "ClassReport",
    "Comparison",
    "EntityScores",
    "LabelScore",
    "Perplexity",
    "SentenceAccuracy",
    "TokenAccuracy",
    "TranslationScores",
    "class_report",
    "confusion_matrix",
    "entities",
    "entity_scores",
    "ngram_precisions",
    "paired_bootstrap",
    "score_translations",
    "sentence_bleu",
    "tag_accuracy",
    "token_bleu",
]
