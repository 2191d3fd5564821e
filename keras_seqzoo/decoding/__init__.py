"""Search for likely sequences over a step function, independent of the model."""

from keras_seqzoo.decoding.beam_search import BeamSearch
from keras_seqzoo.decoding.constraints import (
    Constraint,
    EndThreshold,
    ForbiddenTokens,
    MinimumLength,
    NoRepeatedNGrams,
    RepetitionPenalty,
)
from keras_seqzoo.decoding.diverse_beam_search import DiverseBeamSearch
from keras_seqzoo.decoding.exhaustive_search import ExhaustiveSearch
from keras_seqzoo.decoding.forced_prefix import force_prefix
from keras_seqzoo.decoding.greedy import Greedy
from keras_seqzoo.decoding.lexically_constrained_beam_search import (
    LexicallyConstrainedBeamSearch,
)
from keras_seqzoo.decoding.minimum_bayes_risk import minimum_bayes_risk
from keras_seqzoo.decoding.sampling import Sampling
from keras_seqzoo.decoding.scores import (
    HypothesisScore,
    LengthPrior,
    PowerLengthPenalty,
    WordReward,
    WuLengthPenalty,
)
from keras_seqzoo.decoding.strategy import DecodingStrategy, Hypotheses
from keras_seqzoo.decoding.strategy_sampler import StrategySampler
from keras_seqzoo.decoding.target_scores import score_targets

__all__ = [
    "BeamSearch",
    "Constraint",
    "DecodingStrategy",
    "DiverseBeamSearch",
    "EndThreshold",
    "ExhaustiveSearch",
    "ForbiddenTokens",
    "Greedy",
    "Hypotheses",
    "HypothesisScore",
    "LengthPrior",
    "LexicallyConstrainedBeamSearch",
    "MinimumLength",
    "NoRepeatedNGrams",
    "PowerLengthPenalty",
    "RepetitionPenalty",
    "Sampling",
    "StrategySampler",
    "WordReward",
    "WuLengthPenalty",
    "force_prefix",
    "minimum_bayes_risk",
    "score_targets",
]
