"""Log-linear language models: context features, Brown clusters and the model."""

from keras_seqzoo.models.language_model.log_linear.brown_clusters import BrownClusters
from keras_seqzoo.models.language_model.log_linear.context_features import (
    BagOfTokens,
    Conjunction,
    ContextFeature,
    PreviousClass,
    PreviousToken,
    previous_tokens,
    suffix_classes,
)
from keras_seqzoo.models.language_model.log_linear.language_model import LogLinearLanguageModel

__all__ = [
    "BagOfTokens",
    "BrownClusters",
    "Conjunction",
    "ContextFeature",
    "LogLinearLanguageModel",
    "PreviousClass",
    "PreviousToken",
    "previous_tokens",
    "suffix_classes",
]
