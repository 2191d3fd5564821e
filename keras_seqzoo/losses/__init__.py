"""Losses of sequence models."""

from keras_seqzoo.losses.consistent_linear_crossentropy import consistent_linear_crossentropy
from keras_seqzoo.losses.linear_crossentropy import linear_crossentropy
from keras_seqzoo.losses.sequence_crossentropy import SequenceCrossentropy

__all__ = ["SequenceCrossentropy", "consistent_linear_crossentropy", "linear_crossentropy"]
