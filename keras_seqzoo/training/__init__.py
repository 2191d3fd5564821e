"""Whole training runs that can be stopped and resumed."""

from keras_seqzoo.training.language_model_training import LanguageModelTraining
from keras_seqzoo.training.recurrent_language_model import make_language_model
from keras_seqzoo.training.run_state import RunState
from keras_seqzoo.training.tagger import make_tagger
from keras_seqzoo.training.tagger_training import TaggerTraining
from keras_seqzoo.training.text_classifier import make_text_classifier
from keras_seqzoo.training.text_classifier_training import TextClassifierTraining
from keras_seqzoo.training.training_run import TrainingRun
from keras_seqzoo.training.translation_model import make_translation_model
from keras_seqzoo.training.translation_training import TranslationTraining

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
