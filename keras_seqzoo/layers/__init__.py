"""Layers of recurrent sequence models: tensors in, tensors out."""

from keras_seqzoo.layers.attention import Attention
from keras_seqzoo.layers.attention_decoder import AttentionDecoder
from keras_seqzoo.layers.attention_pooling import AttentionPooling
from keras_seqzoo.layers.bahdanau_attention import BahdanauAttention
from keras_seqzoo.layers.bidirectional import Bidirectional
from keras_seqzoo.layers.bridge import Bridge
from keras_seqzoo.layers.cell import RecurrentCell
from keras_seqzoo.layers.classifier_head import ClassifierHead
from keras_seqzoo.layers.conditional_random_field import ConditionalRandomField
from keras_seqzoo.layers.convolution import ParallelConvolution
from keras_seqzoo.layers.elman import Elman, ElmanCell
from keras_seqzoo.layers.gru import GRU, GRUCell
from keras_seqzoo.layers.iob2 import iob2_transitions
from keras_seqzoo.layers.k_max_pooling import KMaxPooling
from keras_seqzoo.layers.lstm import LSTM, LSTMCell
from keras_seqzoo.layers.luong_attention import LuongAttention
from keras_seqzoo.layers.pooling import SequencePooling
from keras_seqzoo.layers.recurrent import Recurrent
from keras_seqzoo.layers.stack import Stack
from keras_seqzoo.layers.tied_softmax import TiedSoftmax
from keras_seqzoo.layers.token_dropout import TokenDropout
from keras_seqzoo.layers.tree_encoder import TreeEncoder
from keras_seqzoo.layers.vocabulary_projection import VocabularyProjection

__all__ = [
    "GRU",
    "LSTM",
    "Attention",
    "AttentionDecoder",
    "AttentionPooling",
    "BahdanauAttention",
    "Bidirectional",
    "Bridge",
    "ClassifierHead",
    "ConditionalRandomField",
    "Elman",
    "ElmanCell",
    "GRUCell",
    "KMaxPooling",
    "LSTMCell",
    "LuongAttention",
    "ParallelConvolution",
    "Recurrent",
    "RecurrentCell",
    "SequencePooling",
    "Stack",
    "TiedSoftmax",
    "TokenDropout",
    "TreeEncoder",
    "VocabularyProjection",
    "iob2_transitions",
]
