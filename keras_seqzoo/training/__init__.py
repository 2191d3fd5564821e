"""Whole training runs that can be stopped and resumed."""

from keras_seqzoo.training.classifier import TextClassifierTraining, make_text_classifier
from keras_seqzoo.training.language_model import LanguageModelTraining, make_language_model
from keras_seqzoo.training.run import TrainingRun
from keras_seqzoo.training.state import RunState
from keras_seqzoo.training.tagger import TaggerTraining, make_tagger
from keras_seqzoo.training.translation import TranslationTraining, make_translation_model

__all__ = [
    "LanguageModelTraining",
    "RunState",
    "TaggerTraining",
    "TextClassifierTraining",
    "TrainingRun",
    "TranslationTraining",
    "make_language_model",
    "make_tagger",
    "make_text_classifier",
    "make_translation_model",
]
