"""Whole training runs that can be stopped and resumed."""

from keras_seqzoo.training.classifier import (
    TextClassifierOptions,
    TextClassifierTraining,
    TextClassifierTrainingOptions,
    make_text_classifier,
)
from keras_seqzoo.training.language_model import (
    LanguageModelOptions,
    LanguageModelTraining,
    LanguageModelTrainingOptions,
    make_language_model,
)
from keras_seqzoo.training.run import TrainingOptions, TrainingRun
from keras_seqzoo.training.state import RunState
from keras_seqzoo.training.strategies import make_strategy
from keras_seqzoo.training.tagger import (
    TaggerOptions,
    TaggerTraining,
    TaggerTrainingOptions,
    make_tagger,
)
from keras_seqzoo.training.translation import (
    TranslationModelOptions,
    TranslationTraining,
    TranslationTrainingOptions,
    make_translation_model,
)

__all__ = [
    "LanguageModelOptions",
    "LanguageModelTraining",
    "LanguageModelTrainingOptions",
    "RunState",
    "TaggerOptions",
    "TaggerTraining",
    "TaggerTrainingOptions",
    "TextClassifierOptions",
    "TextClassifierTraining",
    "TextClassifierTrainingOptions",
    "TrainingOptions",
    "TrainingRun",
    "TranslationModelOptions",
    "TranslationTraining",
    "TranslationTrainingOptions",
    "make_language_model",
    "make_strategy",
    "make_tagger",
    "make_text_classifier",
    "make_translation_model",
]
