"""Layers of recurrent sequence models: tensors in, tensors out."""

from keras_seqzoo.layers.attention.bahdanau import BahdanauAttention
from keras_seqzoo.layers.attention.base import Attention
from keras_seqzoo.layers.attention.decoder import AttentionDecoder
from keras_seqzoo.layers.attention.inputs import AttentionInputs
from keras_seqzoo.layers.attention.loss import AttentionLoss
from keras_seqzoo.layers.attention.luong import LuongAttention
from keras_seqzoo.layers.attention.pooling import AttentionPooling
from keras_seqzoo.layers.attention.priors.coverage import Coverage
from keras_seqzoo.layers.attention.priors.coverage_loss import CoverageLoss
from keras_seqzoo.layers.attention.priors.fertility_loss import FertilityLoss
from keras_seqzoo.layers.attention.priors.hard import HardWeighting
from keras_seqzoo.layers.attention.priors.local import LocalWeighting
from keras_seqzoo.layers.attention.priors.markov import MarkovCondition
from keras_seqzoo.layers.attention.priors.monotonic import MonotonicWeighting
from keras_seqzoo.layers.attention.priors.position_bias import PositionBias
from keras_seqzoo.layers.attention.score_term import ScoreTerm
from keras_seqzoo.layers.attention.weighting import Weighting
from keras_seqzoo.layers.bridge import Bridge
from keras_seqzoo.layers.classifier_head import ClassifierHead
from keras_seqzoo.layers.crf.conditional_random_field import ConditionalRandomField
from keras_seqzoo.layers.crf.iob2 import iob2_transitions
from keras_seqzoo.layers.k_max_pooling import KMaxPooling
from keras_seqzoo.layers.parallel_convolution import ParallelConvolution
from keras_seqzoo.layers.recurrence.bidirectional import Bidirectional
from keras_seqzoo.layers.recurrence.cell import RecurrentCell
from keras_seqzoo.layers.recurrence.elman import Elman, ElmanCell
from keras_seqzoo.layers.recurrence.gru import GRU, GRUCell
from keras_seqzoo.layers.recurrence.lstm import LSTM, LSTMCell
from keras_seqzoo.layers.recurrence.recurrent import Recurrent
from keras_seqzoo.layers.recurrence.stack import Stack
from keras_seqzoo.layers.sequence_pooling import SequencePooling
from keras_seqzoo.layers.source_distribution.base import SourceDistribution
from keras_seqzoo.layers.source_distribution.copying import CopyDistribution
from keras_seqzoo.layers.source_distribution.lexicon import LexiconDistribution
from keras_seqzoo.layers.source_distribution.source_softmax import SourceSoftmax
from keras_seqzoo.layers.tied_softmax import TiedSoftmax
from keras_seqzoo.layers.token_dropout import TokenDropout
from keras_seqzoo.layers.trees.dependencies import DependencyTreeEncoder
from keras_seqzoo.layers.trees.encoder import TreeEncoder
from keras_seqzoo.layers.vocabulary_projection import VocabularyProjection

__all__ = [
    "GRU",
    "LSTM",
    "Attention",
    "AttentionDecoder",
    "AttentionInputs",
    "AttentionLoss",
    "AttentionPooling",
    "BahdanauAttention",
    "Bidirectional",
    "Bridge",
    "ClassifierHead",
    "ConditionalRandomField",
    "CopyDistribution",
    "Coverage",
    "CoverageLoss",
    "DependencyTreeEncoder",
    "Elman",
    "ElmanCell",
    "FertilityLoss",
    "GRUCell",
    "HardWeighting",
    "KMaxPooling",
    "LSTMCell",
    "LexiconDistribution",
    "LocalWeighting",
    "LuongAttention",
    "MarkovCondition",
    "MonotonicWeighting",
    "ParallelConvolution",
    "PositionBias",
    "Recurrent",
    "RecurrentCell",
    "ScoreTerm",
    "SequencePooling",
    "SourceDistribution",
    "SourceSoftmax",
    "Stack",
    "TiedSoftmax",
    "TokenDropout",
    "TreeEncoder",
    "VocabularyProjection",
    "Weighting",
    "iob2_transitions",
]
