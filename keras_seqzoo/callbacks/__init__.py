"""Keras callbacks for sequence models."""

from keras_seqzoo.callbacks.checkpoints import Checkpoints
from keras_seqzoo.callbacks.interruption import StopOnInterrupt
from keras_seqzoo.callbacks.weight_average import WeightAverage

__all__ = ["Checkpoints", "StopOnInterrupt", "WeightAverage"]
