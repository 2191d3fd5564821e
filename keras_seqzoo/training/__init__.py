"""Whole training runs that can be stopped and resumed."""

from keras_seqzoo.training.language_model import LanguageModelTraining
from keras_seqzoo.training.recurrent_language_model import make_language_model
from keras_seqzoo.training.run_state import RunState
from keras_seqzoo.training.tagger import make_tagger
from keras_seqzoo.training.tagging import TaggerTraining
from keras_seqzoo.training.text_classification import TextClassifierTraining
from keras_seqzoo.training.text_classifier import make_text_classifier
from keras_seqzoo.training.training_run import TrainingRun
from keras_seqzoo.training.translation import TranslationTraining
from keras_seqzoo.training.translation_model import make_translation_model

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
