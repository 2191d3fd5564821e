"""N-gram language models: counts, estimators, ARPA files and the model."""

from keras_seqzoo.models.language_model.ngram.estimators import (
    AbsoluteDiscounting,
    Estimator,
    FixedInterpolation,
    KneserNey,
    LaplaceSmoothing,
    MaximumLikelihood,
    WittenBell,
)
from keras_seqzoo.models.language_model.ngram.language_model import NGramLanguageModel

__all__ = [
    "AbsoluteDiscounting",
    "Estimator",
    "FixedInterpolation",
    "KneserNey",
    "LaplaceSmoothing",
    "MaximumLikelihood",
    "NGramLanguageModel",
    "WittenBell",
]
