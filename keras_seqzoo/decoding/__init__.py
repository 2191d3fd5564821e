"""Search over a step function: finds likely sequences, knows no model."""

from keras_seqzoo.decoding.beam_search import BeamSearch
from keras_seqzoo.decoding.forced_prefix import force_prefix
from keras_seqzoo.decoding.greedy import Greedy
from keras_seqzoo.decoding.hypotheses import Hypotheses
from keras_seqzoo.decoding.strategy import DecodingStrategy

__all__ = ["BeamSearch", "DecodingStrategy", "Greedy", "Hypotheses", "force_prefix"]
