"""Whole training runs that can be stopped and resumed."""

from keras_seqzoo.training.run_state import RunState
from keras_seqzoo.training.translation import TranslationTraining

__all__ = ["RunState", "TranslationTraining"]
