"""Output layers for large vocabularies: fast in training, exact in evaluation."""

from keras_seqzoo.layers.large_softmax.base import LargeSoftmax
from keras_seqzoo.layers.large_softmax.class_factored import ClassFactoredSoftmax, frequency_classes
from keras_seqzoo.layers.large_softmax.hierarchical import HierarchicalSoftmax
from keras_seqzoo.layers.large_softmax.sampling import (
    NegativeSampling,
    NoiseContrastiveEstimation,
    SampledSoftmax,
)

__all__ = [
    "ClassFactoredSoftmax",
    "HierarchicalSoftmax",
    "LargeSoftmax",
    "NegativeSampling",
    "NoiseContrastiveEstimation",
    "SampledSoftmax",
    "frequency_classes",
]
