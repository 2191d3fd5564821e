"""Whole training runs that can be stopped and resumed."""

from keras_seqzoo.training.run_state import RunState
from keras_seqzoo.training.translation import TranslationTraining
from keras_seqzoo.training.translation_model import make_translation_model

__all__ = ["RunState", "TranslationTraining", "make_translation_model"]
