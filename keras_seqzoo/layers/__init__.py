"""Layers of recurrent sequence models: tensors in, tensors out."""

from keras_seqzoo.layers.attention import Attention
from keras_seqzoo.layers.attention_decoder import AttentionDecoder
from keras_seqzoo.layers.bahdanau_attention import BahdanauAttention
from keras_seqzoo.layers.bidirectional import Bidirectional
from keras_seqzoo.layers.bridge import Bridge
from keras_seqzoo.layers.cell import RecurrentCell
from keras_seqzoo.layers.elman import Elman, ElmanCell
from keras_seqzoo.layers.gru import GRU, GRUCell
from keras_seqzoo.layers.lstm import LSTM, LSTMCell
from keras_seqzoo.layers.luong_attention import LuongAttention
from keras_seqzoo.layers.pooling import SequencePooling
from keras_seqzoo.layers.recurrent import Recurrent
from keras_seqzoo.layers.stack import Stack
from keras_seqzoo.layers.tied_softmax import TiedSoftmax
from keras_seqzoo.layers.vocabulary_projection import VocabularyProjection

__all__ = [
    "GRU",
    "LSTM",
    "Attention",
    "AttentionDecoder",
    "BahdanauAttention",
    "Bidirectional",
    "Bridge",
    "Elman",
    "ElmanCell",
    "GRUCell",
    "LSTMCell",
    "LuongAttention",
    "Recurrent",
    "RecurrentCell",
    "SequencePooling",
    "Stack",
    "TiedSoftmax",
    "VocabularyProjection",
]
