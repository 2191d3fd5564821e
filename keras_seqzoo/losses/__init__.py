"""Losses of sequence models."""

from keras_seqzoo.losses.sequence_crossentropy import SequenceCrossentropy

__all__ = ["SequenceCrossentropy"]
